import type { AttachedFile } from '../compose/attached-files.ts'
import { ErrandClientError, type ChatEvent, type ChatUsage, type Message } from '../../../../client/client.ts'
import { usdText } from '../../../parts/text/usd-text.ts'
import { textOf, type ReplyPart } from './live-reply.ts'

/**
 * Why a reply is not whole; `code` is the service's, or `STOPPED` by the reader, or `BROKEN` with the connection, or
 * `LOOKING_UP` while the service does not answer.
 */
export type ReplyNote = {
  code: string
  message: string
  costUsd: string | undefined
  requestId: string | undefined
  /** Whether the message is in the box again, which may hold another by now. */
  isBack?: boolean
}

/** A message that was sent here, until the session's own messages have it. */
export type LiveExchange = {
  key: string
  /** Undefined of one that was sent elsewhere, until it is stored. */
  message: string | undefined
  /** Those that it was sent with from this page. */
  files: readonly AttachedFile[]
  parts: readonly ReplyPart[]
  /** `settling`: the stream has ended, and what the service stored and charged is being looked up. */
  phase: 'sending' | 'streaming' | 'settling' | 'stored' | 'failed'
  turnId?: string
  note?: ReplyNote
}

/** What is known of a stored turn because it ran here. */
export type TurnExtras = {
  key: string
  parts: readonly ReplyPart[]
  usage: ChatUsage | undefined
  costUsd: string | undefined
  note: ReplyNote | undefined
}

export type LiveState = {
  exchange: LiveExchange | undefined
  /** Why the last message was not taken. */
  refusal: { error: unknown; at: number } | undefined
  extras: ReadonlyMap<string, TurnExtras>
  /** For screen readers. */
  announcement: string
}

export type TerminalEvent = Extract<ChatEvent, { type: 'done' | 'error' }>
export type StreamEnd = {
  event: TerminalEvent | undefined
  thrown: unknown
  requestId: string | undefined
  turnId: string | undefined
}
const announcedCharsMax = 600

export function isUnderWay(exchange: LiveExchange | undefined): boolean {
  return exchange !== undefined && exchange.phase !== 'stored' && exchange.phase !== 'failed'
}

export function isBusyRefusal(refusal: LiveState['refusal']): boolean {
  return refusal?.error instanceof ErrandClientError && refusal.error.code === 'SESSION_BUSY'
}

/** Whether the service has had a message with this key already. */
export function isKeyUsed({ event, thrown }: StreamEnd): boolean {
  return event === undefined && thrown instanceof ErrandClientError && thrown.code === 'CONFLICT'
}

/** Of a reply that failed: nothing was charged, and so nothing stored. */
export function isFree({ event }: StreamEnd): boolean {
  return event?.type === 'error' && event.costUsd !== undefined && !/[1-9]/.test(event.costUsd)
}

/** Whether the service said no before it began; anything else may have been charged. */
export function isRefusal({ event, thrown }: StreamEnd): boolean {
  if (event || !(thrown instanceof ErrandClientError)) return false
  return thrown.code === 'INVALID_ARGUMENT' || (thrown.status !== undefined && thrown.code !== 'BAD_RESPONSE')
}

export function announce(reply: Message | undefined, { costUsd, parts }: TurnExtras): string {
  const text = textOf(parts)
  const start = text.length > announcedCharsMax ? `${text.slice(0, announcedCharsMax)}…` : text
  const how = reply?.truncated ? 'The reply was cut off' : 'The reply is complete'
  return `${how}${costUsd === undefined ? '' : ` and cost ${usdText(costUsd)}`}: ${start}`
}
