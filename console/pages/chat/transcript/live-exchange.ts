import type { AttachedFile } from '../compose/attached-files.ts'
import { ErrandClientError, type ChatEvent, type ChatUsage, type Message } from '../../../../client/client.ts'
import { usdText } from '../../../parts/text/usd-text.ts'
import { textOf, type ReplyPart } from './live-reply.ts'

/**
 * Why a reply is incomplete. `code` is the service's, `STOPPED` by the user, `BROKEN` with the connection, or
 * `LOOKING_UP` while the service does not answer.
 */
export type ReplyNote = {
  code: string
  message: string
  costUsd: string | undefined
  requestId: string | undefined
  /** Whether the message went back to the composer, which may hold another one now. */
  isBack?: boolean
}

/** A message sent here, until the session's stored messages include it. */
export type LiveExchange = {
  key: string
  /** Undefined for a message sent elsewhere, until it is stored. */
  message: string | undefined
  /** Files sent from this page. */
  files: readonly AttachedFile[]
  parts: readonly ReplyPart[]
  /** `settling`: the stream has ended, and the stored and charged result is being looked up. */
  phase: 'sending' | 'streaming' | 'settling' | 'stored' | 'failed'
  turnId?: string
  note?: ReplyNote
}

/** Data about a stored turn that is known only because it ran here. */
export type TurnExtras = {
  key: string
  parts: readonly ReplyPart[]
  usage: ChatUsage | undefined
  costUsd: string | undefined
  note: ReplyNote | undefined
}

export type LiveState = {
  exchange: LiveExchange | undefined
  refusal: { error: unknown; at: number } | undefined
  extras: ReadonlyMap<string, TurnExtras>
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

/** True if the service has already received a message with this key. */
export function isKeyUsed({ event, thrown }: StreamEnd): boolean {
  return event === undefined && thrown instanceof ErrandClientError && thrown.code === 'CONFLICT'
}

/** True for a failed reply that was not charged and therefore not stored. */
export function isFree({ event }: StreamEnd): boolean {
  return event?.type === 'error' && event.costUsd !== undefined && !/[1-9]/.test(event.costUsd)
}

/** True if the service rejected the message before starting. Otherwise it may have been charged. */
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
