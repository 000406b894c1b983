import type { ChatRates, ChatUsed } from '../../billing/chat-price.ts'
import type { Units } from '../../kernel/money.ts'
import type { ConnectorSpec } from '../../connectors/connector-spec.ts'
import type { ChatMessage, JsonSchema, MessagePart } from '../config/define-config.ts'
import { sumTokens, type FileSum, type FileTokens } from '../files/file-tokens.ts'

// Messages about a chat between the service and an agent thread.

/** A message part as it is sent to an agent thread. */
export type SentPart = Exclude<MessagePart, { type: 'file' }> | SentFile
export type SentFile = Extract<MessagePart, { type: 'file' }> & FileTokens
export type SentMessage = ChatMessage & { readonly parts?: readonly SentPart[] }

export function tokensOfFiles(parts: readonly SentPart[] = []): FileSum {
  return sumTokens(parts.filter((part) => part.type === 'file'))
}

export function hasContent(request: Pick<ChatRequest, 'history' | 'parts'>): boolean {
  return filesIn(request).some(({ data }) => data !== undefined)
}

export function dropContent(request: Pick<ChatRequest, 'history' | 'parts'>): void {
  for (const file of filesIn(request)) delete (file as { data?: Uint8Array }).data
}

function filesIn({ history, parts }: Pick<ChatRequest, 'history' | 'parts'>): SentFile[] {
  const all = [parts, ...history.map((message) => message.parts)].flatMap((of) => of ?? [])
  return all.filter((part) => part.type === 'file')
}

export type ReplyParams = {
  temperature?: number
  maxTokens?: number
  /** Requests JSON output, which must match the schema if there is one. Only for language models of the AI SDK. */
  responseFormat?: ResponseFormat
  /** Only for language models of the AI SDK. */
  sampling?: Sampling
}

/** AI SDK call settings. The SDK drops settings that a provider does not support. */
export type Sampling = {
  topP?: number
  topK?: number
  presencePenalty?: number
  frequencyPenalty?: number
  seed?: number
  stopSequences?: string[]
  /** Settings that only some OpenAI-compatible servers have, by their names in a request. */
  extra?: Record<string, number | Record<string, number>>
}

export type ResponseFormat = { type: 'json'; schema?: JsonSchema; name?: string; description?: string }

/** A turn as it is sent to an agent. */
export type ChatRequest = {
  agentId: string
  userId: string
  sessionId: string
  turnId: string
  message: string
  /** Present if the message came with files. */
  parts?: readonly SentPart[]
  history: readonly SentMessage[]
  /** Token count of the history: the sum of the counts stored with its messages. */
  historyTokens: number
  /** Whether the provider has cached the history, according to its last report. */
  isHistoryCached?: boolean
  params: ReplyParams
  connectors: readonly ConnectorSpec[]
  rates: ChatRates
  /** Maximum cost of the whole turn, from balance, caps and limits at admission. */
  room: Units
  /** W3C trace context of the turn, if tracing is on. */
  traceparent?: string
}

/**
 * A tool call or result, as it is stored. If a value is too large, only a preview is stored, and `bytes` is the value's
 * full size.
 */
export type ToolCallStep =
  | { type: 'call'; id: string; name: string; arguments: Record<string, unknown>; bytes?: number }
  | { type: 'result'; id: string; output: Record<string, unknown>; bytes?: number }

export type ModelStep = {
  promptTokensMax: number
  /** Estimated tokens of the prompt. */
  promptTokens: number
  outputTokensMax: number
}

/** Requests a hold for the next model or tool call. The agent waits until the hold is in place. */
export type StepRequest = {
  /** Increases with each batch and step request of a reply. */
  serial: number
  /** Upper bound of the reply's usage so far. Its cost must be held. */
  bound: ChatUsed
  /** Usage so far, including the tool call that is about to start. */
  used: ChatUsed
  /** The part of `used` that the agent itself reported. */
  reported: ChatUsed | null
  /** Whether earlier model calls are still in progress. */
  isStepOpen: boolean
  /** Index of the answering model, if the agent has several and one has started to answer. */
  model?: number | undefined
  /** The model or tool call that is about to start. Null for a usage report. */
  next: ModelStep | 'tool' | null
}

/** Output of a reply since the last batch. */
export type ChatBatch = {
  serial: number
  /** The events as clients read them, one JSON line each. */
  lines: string
  events: number
  /** The assistant's text in these events. */
  text: string
  toolCalls: readonly ToolCallStep[]
  /** Usage of the whole reply so far, as reported by the agent. Unreported usage is estimated from the text. */
  used: ChatUsed
  /** Upper bound of the usage. Its cost is held before any event of the batch is sent to the client. */
  bound: ChatUsed
  isStepOpen: boolean
  reported: ChatUsed | null
  /** Index of the answering model, if the agent has several. */
  model?: number | undefined
}

/** Why a reply ended normally: `length` if a token or step limit cut it off. */
export const finishReasons = ['stop', 'length', 'content_filter'] as const
export type FinishReason = (typeof finishReasons)[number]

/**
 * Summary of a reply that ended, was stopped or failed: its usage, and the token counts for the history of later turns.
 */
export type ChatSummary = {
  used: ChatUsed
  reported: ChatUsed | null
  /** Index of the model that answered or was called last, if the agent has several. */
  model?: number | undefined
  /** Whether the hold allowed fewer output tokens than requested and the reply reached that limit. */
  isCutByHold?: boolean
  /** Absent if the reply failed. */
  finishReason?: FinishReason
  /** Whether tokens were counted from the text, because the agent did not report all of them. */
  isEstimated: boolean
  messageTokens: number
  replyTokens: number
}

const bytesPerToken = 4

/** Upper bound of a string's tokens in any encoding, because each token takes at least one byte. */
export function tokensAtMost(text: string): number {
  return Buffer.byteLength(text)
}

/** Estimates tokens from length alone. Slightly high for English and German, about right for Chinese. */
export function roughTokens(text: string): number {
  return roughTokensOf(Buffer.byteLength(text))
}

export function roughTokensOf(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken)
}
