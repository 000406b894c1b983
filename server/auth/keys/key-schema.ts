import { z } from 'zod'
import { scopes } from '../../store/records.ts'
import { isoTimestamp, pageInput, pageOutput, resourceId } from '../../kernel/wire-types.ts'

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
    rotationDue: z.boolean().describe('True when the key is in use and older than 90 days'),
  })
  .meta({ id: 'Key' })
export type Key = z.output<typeof Key>

export const CreateKeyInput = z.object({
  name: z.string().trim().min(1).max(100).describe('What the key is for'),
  scopes: z
    .array(Scope)
    .min(1)
    .max(scopes.length)
    .optional()
    .describe('At most those of the credential that creates the key; all of them by default'),
  expiresInDays: z.number().int().min(1).max(3650).optional().describe('Never by default'),
})

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
