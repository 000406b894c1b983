import {
  ErrandClientError,
  newIdempotencyKey,
  type ChatEvent,
  type ChatStream,
  type ChatUsage,
  type Message,
} from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { whenLeaving } from '../../../app/leave-console.ts'
import { pauseOrOnline } from '../../../app/load-part.ts'
import { leaveWhenLoggedOut, mayPass } from '../../../app/query-client.ts'
import { forgetSession, putBack, rememberSent, sentOf, type ChatParams, type SentMessage } from './chat-drafts.ts'
import { closeParts, LiveReply, textOf, truestParts, type ReplyPart } from './live-reply.ts'
import { nextTask, PaintLoop } from '../reply/paint-loop.ts'
import { awaitStored, readStored, type StoredTurn } from './stored-turn.ts'
import { listenToTabs, renewMoney, renewSession, tellTabs } from '../list/session-news.ts'
import { keep, known, readNew } from './transcript.ts'
import { usdText } from '../../../parts/text/usd-text.ts'

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
  message: string
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

type TerminalEvent = Extract<ChatEvent, { type: 'done' | 'error' }>
type Sent = { message: string; params: ChatParams; idempotencyKey: string }
type StreamEnd = { event: TerminalEvent | undefined; thrown: unknown; requestId: string | undefined }
type Settling = SentMessage & { parts: readonly ReplyPart[]; end: StreamEnd }

/** How long events are taken in before the page may do something else. */
const sliceMs = 8
const announcedCharsMax = 600
const idleChatsMax = 20
/** So long after the service did not answer it is asked again. */
const askAgainMs = 3000
/** How often is looked whether a message that is answered elsewhere has been. */
const followMs = 2000
const followLooksMax = 600

/**
 * The replies of one session. They go on while another page of the console is open.
 *
 *   idle ──send──▶ sending ──first event──▶ streaming ──the stream ends──▶ settling ──▶ stored | failed
 *                     └──refused──▶ idle, the message back in the box
 *
 * Settling goes on for as long as the service is away: whether a message was stored and charged is never guessed.
 */
export class LiveChat {
  readonly sessionId: string
  readonly #listeners = new Set<() => void>()
  #state: LiveState = { exchange: undefined, refusal: undefined, extras: new Map(), announcement: '' }
  #stream: ChatStream | undefined
  #isStopped = false
  #isAbandoned = false
  #count = 0
  /** A message whose connection was lost: sent again as it is, it has the same key, and so runs once. */
  #uncertain: { message: string; idempotencyKey: string } | undefined
  #following: symbol | undefined

