import type { AttachedFile } from '../compose/attached-files.ts'
import { ErrandClientError, type ChatEvent, type ChatUsage, type Message } from '../../../../client/client.ts'
import { usdText } from '../../../parts/text/usd-text.ts'
import { textOf, type ReplyPart } from './live-reply.ts'

/**
 * The reason why a reply is incomplete. `code` is an error code of the service or one of the console's own codes:
 * - `STOPPED`: the user stopped the reply.
 * - `BROKEN`: the connection was lost.
 * - `RELOADED`: the page was reloaded.
 * - `REFUSED`: the service rejected the message.
 * - `LOOKING_UP`: the service does not respond, and the console retries.
 * - `UNKNOWN`: the console could not find out what was stored.
 */
export type ReplyNote = {
  code: string
  message: string
  costUsd: string | undefined
  requestId: string | undefined
  /** Whether the message was put back into the composer, where the user may have changed it. */
  isBack?: boolean
  /** Whether the earlier reply is kept, although this one was meant to replace it. */
  isKept?: boolean
}

/** A message and its reply, until the session's stored messages include both. */
export type LiveExchange = {
  key: string
  /** Undefined for another client's message until that message is stored. */
  message: string | undefined
  files: readonly AttachedFile[]
  replaces?: string | undefined
  parts: readonly ReplyPart[]
  /** `settling` means that the stream has ended and the console is looking up what was stored and charged. */
  phase: 'sending' | 'streaming' | 'settling' | 'stored' | 'failed'
  turnId?: string
  note?: ReplyNote
}

/** Data about a stored turn that only this tab has, because it read the turn's stream. */
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

/** Whether the service has already received a message with this idempotency key. */
export function isKeyUsed({ event, thrown }: StreamEnd): boolean {
  return event === undefined && thrown instanceof ErrandClientError && thrown.code === 'CONFLICT'
}

/** Whether the reply failed without a charge. Such replies are not stored either. */
export function isFree({ event }: StreamEnd): boolean {
  return event?.type === 'error' && event.costUsd !== undefined && !/[1-9]/.test(event.costUsd)
}

/** Whether the service rejected the message before starting a reply. Otherwise the message may have been charged. */
export function isRefusal({ event, thrown }: StreamEnd): boolean {
  if (event || !(thrown instanceof ErrandClientError)) return false
  return thrown.code === 'INVALID_ARGUMENT' || (thrown.status !== undefined && thrown.code !== 'BAD_RESPONSE')
}

export function noteOf({ event, requestId, thrown }: StreamEnd, isStopped: boolean): ReplyNote {
  const costUsd = event?.costUsd
  if (isStopped) return { code: 'STOPPED', message: 'You stopped this reply.', costUsd, requestId }
  if (event?.type === 'error') return { ...event.error, costUsd, requestId }
  return thrown === undefined
    ? { code: 'RELOADED', message: 'You left this page during the reply.', costUsd: undefined, requestId }
    : { code: 'BROKEN', message: 'The connection was lost during the reply.', costUsd: undefined, requestId }
}

export function unknownNote(code: 'LOOKING_UP' | 'UNKNOWN', { requestId }: StreamEnd): ReplyNote {
  const message = 'The service is not responding. Your message may have been stored and charged.'
  return { code, message, costUsd: undefined, requestId }
}

export function announce(reply: Message | undefined, { costUsd, parts }: TurnExtras): string {
  const text = textOf(parts)
  const start = text.length > announcedCharsMax ? `${text.slice(0, announcedCharsMax)}…` : text
  const how = reply?.truncated ? 'The reply was cut off' : 'The reply is complete'
  return `${how}${costUsd === undefined ? '' : ` and cost ${usdText(costUsd)}`}: ${start}`
}
