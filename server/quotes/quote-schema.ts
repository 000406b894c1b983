import { z } from 'zod'
import { ChatInput } from '../chat/chat-schema.ts'
import { isoTimestamp, usd } from '../kernel/wire-types.ts'
import { CreateTaskInput } from '../tasks/task-schema.ts'

export const QuoteInput = z
  .object({
    task: CreateTaskInput.pick({ endpointId: true, params: true, maxCostUsd: true })
      .optional()
      .describe('The fields of the task to create'),
    chat: ChatInput.omit({ quoteId: true }).optional().describe('The fields of the chat to send'),
  })
  .refine(({ chat, task }) => (chat === undefined) !== (task === undefined), { message: 'Send a task or a chat' })

export const Quote = z
  .object({
    quoteId: z.string().describe('Send it once with that task or chat to get these prices'),
    priceUsd: usd.optional().describe('Charge for the task'),
    holdUsd: usd.optional().describe('Amount held when the chat starts, if the balance covers it'),
    worstCaseUsd: usd
      .optional()
      .describe(
        'Maximum cost. Omitted for a chat that only the balance limits, because it has no cap and its agent can make any number of calls',
      ),
    priceVersion: z.string().describe('Changes whenever the price of the endpoint or the rates of the agent change'),
    expiresAt: isoTimestamp.describe('Ten minutes after the quote is created'),
  })
  .meta({ id: 'Quote' })
export type Quote = z.output<typeof Quote>
