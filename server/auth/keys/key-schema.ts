import { z } from 'zod'
import { scopes } from '../../store/records.ts'
import { agentIds } from '../../billing/limit-schema.ts'
import { isoTimestamp, maxCostUsd, pageInput, pageOutput, resourceId, usd } from '../../kernel/wire-types.ts'
import { limitResets } from '../../store/execution-limits.ts'
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
    limitUsd: usd.nullable().describe('What may be spent with it in a period; null without a limit'),
    limitReset: z.enum(limitResets).nullable().describe('When `limitUsd` begins anew, by UTC; weeks on Mondays'),
    usedUsd: usd.nullable().describe('Charged and held of `limitUsd` in this period; null without a limit'),
    resetsAt: isoTimestamp.nullable().describe('When this period ends; null where none does'),
    executionsPerMinute: z
      .number()
      .int()
      .nullable()
      .describe('Tasks and chats in a minute of UTC; null for those of its user'),
    agents: z.array(z.string()).nullable().describe('Ids of the agents that it is for; null for all'),
    rotationDue: z.boolean().describe('True when the key is in use and older than 90 days'),
  })
  .meta({ id: 'Key' })
export type Key = z.output<typeof Key>

/** Restrictions of a key, in addition to its scopes. */
const limits = {
  limitUsd: maxCostUsd.describe('What may be spent with it, charged and held, in each period of `limitReset`'),
  limitReset: z
    .enum(limitResets)
    .describe('When `limitUsd` begins anew, by UTC; weeks begin on Monday. `never` when it is left out'),
  executionsPerMinute: z
    .number()
    .int()
    .min(1)
    .max(executionsPerMinuteMax)
    .describe('Tasks and chats in a minute of UTC, beside the limit of its user'),
  agents: agentIds.describe('Ids of the agents that it is for; all of them by default'),
}

const resetOfLimit = {
  path: ['limitReset'],
  message: 'Must come with limitUsd: it says when that begins anew',
}

export const CreateKeyInput = z
  .object({
    name: z.string().trim().min(1).max(100).describe('What the key is for'),
    scopes: z
      .array(Scope)
      .min(1)
      .max(scopes.length)
      .optional()
      .describe('At most those of the credential that creates the key; all of them by default'),
    expiresInDays: z.number().int().min(1).max(3650).optional().describe('Never by default'),
    limitUsd: limits.limitUsd.optional(),
    limitReset: limits.limitReset.optional(),
    executionsPerMinute: limits.executionsPerMinute.optional(),
    agents: limits.agents.optional(),
  })
  .refine(({ limitReset, limitUsd }) => limitReset === undefined || limitUsd !== undefined, resetOfLimit)

/** Omitted fields stay unchanged; null removes a limit. */
export const UpdateKeyInput = z
  .object({
    keyId: resourceId,
    limitUsd: limits.limitUsd.nullable().optional(),
    limitReset: limits.limitReset.optional(),
    executionsPerMinute: limits.executionsPerMinute.nullable().optional(),
    agents: limits.agents.nullable().optional(),
  })
  .refine((input) => Object.entries(input).some(([name, value]) => name !== 'keyId' && value !== undefined), {
    message: 'Give limitUsd, limitReset, executionsPerMinute, agents or several of them',
  })
  .refine(({ limitReset, limitUsd }) => limitReset === undefined || limitUsd !== null, resetOfLimit)

export const CreatedKey = Key.extend({
  key: z.string().describe('The API key itself, shown this once'),
}).meta({ id: 'CreatedKey' })

export const ListKeysInput = z.object({
  state: z
    .enum(['live', 'ended'])
    .optional()
    .describe('Only keys that work, or only those that were revoked or have expired'),
  ...pageInput,
})
export const ListKeysOutput = z.object({ keys: z.array(Key), ...pageOutput })
export const RevokeKeyInput = z.object({ keyId: resourceId })
export const RotateKeyInput = z.object({
  keyId: resourceId,
  overlapSeconds: z
    .number()
    .int()
    .min(0)
    .max(30 * 86_400)
    .default(86_400)
    .describe('How long the old key goes on working'),
})