  constructor(sessionId: string) {
    this.sessionId = sessionId
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly getState = (): LiveState => this.#state

  get isBusy(): boolean {
    return isUnderWay(this.#state.exchange)
  }

  /** Sends a message unless one is being answered. */
  async send(message: string, params: ChatParams): Promise<void> {
    if (this.isBusy) return
    const key = this.#uncertain?.message === message ? this.#uncertain.idempotencyKey : newIdempotencyKey()
    await this.#send({ message, params, idempotencyKey: key })
  }

  async #send(sent: Sent): Promise<void> {
    const { idempotencyKey, message } = sent
    const before = known(this.sessionId)
    const total = before ? before.from + before.messages.length : 0
    this.#uncertain = undefined
    this.#following = undefined
    rememberSent(this.sessionId, { message, total, idempotencyKey })
    this.#isStopped = false
    this.#set({ exchange: this.#begin(message, 'sending'), refusal: undefined, announcement: '' })
    const reply = new LiveReply()
    const end = await this.#read(sent, reply)
    if (this.#isAbandoned) return
    const parts = closeParts(reply.parts())
    const isUsed = isKeyUsed(end)
    if (!isUsed && isRefusal(end)) return this.#refuse(message, end.thrown)
    this.#change({ parts, phase: 'settling' })
    const settling = { message, total, idempotencyKey, parts, end }
    // The service had the message before. When nothing came of it, this is a new one.
    if (!isUsed) return await this.#settle(settling)
    const found = await this.#lookUp(settling)
    if (found === 'over') return
    if (!found) return await this.#send({ ...sent, idempotencyKey: newIdempotencyKey() })
    this.#adopt(found, { parts, end: { ...end, thrown: undefined } })
    this.#renew()
  }

  /** Ends the reply; what was written until then is charged and stored. */
  stop(): void {
    if (!this.#stream || this.#isStopped) return
    this.#isStopped = true
    this.#change({ phase: 'settling' })
    void this.#stream.return()
  }

  /** Ends the reply and keeps nothing of it: the login has ended. */
  abandon(): void {
    this.#isAbandoned = true
    void this.#stream?.return()
  }

  /** Looks up what became of a message that was sent before the page was loaded anew. */
  async recover(): Promise<void> {
    const sent = sentOf(this.sessionId)
    if (!sent || this.isBusy) return
    this.#set({ exchange: this.#begin(sent.message, 'settling') })
    await this.#settle({ ...sent, parts: [], end: { event: undefined, thrown: undefined, requestId: undefined } })
  }

  /** Takes away what is said about a message that failed. */
  dismiss(): void {
    if (!this.isBusy) this.#set({ exchange: undefined, refusal: undefined })
  }

  async #read({ idempotencyKey, message, params }: Sent, reply: LiveReply): Promise<StreamEnd> {
    const { sessionId } = this
    const hasParams = Object.keys(params).length > 0
    const stream = client.chat.stream({ sessionId, message, ...(hasParams && { params }) }, { idempotencyKey })
    this.#stream = stream
    const paint = new PaintLoop(() => this.#change({ parts: reply.parts(), phase: 'streaming' }))
    let event: TerminalEvent | undefined
    let thrown: unknown
    let until = performance.now() + sliceMs
    try {
      for await (const next of stream) {
        if (next.type === 'done' || next.type === 'error') event = next
        else reply.add(next)
        if (!this.#isStopped) paint.request()
        if (performance.now() < until) continue
        await nextTask()
        until = performance.now() + sliceMs
      }
    } catch (error) {
      thrown = error
    }
    paint.finish()
    this.#stream = undefined
    return { event, thrown, requestId: stream.requestId }
  }

  #refuse(message: string, error: unknown): void {
    rememberSent(this.sessionId, undefined)
    const note = { code: 'REFUSED', message: 'It was not taken.', costUsd: undefined, requestId: undefined }
    const isBack = putBack(this.sessionId, message)
    if (isBack) this.#set({ exchange: undefined })
    else this.#change({ phase: 'failed', note })
    const refusal = { error, at: Date.now() }
    this.#set({ refusal })
    leaveWhenLoggedOut(error)
    // Whatever the page believes of the session and the balance is out of date.
    renewMoney(this.sessionId)
    if (isBusyRefusal(refusal)) void this.#follow()
  }

  /** Another tab or program had a turn of this session. */
  hear(): void {
    this.#following = undefined
    renewSession(this.sessionId)
    if (!isBusyRefusal(this.#state.refusal)) return
    this.#set({ refusal: undefined, announcement: 'The other message was answered. You can send yours.' })
  }

  /** While another message of the session is answered elsewhere: looks until it is. */
  async #follow(): Promise<void> {
    const own = (this.#following = Symbol('message that is answered elsewhere'))
    let wasHeld = false
    for (let looks = 0; looks < followLooksMax; looks++) {
      await new Promise((resolve) => setTimeout(resolve, followMs))
      if (this.#following !== own || this.#isAbandoned) return
      if (document.hidden) continue
      try {
        const { messages } = await readNew(this.sessionId)
        const isHeld = (await client.account.get()).heldUsd !== '0.0000'
        if (this.#following !== own || this.#isAbandoned) return
        // A reply that failed leaves no message, but what it held is free again.
        if (messages.length > 0 || (wasHeld && !isHeld)) return this.hear()
        wasHeld ||= isHeld
      } catch (error) {
        leaveWhenLoggedOut(error)
        if (!mayPass(error)) return
      }
    }
  }

  async #settle(of: Settling): Promise<void> {
    const found = await this.#lookUp(of)
    if (found === 'over') return
    if (found) this.#adopt(found, of)
    else this.#fail(of, this.#noteOf(of.end))
    this.#renew()
  }

  /** What became of a message, however long the service is away; `over` when there is nothing more to do. */
  async #lookUp(of: Settling): Promise<StoredTurn | undefined | 'over'> {
    const { end, message, total } = of
    const turn = { sessionId: this.sessionId, message, total }
    for (;;) {
      try {
        // With its last event a reply is settled; without it, the service does so when it finds that nobody reads.
        const stored = end.event ? await readStored(turn) : await awaitStored(turn)
        return this.#isAbandoned ? 'over' : stored
      } catch (error) {
        if (this.#isAbandoned) return 'over'
        leaveWhenLoggedOut(error)
        const status = error instanceof ErrandClientError ? error.status : undefined
        if (status === 404) this.#forget()
        // It is looked up when the chat is opened after the login.
        else if (status === 401) this.#set({ exchange: undefined })
        else if (!mayPass(error)) this.#fail(of, this.#unknownNote('UNKNOWN', end))
        else {
          this.#change({ note: this.#unknownNote('LOOKING_UP', end) })
          await pauseOrOnline(askAgainMs)
          if (this.#isAbandoned) return 'over'
          continue
        }
        return 'over'
      }
    }
  }

  #adopt(stored: StoredTurn, { end, parts }: Pick<Settling, 'end' | 'parts'>): void {
    const { exchange } = this.#state
    const { page, reply, turnId } = stored
    rememberSent(this.sessionId, undefined)
    if (exchange) {
      const done = end.event?.type === 'done' ? end.event : undefined
      const extras: TurnExtras = {
        key: exchange.key,
        parts: reply ? truestParts(parts, reply) : parts,
        usage: done?.usage,
        costUsd: end.event?.costUsd,
        note: reply?.truncated ? this.#noteOf(end) : undefined,
      }
      this.#set({
        exchange: { key: exchange.key, message: exchange.message, parts: extras.parts, phase: 'stored', turnId },
        extras: new Map(this.#state.extras).set(turnId, extras),
        announcement: announce(reply, extras),
      })
    }
    // After the extras, so that the turn is never to be seen twice.
    keep(this.sessionId, page)
  }

  /** The session was deleted while the reply was written. */
  #forget(): void {
    forgetSession(this.sessionId)
    this.#set({ exchange: undefined, announcement: '' })
    this.#renew()
  }

  #fail({ idempotencyKey, message }: Settling, note: ReplyNote): void {
    const { code } = note
    if (code !== 'UNKNOWN') rememberSent(this.sessionId, undefined)
    if (code === 'UNKNOWN' || code === 'BROKEN' || code === 'RELOADED') this.#uncertain = { message, idempotencyKey }
    this.#change({ phase: 'failed', note: { ...note, isBack: putBack(this.sessionId, message) } })
    this.#set({ announcement: '' })
  }

  #unknownNote(code: 'LOOKING_UP' | 'UNKNOWN', { requestId }: StreamEnd): ReplyNote {
    const message = 'The service does not answer, so it is not known yet whether this message was stored and charged.'
    return { code, message, costUsd: undefined, requestId }
  }

  #noteOf({ event, requestId, thrown }: StreamEnd): ReplyNote {
    if (event?.type === 'error') return { ...event.error, costUsd: event.costUsd, requestId }
    if (this.#isStopped) return { code: 'STOPPED', message: 'You stopped this reply.', costUsd: undefined, requestId }
    return thrown === undefined
      ? { code: 'RELOADED', message: 'This page was left during the reply.', costUsd: undefined, requestId }
      : { code: 'BROKEN', message: 'The connection was lost during the reply.', costUsd: undefined, requestId }
  }

  #renew(): void {
    renewMoney(this.sessionId)
    tellTabs(this.sessionId)
  }

  #begin(message: string, phase: LiveExchange['phase']): LiveExchange {
    const key = `live-${this.sessionId}-${++this.#count}`
    return { key, message, parts: [], phase }
  }

