import { z } from 'zod'
import { ChatInput } from '../chat/chat-schema.ts'
import { isoTimestamp, usd } from '../kernel/wire-types.ts'
import { CreateTaskInput } from '../tasks/task-schema.ts'

export const QuoteInput = z
  .object({
    task: CreateTaskInput.pick({ endpointId: true, params: true, maxCostUsd: true })
      .optional()
      .describe('What the task would be created with'),
    chat: ChatInput.omit({ quoteId: true }).optional().describe('What would be sent'),
  })
  .refine(({ chat, task }) => (chat === undefined) !== (task === undefined), { message: 'Give a task or a chat' })

export const Quote = z
  .object({
    quoteId: z.string().describe('Given with that task or chat, once, it makes these prices hold'),
    priceUsd: usd.optional().describe('Of a task: what it is charged'),
    holdUsd: usd.optional().describe('Of a chat: what is held at its beginning, where the balance has as much'),
    worstCaseUsd: usd
      .optional()
      .describe(
        'What it costs at most; omitted of a chat that only the balance bounds, as its agent may call models or tools again and again',
      ),
    priceVersion: z
      .string()
      .describe('Another one when the price of the endpoint, or the rates of the agent, were changed'),
    expiresAt: isoTimestamp.describe('Ten minutes from now'),
  })
  .meta({ id: 'Quote' })
export type Quote = z.output<typeof Quote>
