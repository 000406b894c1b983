import { z } from 'zod'
import { EraseInput } from '../account/erase-account.ts'
import { EndLoginInput, ListLoginsInput } from '../auth/logins/login-schema.ts'
import { CreateKeyInput, KeyInput, ListKeysInput } from '../auth/keys/key-schema.ts'
import { Email } from '../auth/logins/login-schema.ts'
import { ExternalId } from '../auth/platform/external-id.ts'
import { OwnLimits, OwnLimitsInput } from '../billing/limit-schema.ts'
import { ListSessionsInput } from '../chat/sessions/session-schema.ts'
import { userOrders } from '../store/access/people-types.ts'
import { ownedTypes } from '../store/accounts/account-types.ts'
import { droppedLines, ListTasksInput, LogLine, Task } from '../tasks/task-schema.ts'
import { day, isoTimestamp, pageInput, pageOutput, resourceId, usd } from '../kernel/wire-types.ts'

export const User = z
  .object({
    id: z.string(),
    email: z.string().describe("The user's email address; if there is none, a placeholder that receives no email"),
    externalId: z.string().nullable().describe("The product's id for a user that it created; null for other users"),
    isAdmin: z.boolean(),
    isSuspended: z.boolean(),
    erasedAt: isoTimestamp.nullable().describe('When the user was erased; null for other users'),
    balanceUsd: usd,
    heldUsd: usd,
    owedUsd: usd.describe('Refunded or disputed top-up amounts that the balance could not cover'),
    writtenOffUsd: usd.describe('Total cost of turns that exceeded the balance, a cap or a limit and was not charged'),
    plan: z.string().nullable().describe('The plan assigned to the user; null for the default plan'),
    limits: OwnLimits,
    blockedUntil: isoTimestamp.nullable().describe('When the abuse block ends; null if there is none'),
    connectorsBlockedUntil: isoTimestamp
      .nullable()
      .describe(
        'When the block of tasks with connectors ends, which a failed task that had called a connector causes; null if there is none',
      ),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'User' })
export type User = z.output<typeof User>

const userId = resourceId

export const ListedUser = User.extend({
  spentUsd: usd.describe(
    'Charges minus refunds for tasks and chat turns that ended in the last 30 UTC days, including today',
  ),
  activeOn: day
    .nullable()
    .describe("Last UTC day on which one of the user's tasks or chat turns ended; null if none has ended"),
}).meta({ id: 'ListedUser' })

export const ListUsersInput = z.object({
  search: z
    .string()
    .max(254)
    .optional()
    .describe('Returns only users whose email address or external id contains this string'),
  plan: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .describe('Returns only users with this plan. For the default plan, also users without a plan'),
  order: z
    .enum(userOrders)
    .default('created')
    .describe(
      '`created` lists the oldest users first, `spent` those with the highest `spentUsd`, and `active` those with the latest `activeOn`',
    ),
  ...pageInput,
})
export const ListUsersOutput = z.object({ users: z.array(ListedUser), ...pageOutput })

export const UserInput = z.object({ userId })
export const EraseUserInput = EraseInput.extend({ userId })
export const ErasedUser = User.extend({
  leftMethod: z
    .object({ customerId: z.string().nullable(), methodId: z.string() })
    .nullable()
    .describe(
      "The payment provider's ids of a saved payment method that this request did not remove there; otherwise null. The audit log also contains them",
    ),
}).meta({ id: 'ErasedUser' })

export const ExternalUserInput = z.object({ externalId: ExternalId })
export const OpenExternalUserInput = z.object({
  externalId: ExternalId,
  email: Email.optional().describe(
    'Email address of the new user; without one, the user cannot log in. Ignored if the user exists',
  ),
})
export const OpenedUser = User.extend({
  created: z.boolean().describe('Whether this request created the user'),
}).meta({ id: 'OpenedUser' })

export const CreateUserKeyInput = CreateKeyInput.safeExtend({
  userId,
  scopes: z
    .array(z.enum(['read', 'execute']))
    .min(1)
    .max(2)
    .default(['read', 'execute'])
    .describe('Scopes of the key. Only the user can create keys with `manage`'),
})
export const ListUserKeysInput = ListKeysInput.extend({ userId })
export const UserKeyInput = KeyInput.extend({ userId })
export const ListUserLoginsInput = ListLoginsInput.extend({ userId })
export const UserLoginInput = EndLoginInput.extend({ userId })

export const UpdateUserInput = z
  .object({
    userId,
    isSuspended: z
      .boolean()
      .optional()
      .describe("Suspending a user rejects all of the user's requests and ends all browser logins"),
    isAdmin: z.boolean().optional(),
    plan: z
      .string()
      .min(1)
      .max(63)
      .nullable()
      .optional()
      .describe('Name of a plan in the configuration; null for the default plan'),
    limits: OwnLimitsInput.optional().describe('Omitted limits stay unchanged; null removes a limit'),
  })
  .refine((input) => Object.entries(input).some(([name, value]) => name !== 'userId' && value !== undefined), {
    message: 'Must have at least one of isSuspended, isAdmin, plan and limits',
  })

export const CreditUserInput = z.object({
  userId,
  amountUsd: z
    .string()
    .regex(/^-?\d{1,11}(?:\.\d{1,4})?$/, 'Must be a USD amount with at most four decimals')
    .describe('A negative amount is an adjustment that lowers the balance'),
  reason: z.string().trim().min(1).max(500).describe('Description of the transaction, visible to the user'),
})

export const CreditedUser = z
  .object({ transactionId: z.string(), balanceUsd: usd.describe('Balance after the transaction') })
  .meta({ id: 'CreditedUser' })

export const OwnerInput = z.object({ resourceId: resourceId.describe('For example `task_…`, `ses_…` or `txn_…`') })
export const Owner = z
  .object({
    type: z.enum(ownedTypes).describe('What the id identifies; `chat` is a turn, whose id begins with `turn_`'),
    userId: z.string(),
    email: z.string(),
    taskId: z.string().optional().describe('Id of the task; only for a task and its transactions'),
    sessionId: z
      .string()
      .optional()
      .describe('Id of the session; only for a session, its turns and their transactions'),
  })
  .meta({ id: 'Owner' })

export const ListUserTasksInput = ListTasksInput.omit({ include: true, search: true }).extend({ userId })
export const UserTaskInput = z.object({ userId, taskId: resourceId })
export const UserTask = Task.omit({
  progress: true,
  progressLog: true,
  request: true,
  requestUri: true,
  response: true,
  responseUri: true,
})
  .extend({
    log: z
      .object({ dropped: droppedLines, lines: z.array(LogLine) })
      .optional()
      .describe('Log lines of the last run, oldest first: at most 200, and at most 16 KB'),
  })
  .meta({ id: 'UserTask' })
export const ListUserSessionsInput = ListSessionsInput.omit({ search: true }).extend({ userId })

export const ListUserTransactionsInput = z.object({ userId, ...pageInput })
