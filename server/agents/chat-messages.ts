import type { ChatUsed } from '../billing/chat-price.ts'
import type { ConnectorSpec } from '../connectors/connector-spec.ts'
import type { ChatMessage } from './define-config.ts'

// What the service and an agent thread say to each other about a chat.

/** What an agent is told of the turn that it replies to. */
export type ChatRequest = {
  agentId: string
  userId: string
  sessionId: string
  turnId: string
  message: string
  history: readonly ChatMessage[]
  /** Tokens of the history, as they were counted when it was stored. */
  historyTokens: number
  params: { temperature?: number; maxTokens?: number }
  connectors: readonly ConnectorSpec[]
  /** The W3C's trace context of the turn, where the service is traced. */
  traceparent?: string
}

/** As it is kept: with `bytes`, what was so large is only a preview of it. */
export type ToolCallStep =
  | { type: 'call'; id: string; name: string; arguments: Record<string, unknown>; bytes?: number }
  | { type: 'result'; id: string; output: Record<string, unknown>; bytes?: number }

/** What a reply has come to since the last batch. */
export type ChatBatch = {
  /** The events as clients read them, each a line of JSON. */
  lines: string
  events: number
  /** The assistant's text in them. */
  text: string
  toolCalls: readonly ToolCallStep[]
  /** What the whole reply has used so far: as reported, and by the length of the texts where nothing is. */
  used: ChatUsed
  /** The part of it that the agent itself reported. */
  reported: ChatUsed | null
}

/** A reply that ended by itself, or was stopped: what it used, and how long its texts are for a later history. */
export type ChatSummary = {
  used: ChatUsed
  /** Whether tokens were counted from the texts, because the agent reported none. */
  isEstimated: boolean
  messageTokens: number
  replyTokens: number
}

const bytesPerToken = 4

/** Tokens of a text by its length alone: a little more than English or German have, about as many as Chinese has. */
export function roughTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken)
}
