import { z } from 'zod'
import { ChatInput } from '../chat/chat-schema.ts'
import { CreateSessionInput } from '../chat/sessions/session-schema.ts'
import { isoTimestamp, usd } from '../kernel/wire-types.ts'
import { CreateTaskInput } from '../tasks/task-schema.ts'

export const QuoteInput = z
  .object({
    task: CreateTaskInput.pick({ endpointId: true, params: true, maxCostUsd: true })
      .optional()
      .describe('Fields of the task to create'),
    chat: ChatInput.omit({ quoteId: true })
      .extend({
        sessionId: ChatInput.shape.sessionId.optional(),
        agentId: CreateSessionInput.shape.agentId
          .optional()
          .describe(
            'Instead of `sessionId`, for the first message of a new session. This quote is an estimate, and cannot be sent with the message',
          ),
        connectorIds: CreateSessionInput.shape.connectorIds.describe("The new session's connectors, with `agentId`"),
        continues: CreateSessionInput.shape.continues.describe(
          'Only with `agentId`: the session that the new session would continue. Its history counts as input',
        ),
      })
      .refine(({ agentId, sessionId }) => (agentId === undefined) !== (sessionId === undefined), {
        path: ['sessionId'],
        message: 'Must have either sessionId or agentId',
      })
      .refine(({ agentId, connectorIds }) => agentId !== undefined || connectorIds === undefined, {
        path: ['connectorIds'],
        message: 'Must be omitted without agentId',
      })
      .refine(({ agentId, continues }) => agentId !== undefined || continues === undefined, {
        path: ['continues'],
        message: 'Must be omitted without agentId',
      })
      .optional()
      .describe('Fields of the message to send'),
  })
  .refine(({ chat, task }) => (chat === undefined) !== (task === undefined), {
    message: 'Must have either task or chat',
  })

export const Quote = z
  .object({
    quoteId: z.string().describe('Send it once, with that task or message, to get these prices'),
    priceUsd: usd.optional().describe('Price of the task'),
    holdUsd: usd.optional().describe('Amount held when the turn starts, if the balance covers it'),
    worstCaseUsd: usd
      .optional()
      .describe(
        'Maximum cost. Omitted if only the balance limits the turn, because it has no cap and its agent can make any number of calls',
      ),
    priceVersion: z.string().describe('Changes when the price of the endpoint or the rates of the agent change'),
    expiresAt: isoTimestamp.describe('When the quote expires, ten minutes after its creation'),
  })
  .meta({ id: 'Quote' })
export type Quote = z.output<typeof Quote>
