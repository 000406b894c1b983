import { z } from 'zod'
import { CreateKeyInput, ListKeysInput, RevokeKeyInput } from '../auth/keys/key-schema.ts'
import { Email } from '../auth/logins/login-schema.ts'
import { ExternalId } from '../auth/platform/external-id.ts'
import { OwnLimits, OwnLimitsInput } from '../billing/limit-schema.ts'
import { isoTimestamp, pageInput, pageOutput, resourceId, usd } from '../kernel/wire-types.ts'

export const User = z
  .object({
    id: z.string(),
    email: z.string().describe('Of a user without an address, one that no mail reaches'),
    externalId: z.string().nullable().describe("A product's own id of the user, whom it made; null for others"),
    isAdmin: z.boolean(),
    isSuspended: z.boolean(),
    balanceUsd: usd,
    heldUsd: usd,
    owedUsd: usd.describe('What was taken back of top-ups and the balance did not have'),
    writtenOffUsd: usd.describe(
      'What chats of the user cost beyond the balance and their caps, ever, and nobody was charged',
    ),
    plan: z.string().nullable().describe('The plan that the user was given; null for the default one'),
    limits: OwnLimits,
    blockedUntil: isoTimestamp.nullable().describe('When an abuse block ends; null when there is none'),
    connectorsBlockedUntil: isoTimestamp
      .nullable()
      .describe(
        'When tasks with connectors are accepted again after one failed that had called a connector; null without a block',
      ),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'User' })
export type User = z.output<typeof User>

const userId = resourceId

export const ListUsersInput = z.object({
  search: z.string().max(254).optional().describe('Only users whose email address, or external id, contains it'),
  ...pageInput,
})
export const ListUsersOutput = z.object({ users: z.array(User), ...pageOutput })

export const UserInput = z.object({ userId })

export const ExternalUserInput = z.object({ externalId: ExternalId })
export const OpenExternalUserInput = z.object({
  externalId: ExternalId,
  email: Email.optional().describe('Of a user who is made by this request; without one there is no way to log in'),
})
export const OpenedUser = User.extend({
  created: z.boolean().describe('Whether this request made the user'),
}).meta({ id: 'OpenedUser' })

export const CreateUserKeyInput = CreateKeyInput.safeExtend({
  userId,
  scopes: z
    .array(z.enum(['read', 'execute']))
    .min(1)
    .max(2)
    .default(['read', 'execute'])
    .describe("What may be done in a user's name; `manage` is for the user alone"),
})
export const ListUserKeysInput = ListKeysInput.extend({ userId })
export const UserKeyInput = RevokeKeyInput.extend({ userId })

export const UpdateUserInput = z
  .object({
    userId,
    isSuspended: z.boolean().optional().describe('A suspended user can do nothing, and all browser logins end'),
    isAdmin: z.boolean().optional(),
    plan: z
      .string()
      .min(1)
      .max(63)
      .nullable()
      .optional()
      .describe('One of the configuration; null for the default one'),
    limits: OwnLimitsInput.optional().describe('Those that are named are changed; null removes one'),
  })
  .refine((input) => Object.entries(input).some(([name, value]) => name !== 'userId' && value !== undefined), {
    message: 'Give isSuspended, isAdmin, plan, limits or several of them',
  })

export const CreditUserInput = z.object({
  userId,
  amountUsd: z
    .string()
    .regex(/^-?\d{1,11}(?:\.\d{1,4})?$/, 'Must be a decimal of USD with at most four digits')
    .describe('A negative amount is an adjustment: it takes from the balance'),
  reason: z.string().trim().min(1).max(500).describe('Stands in the transaction, which the user sees'),
})

export const CreditedUser = z
  .object({ transactionId: z.string(), balanceUsd: usd.describe('After it') })
  .meta({ id: 'CreditedUser' })

export const ListUserTransactionsInput = z.object({ userId, ...pageInput })
