import { z } from 'zod'
import { finishReasons } from '../agents/run/chat-messages.ts'
import { isoTimestamp, maxCostUsd, quoteId, resourceId, usd } from '../kernel/wire-types.ts'

// Schemas for chat requests and stream events. The stream has one JSON object per line.

const messagePartsMax = 20
// Excludes paths, control characters, lone surrogates, line breaks, and characters that reorder text. With U+202E,
// "invoice_\u202Efdp.exe" is displayed as "invoice_exe.pdf".
const filename = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069/\\]{1,200}$/u

export const Filename = z
  .string()
  .regex(filename, 'Must have 1 to 200 characters, without slashes, control characters or text direction marks')

const FilePart = z.object({
  type: z.literal('file'),
  mediaType: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('A media type that the agent accepts; required with `data`'),
  data: z.string().min(1).optional().describe('The file in base64. Send either `data` or `payloadId`'),
  payloadId: resourceId.optional().describe("Id of a file from one of the caller's earlier messages"),
  filename: Filename.meta({ pattern: undefined, minLength: 1, maxLength: 200 }).optional(),
})
export type FilePart = z.output<typeof FilePart>

const ChatMessagePart = z.discriminatedUnion(
  'type',
  [z.object({ type: z.literal('text'), text: z.string().min(1) }), FilePart],
  'Must have the type "text" or "file"',
)

const message = z.union(
  [z.string().min(1), z.array(ChatMessagePart).min(1).max(messagePartsMax)],
  'Must be a string or an array of 1 to 20 parts',
)

export const ChatInput = z.object({
  sessionId: resourceId.describe('An active session of the caller'),
  message: message.describe("The user's message: a string, or an array of parts with at most 10 files"),
  params: z
    .object({
      temperature: z.number().min(0).max(2).optional(),
      maxTokens: z.number().int().min(1).optional().describe("At most the agent's `maxOutputTokens`"),
    })
    .optional()
    .describe('Parameters for the agent'),
  maxCostUsd: maxCostUsd.optional().describe("Cap on the turn's cost; the reply stops before it exceeds the cap"),
  onDisconnect: z
    .enum(['stop', 'continue'])
    .optional()
    .describe(
      'What happens when the last reader disconnects. `stop` (the default) stops the reply; `continue` lets it finish, so that it can be read later',
    ),
  quoteId: quoteId.optional().describe('A quote for this message, whose rates apply'),
  replaces: resourceId
    .optional()
    .describe(
      "The `turnId` of the session's last turn. The new turn replaces it: agents no longer see its message and reply. Both turns are charged, and both stay in the list of messages",
    ),
})

const timestamp = isoTimestamp
const seq = z.number().int().min(1).describe('Sequence number of the event in the reply, starting at 1')

export const ChatUsage = z
  .object({
    promptTokens: z.number().int(),
    cachedPromptTokens: z
      .number()
      .int()
      .optional()
      .describe('Part of `promptTokens` that the provider read from its cache, if any'),
    cacheWriteTokens: z
      .number()
      .int()
      .optional()
      .describe('Part of `promptTokens` that the provider wrote to its cache, if any'),
    completionTokens: z.number().int().describe('Includes reasoning tokens'),
    totalTokens: z.number().int(),
    reasoningTokens: z.number().int(),
    toolCalls: z.number().int(),
  })
  .meta({ id: 'ChatUsage' })
export type ChatUsage = z.output<typeof ChatUsage>

export const ChatEvent = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('assistant_delta'), timestamp, seq, delta: z.string() }),
    z.object({ type: z.literal('reasoning_delta'), timestamp, seq, delta: z.string() }),
    z.object({
      type: z.literal('tool_call'),
      timestamp,
      seq,
      toolCall: z.object({ id: z.string(), name: z.string(), arguments: z.record(z.string(), z.unknown()) }),
    }),
    z.object({
      type: z.literal('tool_result'),
      timestamp,
      seq,
      toolResult: z.object({ id: z.string(), output: z.record(z.string(), z.unknown()) }),
    }),
    z.object({
      type: z.literal('done'),
      timestamp,
      seq,
      usage: ChatUsage,
      costUsd: usd,
      finishReason: z
        .enum(finishReasons)
        .optional()
        .describe('`length` if a limit on tokens or steps cut off the reply; omitted for older replies'),
    }),
    z.object({
      type: z.literal('error'),
      timestamp,
      seq: seq.optional(),
      error: z.object({ code: z.string(), message: z.string() }),
      message: z.string().optional().describe('Only if the turn was rejected; `statusCode` is then the HTTP status'),
      statusCode: z.number().int().optional(),
      code: z.string().optional().describe('Only if the turn was rejected; the same code as in error bodies'),
      costUsd: usd.optional().describe('Amount charged for a reply that failed or stopped after it started'),
      stopped: z.literal(true).optional().describe('Present if the user stopped the reply'),
    }),
  ])
  .meta({ id: 'ChatEvent' })
export type ChatEvent = z.output<typeof ChatEvent>

export const TurnEventsInput = z.object({
  turnId: resourceId.describe('The `Errand-Turn-Id` of the turn'),
  after: z
    .number()
    .int()
    .min(0)
    .max(1_000_000_000)
    .default(0)
    .describe('`seq` of the last event already read; the response starts with the next one'),
})

export const SessionStreamInput = z.object({ sessionId: resourceId.describe('A session of the caller') })

export const StopTurnInput = z.object({ turnId: resourceId.describe('The `Errand-Turn-Id` of the turn') })

export const StopTurnOutput = z.object({
  turnId: z.string(),
  stopped: z.boolean().describe('False if the reply had already ended; its stream and its receipt show how'),
})
