import type { ChatRates, ChatUsed } from '../../billing/chat-price.ts'
import type { Units } from '../../kernel/money.ts'
import type { ConnectorSpec } from '../../connectors/connector-spec.ts'
import type { ChatMessage, JsonSchema, MessagePart } from '../config/define-config.ts'
import { sumTokens, type FileSum, type FileTokens } from '../files/file-tokens.ts'

// What the service and an agent thread say to each other about a chat.

/** A part of a message as a thread is given it. */
export type SentPart = Exclude<MessagePart, { type: 'file' }> | SentFile
export type SentFile = Extract<MessagePart, { type: 'file' }> & FileTokens
export type SentMessage = ChatMessage & { readonly parts?: readonly SentPart[] }

/** Totals of the files among the parts. */
export function tokensOfFiles(parts: readonly SentPart[] = []): FileSum {
  return sumTokens(parts.filter((part) => part.type === 'file'))
}

/** Whether the request has the content of files. */
export function hasContent(request: Pick<ChatRequest, 'history' | 'parts'>): boolean {
  return filesIn(request).some(({ data }) => data !== undefined)
}

/** Frees the content of the request's files. */
export function dropContent(request: Pick<ChatRequest, 'history' | 'parts'>): void {
  for (const file of filesIn(request)) delete (file as { data?: Uint8Array }).data
}

function filesIn({ history, parts }: Pick<ChatRequest, 'history' | 'parts'>): SentFile[] {
  const all = [parts, ...history.map((message) => message.parts)].flatMap((of) => of ?? [])
  return all.filter((part) => part.type === 'file')
}

/** What a reply is asked to be. */
export type ReplyParams = {
  temperature?: number
  maxTokens?: number
  /** Of a language model of the AI SDK only: JSON, which fits the schema where there is one. */
  responseFormat?: ResponseFormat
  /** Of a language model of the AI SDK only. */
  sampling?: Sampling
}

/** Call settings of the AI SDK, which leaves out those that a provider does not take. */
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

/** What an agent is told of the turn that it replies to. */
export type ChatRequest = {
  agentId: string
  userId: string
  sessionId: string
  turnId: string
  message: string
  /** Of a message that came with files. */
  parts?: readonly SentPart[]
  history: readonly SentMessage[]
  /** Tokens of the history, as they were counted when it was stored. */
  historyTokens: number
  /** Whether the provider has cached the history, as far as its last report says. */
  isHistoryCached?: boolean
  params: ReplyParams
  connectors: readonly ConnectorSpec[]
  /** What the turn is charged by. */
  rates: ChatRates
  /** What balance, caps and limits left for the whole turn when it was admitted. */
  room: Units
  /** The W3C's trace context of the turn, where the service is traced. */
  traceparent?: string
}

/** As it is kept: with `bytes`, what was so large is only a preview of it. */
export type ToolCallStep =
  | { type: 'call'; id: string; name: string; arguments: Record<string, unknown>; bytes?: number }
  | { type: 'result'; id: string; output: Record<string, unknown>; bytes?: number }

/** A call of a model that is about to begin. */
export type ModelStep = {
  /** An upper bound of the tokens that are sent. */
  promptTokensMax: number
  /** About how many they are. */
  promptTokens: number
  outputTokensMax: number
}

/** Asks for what comes next to be held, before the agent goes on. */
export type StepRequest = {
  /** Rises with all that is told of one reply. */
  serial: number
  /** What must be held for the reply so far. */
  bound: ChatUsed
  /** What it has used so far, with the call of the tool that is to begin. */
  used: ChatUsed
  /** The part of it that the agent itself reported. */
  reported: ChatUsed | null
  /** Whether calls of a model are under way, besides one that is to begin. */
  isStepOpen: boolean
  /** The call of a model or of a tool that is to begin; null where use was reported. */
  next: ModelStep | 'tool' | null
}

/** What a reply has come to since the last batch. */
export type ChatBatch = {
  serial: number
  /** The events as clients read them, each a line of JSON. */
  lines: string
  events: number
  /** The assistant's text in them. */
  text: string
  toolCalls: readonly ToolCallStep[]
  /** What the whole reply has used so far: as reported, and by its texts where nothing is. */
  used: ChatUsed
  /** What it may have used at most, which is held before anything of the batch is given out. */
  bound: ChatUsed
  /** Whether a model is being called. */
  isStepOpen: boolean
  /** The part of it that the agent itself reported. */
  reported: ChatUsed | null
}

/** Why a reply ended by itself: `length` if it was cut off, by a limit of tokens or of steps. */
export const finishReasons = ['stop', 'length', 'content_filter'] as const
export type FinishReason = (typeof finishReasons)[number]

/** A reply that ended by itself, or was stopped: what it used, and how long its texts are for a later history. */
export type ChatSummary = {
  used: ChatUsed
  /** The part of it that the agent itself reported. */
  reported: ChatUsed | null
  /** Whether what could be held allowed only a shorter text than was asked for, and it came to that length. */
  isCutByHold?: boolean
  /** Absent if the reply failed. */
  finishReason?: FinishReason
  /** Whether tokens were counted from the texts, because the agent did not report all of them. */
  isEstimated: boolean
  messageTokens: number
  replyTokens: number
}

const bytesPerToken = 4

/** An upper bound of the tokens of a text, whatever the encoding: each of them takes a byte at least. */
export function tokensAtMost(text: string): number {
  return Buffer.byteLength(text)
}

/** Tokens of a text by its length alone: a little more than English or German have, about as many as Chinese has. */
export function roughTokens(text: string): number {
  return roughTokensOf(Buffer.byteLength(text))
}

/** The same for a text of so many bytes. */
export function roughTokensOf(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken)
}
