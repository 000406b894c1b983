import { z } from 'zod'
import { isoTimestamp, maxCostUsd, resourceId, usd } from '../../kernel/wire-types.ts'

const TokenScope = z.enum(['read', 'execute'])
const agentsMax = 50
export const tokenSecondsMax = 3600

export const ClientToken = z
  .object({
    id: z.string(),
    userId: z.string(),
    scopes: z.array(TokenScope),
    agents: z.array(z.string()).nullable().describe('The agents that it runs; null for all'),
    sessionId: z.string().nullable().describe('The one session that it reaches'),
    taskId: z.string().nullable().describe('The one task that it reaches'),
    maxCostUsd: usd.nullable().describe('What may be spent with it in all'),
    once: z.boolean().describe('Whether it admits one execution only'),
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
    .max(2)
    .optional()
    .describe('`read`, `execute` or both, of those that the credential has which makes it; all of these by default'),
  agents: z
    .array(resourceId)
    .min(1)
    .max(agentsMax)
    .optional()
    .describe('Ids of the agents that it runs, in tasks, sessions and chats; all by default'),
  sessionId: resourceId.optional().describe('It reaches this session alone, with its messages and chats'),
  taskId: resourceId.optional().describe('It reaches this task alone'),
  maxCostUsd: maxCostUsd.optional().describe('What may be spent with it in all; any amount by default'),
  expiresInSeconds: z.number().int().min(1).max(tokenSecondsMax).default(600).describe('When it ends'),
  once: z.boolean().default(false).describe('It admits one execution'),
})

export const CreatedClientToken = ClientToken.extend({
  token: z.string().describe('The client token itself, shown this once'),
}).meta({ id: 'CreatedClientToken' })

export const ClientTokenInput = z.object({ tokenId: resourceId })
