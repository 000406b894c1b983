import type { ChatRates, ChatUsed } from '../../billing/chat-price.ts'
import type { Units } from '../../kernel/money.ts'
import type { ConnectorSpec } from '../../connectors/connector-spec.ts'
import type { ChatMessage, JsonSchema, MessagePart } from '../config/define-config.ts'
import { sumTokens, type FileSum, type FileTokens } from '../files/file-tokens.ts'

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
  /** Requests JSON output, matching a schema if there is one. Supported only by AI SDK language models. */
  responseFormat?: ResponseFormat
  sampling?: Sampling
}

/** AI SDK call settings. The SDK ignores settings that a provider does not support. */
export type Sampling = {
  topP?: number
  topK?: number
  presencePenalty?: number
  frequencyPenalty?: number
  seed?: number
  stopSequences?: string[]
  /** Settings that only some OpenAI-compatible servers support, keyed by their name in the request. */
  extra?: Record<string, number | Record<string, number>>
}

export type ResponseFormat = { type: 'json'; schema?: JsonSchema; name?: string; description?: string }

export type ChatRequest = {
  agentId: string
  userId: string
  sessionId: string
  turnId: string
  message: string
  parts?: readonly SentPart[]
  history: readonly SentMessage[]
  historyTokens: number
  /** Whether the provider has cached the history, according to its last usage report. */
  isHistoryCached?: boolean
  params: ReplyParams
  connectors: readonly ConnectorSpec[]
  rates: ChatRates
  /** Maximum cost of the whole turn: the minimum of balance, caps and limits at admission. */
  room: Units
  traceparent?: string
}

/**
 * A tool call or result as stored. If a value is too large, only a preview is stored, and `bytes` is the size of the
 * complete value.
 */
export type ToolCallStep =
  | { type: 'call'; id: string; name: string; arguments: Record<string, unknown>; bytes?: number }
  | { type: 'result'; id: string; output: Record<string, unknown>; bytes?: number }

export type ModelStep = {
  promptTokensMax: number
  promptTokens: number
  outputTokensMax: number
  /**
   * Whether the model can request tool calls. If so, a hold below the maximum cost must leave room for the price of one
   * tool call.
   */
  hasTools?: boolean
}

/** Asks the host to reserve the cost of the next model or tool call. The agent waits until it is reserved. */
export type StepRequest = {
  /** Sequence number. Increases with each batch and step request in a reply. */
  serial: number
  /** Upper bound on the reply's usage so far. The host reserves its cost. */
  bound: ChatUsed
  /** Usage so far, including the tool call that is about to start. */
  used: ChatUsed
  /** The part of `used` that the agent itself reported. Null if it reported nothing. */
  reported: ChatUsed | null
  isStepOpen: boolean
  /** Index of the model that answers. Absent if the agent has only one model or none has started to answer. */
  model?: number | undefined
  /**
   * The model or tool call that is about to start. Null if the request only raises the reserved amount after a usage
   * report.
   */
  next: ModelStep | 'tool' | null
}

export type ChatBatch = {
  serial: number
  /** Stream events as sent to clients, one JSON line each. */
  lines: string
  events: number
  text: string
  toolCalls: readonly ToolCallStep[]
  /** Usage of the whole reply so far. Usage that the agent has not reported is estimated from the text. */
  used: ChatUsed
  /** Upper bound on the usage. The host reserves its cost before it sends any of the batch's events to the client. */
  bound: ChatUsed
  isStepOpen: boolean
  reported: ChatUsed | null
  model?: number | undefined
}

/** Reasons for a normal end. `length` means that a token or step limit cut the reply off. */
export const finishReasons = ['stop', 'length', 'content_filter'] as const
export type FinishReason = (typeof finishReasons)[number]

/**
 * Summary of a reply that ended, was stopped or failed. Contains its usage, and the token counts for the history of
 * later turns.
 */
export type ChatSummary = {
  used: ChatUsed
  reported: ChatUsed | null
  /** Index of the model that answered or was called last. Absent if the agent has only one model. */
  model?: number | undefined
  /** Whether the reply reached an output limit that was lowered to fit the reserved amount. */
  isCutByHold?: boolean
  finishReason?: FinishReason
  /** Whether tokens were counted from the text because the agent did not report all of them. */
  isEstimated: boolean
  messageTokens: number
  replyTokens: number
}

const bytesPerToken = 4

/**
 * Returns an upper bound on a string's token count in any encoding: its byte length, because each token has at least
 * one byte.
 */
export function tokensAtMost(text: string): number {
  return Buffer.byteLength(text)
}

/**
 * Estimates the token count from the length. The estimate is slightly high for English and German, about right for
 * Chinese.
 */
export function roughTokens(text: string): number {
  return roughTokensOf(Buffer.byteLength(text))
}

export function roughTokensOf(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken)
}
