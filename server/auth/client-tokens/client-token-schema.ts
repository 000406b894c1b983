import { z } from 'zod'
import { isoTimestamp, maxCostUsd, pageInput, pageOutput, resourceId, usd } from '../../kernel/wire-types.ts'

const TokenScope = z.enum(['read', 'execute', 'pay'])
const agentsMax = 50
export const tokenSecondsMax = 3600

export const ClientToken = z
  .object({
    id: z.string(),
    userId: z.string(),
    scopes: z.array(TokenScope),
    agents: z.array(z.string()).nullable().describe('Ids of the agents that the token can run; null for all'),
    sessionId: z.string().nullable().describe('The only session that the token can access'),
    taskId: z.string().nullable().describe('The only task that the token can access'),
    maxCostUsd: usd.nullable().describe("Cap on the total cost of the token's tasks and turns; null for none"),
    usedUsd: usd.describe('Amount charged and held so far'),
    once: z.boolean().describe('Whether the token allows only one execution'),
    createdBy: z.string().describe('Id of the API key, login or platform key that created the token'),
    createdAt: isoTimestamp,
    expiresAt: isoTimestamp,
    revokedAt: isoTimestamp.nullable(),
  })
  .meta({ id: 'ClientToken' })
export type ClientToken = z.output<typeof ClientToken>

export const CreateClientTokenInput = z.object({
  scopes: z
    .array(TokenScope)
    .min(1)
    .max(3)
    .optional()
    .describe(
      '`read`, `execute` and `pay` (to start top-ups). The token cannot have scopes that its creator lacks; `manage` includes `pay`. Defaults to those of `read` and `execute` that its creator has',
    ),
  agents: z
    .array(resourceId)
    .min(1)
    .max(agentsMax)
    .optional()
    .describe('Ids of the agents that the token can run in tasks and sessions; all by default'),
  sessionId: resourceId.optional().describe('Limits the token to this session, with its messages and turns'),
  taskId: resourceId.optional().describe('Limits the token to this task'),
  maxCostUsd: maxCostUsd.optional().describe("Cap on the total cost of the token's tasks and turns; none by default"),
  expiresInSeconds: z
    .number()
    .int()
    .min(1)
    .max(tokenSecondsMax)
    .default(600)
    .describe('Lifetime of the token, in seconds'),
  once: z.boolean().default(false).describe('Whether the token allows only one execution'),
})

export const CreatedClientToken = ClientToken.extend({
  token: z.string().describe('The client token itself, shown only once'),
}).meta({ id: 'CreatedClientToken' })

export const ClientTokenInput = z.object({ tokenId: resourceId })

export const ListClientTokensInput = z.object(pageInput)
export const ListClientTokensOutput = z.object({ clientTokens: z.array(ClientToken), ...pageOutput })
