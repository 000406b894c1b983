import { scopes } from '../../store/access/key-types.ts'
import { z } from 'zod'
import { agentIds } from '../../billing/limit-schema.ts'
import { isoTimestamp, maxCostUsd, pageInput, pageOutput, resourceId, usd } from '../../kernel/wire-types.ts'
import { limitResets } from '../../store/limits/execution-limits.ts'
import { executionsPerMinuteMax } from '../../store/limits/account-limits.ts'

export const Scope = z.enum(scopes)

export const Key = z
  .object({
    id: z.string(),
    name: z.string(),
    hint: z.string().describe("The key's last four characters"),
    scopes: z.array(Scope),
    createdAt: isoTimestamp,
    expiresAt: isoTimestamp.nullable(),
    revokedAt: isoTimestamp.nullable(),
    lastUsedAt: isoTimestamp.nullable(),
    replacedBy: z
      .string()
      .nullable()
      .describe('Id of the key that replaced this one in a rotation; null if there is none'),
    limitUsd: usd.nullable().describe('Spending limit of the key per period; null if there is none'),
    limitReset: z.enum(limitResets).nullable().describe('How often `limitUsd` resets, in UTC; weeks start on Monday'),
    usedUsd: usd.nullable().describe('Amount charged and held in this period; null if there is no `limitUsd`'),
    resetsAt: isoTimestamp.nullable().describe('When the current period ends; null if `limitUsd` never resets'),
    executionsPerMinute: z
      .number()
      .int()
      .nullable()
      .describe("Maximum number of tasks and turns per UTC minute; null if only the user's limit applies"),
    agents: z.array(z.string()).nullable().describe('Ids of the agents that the key can run; null for all'),
    rotationDue: z.boolean().describe('True when the key is in use and older than 90 days'),
  })
  .meta({ id: 'Key' })
export type Key = z.output<typeof Key>

const limits = {
  limitUsd: maxCostUsd.describe('Maximum amount charged and held per period of `limitReset`'),
  limitReset: z
    .enum(limitResets)
    .describe('How often `limitUsd` resets, in UTC; weeks start on Monday. Defaults to `never`'),
  executionsPerMinute: z
    .number()
    .int()
    .min(1)
    .max(executionsPerMinuteMax)
    .describe("Maximum number of tasks and turns per UTC minute, in addition to the user's limit"),
  agents: agentIds.describe('Ids of the agents that the key can run; all by default'),
}

const resetOfLimit = {
  path: ['limitReset'],
  message: 'Must be omitted if limitUsd is omitted',
}

export const CreateKeyInput = z
  .object({
    name: z.string().trim().min(1).max(100).describe('What the key is for'),
    scopes: z
      .array(Scope)
      .min(1)
      .max(scopes.length)
      .optional()
      .describe('The key cannot have scopes that its creator lacks. Defaults to all scopes of its creator'),
    expiresInDays: z
      .number()
      .int()
      .min(1)
      .max(3650)
      .optional()
      .describe('Days until the key expires; never by default'),
    limitUsd: limits.limitUsd.optional(),
    limitReset: limits.limitReset.optional(),
    executionsPerMinute: limits.executionsPerMinute.optional(),
    agents: limits.agents.optional(),
  })
  .refine(({ limitReset, limitUsd }) => limitReset === undefined || limitUsd !== undefined, resetOfLimit)

/** Omitted fields remain unchanged. Null removes a limit. */
export const UpdateKeyInput = z
  .object({
    keyId: resourceId,
    limitUsd: limits.limitUsd.nullable().optional(),
    limitReset: limits.limitReset.optional(),
    executionsPerMinute: limits.executionsPerMinute.nullable().optional(),
    agents: limits.agents.nullable().optional(),
  })
  .refine((input) => Object.entries(input).some(([name, value]) => name !== 'keyId' && value !== undefined), {
    message: 'Must have at least one of limitUsd, limitReset, executionsPerMinute and agents',
  })
  .refine(({ limitReset, limitUsd }) => limitReset === undefined || limitUsd !== null, resetOfLimit)

export const CreatedKey = Key.extend({
  key: z.string().describe('The API key itself, shown only once'),
}).meta({ id: 'CreatedKey' })

export const ListKeysInput = z.object({
  state: z
    .enum(['live', 'ended'])
    .optional()
    .describe('`live`: only active keys; `ended`: only revoked or expired keys'),
  ...pageInput,
})
export const ListKeysOutput = z.object({ keys: z.array(Key), ...pageOutput })
export const KeyInput = z.object({ keyId: resourceId })
export const RotateKeyInput = z.object({
  keyId: resourceId,
  overlapSeconds: z
    .number()
    .int()
    .min(0)
    .max(30 * 86_400)
    .default(86_400)
    .describe('How long the old key stays valid'),
})