  #change(change: Partial<LiveExchange>): void {
    const { exchange } = this.#state
    if (exchange) this.#set({ exchange: { ...exchange, ...change } })
  }

  #set(change: Partial<LiveState>): void {
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }
}

export function isUnderWay(exchange: LiveExchange | undefined): boolean {
  return exchange !== undefined && exchange.phase !== 'stored' && exchange.phase !== 'failed'
}

function isBusyRefusal(refusal: LiveState['refusal']): boolean {
  return refusal?.error instanceof ErrandClientError && refusal.error.code === 'SESSION_BUSY'
}

/** Whether the service has had a message with this key already. */
function isKeyUsed({ event, thrown }: StreamEnd): boolean {
  return event === undefined && thrown instanceof ErrandClientError && thrown.code === 'CONFLICT'
}

/** Whether the service said no before it began; anything else may have been charged. */
function isRefusal({ event, thrown }: StreamEnd): boolean {
  if (event || !(thrown instanceof ErrandClientError)) return false
  return thrown.code === 'INVALID_ARGUMENT' || (thrown.status !== undefined && thrown.code !== 'BAD_RESPONSE')
}

function announce(reply: Message | undefined, { costUsd, parts }: TurnExtras): string {
  const text = textOf(parts)
  const start = text.length > announcedCharsMax ? `${text.slice(0, announcedCharsMax)}…` : text
  const how = reply?.truncated ? 'The reply was cut off' : 'The reply is complete'
  return `${how}${costUsd === undefined ? '' : ` and cost ${usdText(costUsd)}`}: ${start}`
}

const chats = new Map<string, LiveChat>()
whenLeaving(() => {
  for (const chat of chats.values()) chat.abandon()
  chats.clear()
})

// Of a chat that is not open here there is nothing to forget but what is known of it.
listenToTabs((sessionId) => {
  const chat = chats.get(sessionId)
  if (chat) chat.hear()
  else renewSession(sessionId)
})

export function liveChatOf(sessionId: string): LiveChat {
  let chat = chats.get(sessionId)
  if (!chat) {
    const idle = Array.from(chats.values()).find(({ isBusy }) => !isBusy)
    if (chats.size >= idleChatsMax && idle) chats.delete(idle.sessionId)
    chat = new LiveChat(sessionId)
    chats.set(sessionId, chat)
  }
  return chat
}
