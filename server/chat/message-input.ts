import { hash } from 'node:crypto'
import type { z } from 'zod'
import type { Chat } from '../agents/config/catalogue.ts'
import { roughTokens, type ResponseFormat, type Sampling } from '../agents/run/chat-messages.ts'
import type { ChatMessage } from '../agents/config/define-config.ts'
import { hashJson } from '../kernel/canonical-json.ts'
import { badField } from '../kernel/errors.ts'
import { parseUsd, type Units } from '../kernel/money.ts'
import type { QuoteSubject } from '../billing/quotes.ts'
import { jsonBytes, messageTextBytesMax } from '../store/byte-bounds.ts'
import type { History } from '../store/sessions/session-types.ts'
import type { ChatInput } from './chat-schema.ts'
import { draftFiles, type MessageDraft } from './files/message-draft.ts'

type Input = z.output<typeof ChatInput>

export type EarlierMessage = Pick<ChatMessage, 'role'> & { content: Input['message'] }
export type EarlierDraft = Pick<ChatMessage, 'role'> & { draft: MessageDraft }

export type MessageSetting = {
  /**
   * Set only for a message without a session, whose `sessionId` refers to no stored session. Only its receipt is
   * stored.
   */
  agentId?: string
  /** Connectors of the session that the message would start. */
  connectorIds?: readonly string[] | undefined
  /** Id of the session that the new session would continue. */
  continues?: string | undefined
  /** Messages that precede the session's history. They are not stored. */
  earlier: readonly EarlierMessage[]
  responseFormat?: ResponseFormat
  sampling?: Sampling
  bodyHash: string
}

type TurnHistory = { messages: readonly Pick<ChatMessage, 'content'>[]; tokens: number }

export const nothingSaid: History = { messages: [], tokens: 0, cachedAt: null }

export function earlierTokens(earlier: readonly EarlierDraft[]): number {
  let tokens = 0
  for (const { draft } of earlier) tokens += tokensOf(draft)
  return tokens
}

export function withEarlier(history: History, earlier: readonly EarlierDraft[]): TurnHistory {
  if (earlier.length === 0) return history
  const said = earlier.map(({ draft }) => ({ content: draft.text }))
  return { messages: [...said, ...history.messages], tokens: history.tokens + earlierTokens(earlier) }
}

export function charsOf({ message }: Pick<Input, 'message'>, setting: MessageSetting | undefined): number {
  let chars = charsIn(message)
  for (const { content } of setting?.earlier ?? []) chars += charsIn(content)
  return chars
}

function charsIn(message: Input['message']): number {
  if (typeof message === 'string') return message.length
  let chars = 0
  for (const part of message) chars += (part.type === 'text' ? part.text : part.data)?.length ?? 0
  return chars
}

export function subjectOf(userId: string, { message, params, replaces, sessionId }: Input): QuoteSubject {
  return { userId, hash: hashJson({ chat: { sessionId, message: hashable(message), params, replaces } }) }
}

export function bodyHashOf(input: Input): string {
  return hashJson({ ...input, message: hashable(input.message) })
}

/** Replaces file contents with their digests, which are faster to hash. */
function hashable(message: Input['message']) {
  if (typeof message === 'string') return message
  return message.map((part) =>
    part.type === 'file' && part.data !== undefined ? { ...part, data: hash('sha256', part.data) } : part,
  )
}

export function maxCostOf({ maxCostUsd }: z.output<typeof ChatInput>): Units | null {
  return maxCostUsd === undefined ? null : parseUsd(maxCostUsd)!
}

export function leastOf(caps: readonly (Units | null)[]): Units | null {
  const given = caps.filter((cap) => cap !== null)
  return given.length === 0 ? null : Math.min(...given)
}

/** The tokens of longer messages are counted in separate event-loop ticks. */
export const largeMessageChars = 16 * 1024

export function checkSize(
  { contextTokens, maxOutputTokens }: Chat,
  { files, params, text }: MessageDraft & Pick<Input, 'params'>,
): void {
  if (jsonBytes(text) > messageTextBytesMax) {
    throw badField('message', `Must be at most ${messageTextBytesMax} bytes when encoded as JSON`)
  }
  if (roughTokens(text) + files.tokens > contextTokens) {
    throw badField('message', `Must have at most ${contextTokens} tokens, the maximum for this agent`)
  }
  if (params?.maxTokens !== undefined && params.maxTokens > maxOutputTokens) {
    throw badField('params.maxTokens', `Must be at most ${maxOutputTokens}`)
  }
}

export function tokensOf({ files, text }: MessageDraft): number {
  return roughTokens(text) + files.tokens
}

const titleCharsMax = 120

/** Returns the title for a session that has none: the first line of the message, or the name of its first file. */
export function titleOf(draft: MessageDraft): string | null {
  const named = draft.text.trim() || (draftFiles(draft)[0]?.filename ?? '')
  const line = named.slice(0, titleCharsMax).split('\n', 1)[0]!
  // The cut may have split a surrogate pair. Remove the remaining half, and all control characters.
  return line.replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ').trim() || null
}

/** Throws 400 if the earlier messages leave no room for this message. */
export function checkEarlier(
  { contextTokens }: Chat,
  { draft, earlier }: { draft: MessageDraft; earlier: readonly EarlierDraft[] },
): void {
  if (earlier.length === 0 || earlierTokens(earlier) + tokensOf(draft) <= contextTokens) return
  throw badField('messages', `Must have at most ${contextTokens} tokens in total, the maximum for this agent`)
}

export function modelParams(setting: MessageSetting | undefined) {
  const { responseFormat, sampling } = setting ?? {}
  return { ...(responseFormat && { responseFormat }), ...(sampling && { sampling }) }
}

export function given({ maxTokens, temperature }: NonNullable<z.output<typeof ChatInput>['params']>) {
  return { ...(temperature !== undefined && { temperature }), ...(maxTokens !== undefined && { maxTokens }) }
}
