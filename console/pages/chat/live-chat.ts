import {
  ErrandClientError,
  type ChatEvent,
  type ChatStream,
  type ChatUsage,
  type Message,
} from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { whenLeaving } from '../../app/leave-console.ts'
import { leaveWhenLoggedOut, queryClient } from '../../app/query-client.ts'
import { accountKey } from '../../app/use-account.ts'
import { forgetSession, putBack, rememberSent, sentOf, type ChatParams } from './chat-drafts.ts'
import { closeParts, LiveReply, textOf, truestParts, type ReplyPart } from './live-reply.ts'
import { nextTask, PaintLoop } from './paint-loop.ts'
import { awaitStored, readStored, type StoredTurn } from './stored-turn.ts'
import { keep, known } from './transcript.ts'
import { usdText } from '../../parts/usd-text.ts'

/** Why a reply is not whole; `code` is the service's, or `STOPPED` by the reader, or `BROKEN` with the connection. */
export type ReplyNote = { code: string; message: string; costUsd: string | undefined; requestId: string | undefined }

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
type StreamEnd = { event: TerminalEvent | undefined; thrown: unknown; requestId: string | undefined }

/** How long events are taken in before the page may do something else. */
const sliceMs = 8
const announcedCharsMax = 600
const idleChatsMax = 20

/**
 * The replies of one session. They go on while another page of the console is open.
 *
 *   idle ──send──▶ sending ──first event──▶ streaming ──the stream ends──▶ settling ──▶ stored | failed
 *                     └──refused──▶ idle, the message back in the box
 */
export class LiveChat {
  readonly sessionId: string
  readonly #listeners = new Set<() => void>()
  #state: LiveState = { exchange: undefined, refusal: undefined, extras: new Map(), announcement: '' }
  #stream: ChatStream | undefined
  #isStopped = false
  #isAbandoned = false
  #count = 0

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
    const before = known(this.sessionId)
    const total = before ? before.from + before.messages.length : 0
    rememberSent(this.sessionId, { message, total })
    this.#isStopped = false
    this.#set({ exchange: this.#begin(message, 'sending'), refusal: undefined, announcement: '' })
    const reply = new LiveReply()
    const end = await this.#read(message, { params, reply })
    if (this.#isAbandoned) return
    const parts = closeParts(reply.parts())
    if (isRefusal(end)) return this.#refuse(message, end.thrown)
    this.#change({ parts, phase: 'settling' })
    await this.#settle({ message, total, parts, end })
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

  async #read(message: string, { params, reply }: { params: ChatParams; reply: LiveReply }): Promise<StreamEnd> {
    const { sessionId } = this
    const hasParams = Object.keys(params).length > 0
    const stream = client.chat.stream({ sessionId, message, ...(hasParams && { params }) })
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
    this.#set({ refusal: { error, at: Date.now() } })
    leaveWhenLoggedOut(error)
    // Whatever the page believes of the session and the balance is out of date.
    this.#renew()
  }

  async #settle(of: { message: string; total: number; parts: readonly ReplyPart[]; end: StreamEnd }): Promise<void> {
    const { end, message, total } = of
    const turn = { sessionId: this.sessionId, message, total }
    try {
      // With its last event a reply is settled; without it, the service does so when it finds that nobody reads.
      const stored = end.event ? await readStored(turn) : await awaitStored(turn)
      if (this.#isAbandoned) return
      if (stored) this.#adopt(stored, of)
      else this.#fail(message, this.#noteOf(end))
    } catch (error) {
      if (this.#isAbandoned) return
      leaveWhenLoggedOut(error)
      if (error instanceof ErrandClientError && error.status === 404) return this.#forget()
      const lost = { code: 'UNKNOWN', costUsd: undefined, requestId: end.requestId }
      this.#fail(message, {
        ...lost,
        message: 'The service does not answer, so it is not known whether this message was stored and charged.',
      })
    }
    this.#renew()
  }

  #adopt(stored: StoredTurn, { end, parts }: { end: StreamEnd; parts: readonly ReplyPart[] }): void {
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
        exchange: { ...exchange, parts: extras.parts, phase: 'stored', turnId },
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

  #fail(message: string, note: ReplyNote): void {
    if (note.code !== 'UNKNOWN') rememberSent(this.sessionId, undefined)
    putBack(this.sessionId, message)
    this.#change({ phase: 'failed', note })
    this.#set({ announcement: '' })
  }

  #noteOf({ event, requestId, thrown }: StreamEnd): ReplyNote {
    if (event?.type === 'error') return { ...event.error, costUsd: event.costUsd, requestId }
    if (this.#isStopped) return { code: 'STOPPED', message: 'You stopped this reply.', costUsd: undefined, requestId }
    return thrown === undefined
      ? { code: 'RELOADED', message: 'This page was left during the reply.', costUsd: undefined, requestId }
      : { code: 'BROKEN', message: 'The connection was lost during the reply.', costUsd: undefined, requestId }
  }

  #renew(): void {
    for (const queryKey of [['session', this.sessionId], ['sessions'], ['transactions'], ['usage'], accountKey]) {
      void queryClient.invalidateQueries({ queryKey })
    }
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
