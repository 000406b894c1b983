import { z } from 'zod'
import { isoTimestamp, maxCostUsd, quoteId, resourceId, usd } from '../kernel/wire-types.ts'

// The shapes of a chat on the wire: one request, and the events of its stream, one JSON object a line.

export const ChatInput = z.object({
  sessionId: resourceId.describe('An active session of the caller'),
  message: z.string().min(1).describe("The user's message"),
  params: z
    .object({
      temperature: z.number().min(0).max(2).optional(),
      maxTokens: z.number().int().min(1).optional().describe("At most the agent's own limit"),
    })
    .optional()
    .describe('Parameters of the agent'),
  maxCostUsd: maxCostUsd.optional().describe('The reply ends where it would cost more'),
  quoteId: quoteId.optional().describe('A quote for this message, whose rates then hold'),
})

const timestamp = isoTimestamp

export const ChatUsage = z
  .object({
    promptTokens: z.number().int(),
    cachedPromptTokens: z.number().int().optional().describe('The part of them that the provider had cached, if any'),
    completionTokens: z.number().int().describe('Includes reasoning tokens'),
    totalTokens: z.number().int(),
    reasoningTokens: z.number().int(),
    toolCalls: z.number().int(),
  })
  .meta({ id: 'ChatUsage' })
export type ChatUsage = z.output<typeof ChatUsage>

export const ChatEvent = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('assistant_delta'), timestamp, delta: z.string() }),
    z.object({ type: z.literal('reasoning_delta'), timestamp, delta: z.string() }),
    z.object({
      type: z.literal('tool_call'),
      timestamp,
      toolCall: z.object({ id: z.string(), name: z.string(), arguments: z.record(z.string(), z.unknown()) }),
    }),
    z.object({
      type: z.literal('tool_result'),
      timestamp,
      toolResult: z.object({ id: z.string(), output: z.record(z.string(), z.unknown()) }),
    }),
    z.object({ type: z.literal('done'), timestamp, usage: ChatUsage, costUsd: usd }),
    z.object({
      type: z.literal('error'),
      timestamp,
      error: z.object({ code: z.string(), message: z.string() }),
      message: z.string().optional().describe('Of a refusal, which also has its status'),
      statusCode: z.number().int().optional(),
      code: z.string().optional().describe('The code of the refusal, as in the body of any error'),
      costUsd: usd.optional().describe('What was charged for a reply that ended after its start'),
    }),
  ])
  .meta({ id: 'ChatEvent' })
export type ChatEvent = z.output<typeof ChatEvent>
