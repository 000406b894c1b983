import { ErrandClientError, newIdempotencyKey, type ChatStream } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { beforeLoggingOut, whenLeaving } from '../../../app/leave-console.ts'
import { pauseOrOnline } from '../../../app/load-part.ts'
import { leaveWhenLoggedOut, mayPass } from '../../../app/query-client.ts'
import { announced } from './announced.ts'
import { forgetSession, putBack, rememberSent, sentOf, type ChatParams, type SentMessage } from './chat-drafts.ts'
import {
  announce,
  isBusyRefusal,
  isFree,
  isKeyUsed,
  isRefusal,
  isUnderWay,
  noteOf,
  unknownNote,
  type LiveExchange,
  type LiveState,
  type ReplyNote,
  type StreamEnd,
  type TerminalEvent,
  type TurnExtras,
} from './live-exchange.ts'
import { closeParts, LiveReply, truestParts, type ReplyPart } from './live-reply.ts'
import { nextTask, PaintLoop } from '../reply/paint-loop.ts'
import type { AttachedFile } from '../compose/attached-files.ts'
import { areSame, messageOf, type Replaced } from './sent-message.ts'
import { awaitStored, readStored, type StoredTurn } from './stored-turn.ts'
import { listenToTabs, renewMoney, renewSession, showReplying, tellTabs } from '../list/session-news.ts'
import { keep, known, readNew } from './transcript.ts'

type Sent = {
  message: string
  files: readonly AttachedFile[]
  params: ChatParams
  replaced: Replaced | undefined
  idempotencyKey: string
  isAgain: boolean
}
type Settling = Omit<SentMessage, 'message' | 'replaces'> & {
  message: string | undefined
  files: readonly AttachedFile[]
  replaced?: Replaced | undefined
  parts: readonly ReplyPart[]
  end: StreamEnd
}

/** How long to process events before yielding to the browser. */
const sliceMs = 8
const idleChatsMax = 20
const askAgainMs = 3000
/** Poll interval while the session is busy with another client's message. */
const followMs = 2000
const followPollsMax = 600

/**
 * The replies of one session. A reply continues when the user opens another page, or reloads or closes this one.
 * Opening the session again resumes the reply.
 *
 *   idle ──send──▶ sending ──first event──▶ streaming ──the stream ends──▶ settling ──▶ stored | failed
 *                     └──refused──▶ idle, the message back in the composer
 *
 * Settling lasts as long as the service is unreachable, because the console never guesses whether a message was
 * charged.
 */
export class LiveChat {
  readonly sessionId: string
  readonly #listeners = new Set<() => void>()
  #state: LiveState = { exchange: undefined, refusal: undefined, extras: new Map(), announcement: '' }
  #stream: ChatStream | undefined
  #isStopped = false
  #isAbandoned = false
  #count = 0
  /** A message whose outcome is unknown. If sent again unchanged, it keeps its key and is charged only once. */
  #uncertain: Pick<Sent, 'message' | 'files' | 'replaced' | 'idempotencyKey'> | undefined
  #following: symbol | undefined
  #isRecovering = false

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

  /** Sends a message unless a reply is already in progress. The message can replace the last exchange. */
  async send(
    message: string,
    params: ChatParams,
    { files = [], replaced }: { files?: readonly AttachedFile[]; replaced?: Replaced } = {},
  ): Promise<void> {
    if (this.isBusy) return
    // Logging out must have failed, because the user is still here.
    this.#isAbandoned = false
    const before = this.#uncertain
    const isSame = before?.message === message && before.replaced?.turnId === replaced?.turnId
    const isAgain = isSame && areSame(before.files, files)
    const idempotencyKey = isAgain ? before.idempotencyKey : newIdempotencyKey()
    await this.#send({ message, files, params, replaced, idempotencyKey, isAgain })
  }

  async #send(sent: Sent): Promise<void> {
    const { files, idempotencyKey, message, replaced } = sent
    const again = replaced ? { replaces: replaced.turnId } : {}
    const before = known(this.sessionId)
    const total = before ? before.from + before.messages.length : 0
    this.#uncertain = undefined
    this.#following = undefined
    rememberSent(this.sessionId, { message, total, idempotencyKey, ...again })
    this.#isStopped = false
    this.#set({ exchange: this.#begin({ ...sent, ...again }, 'sending'), refusal: undefined, announcement: '' })
    showReplying(this.sessionId, message)
    const reply = new LiveReply()
    const hasParams = Object.keys(sent.params).length > 0
    const content = await messageOf(message, files, replaced?.files).catch((error: unknown) => ({ error }))
    if (typeof content === 'object' && 'error' in content) return this.#refuse(sent, content.error)
    const input = { sessionId: this.sessionId, message: content, ...(hasParams && { params: sent.params }) }
    const stream = client.chat.stream({ ...input, ...again, onDisconnect: 'continue' }, { idempotencyKey })
    const end = await this.#read(stream, reply)
    if (this.#isAbandoned) return
    const parts = closeParts(reply.parts())
    const isUsed = isKeyUsed(end)
    if (!isUsed && isRefusal(end)) return this.#refuse(sent, end.thrown)
    const anew = { ...sent, idempotencyKey: newIdempotencyKey(), isAgain: false }
    // The service already had this message and did not charge it, so send it again with a new key.
    if (sent.isAgain && isFree(end)) return await this.#send(anew)
    this.#change({ parts, phase: 'settling' })
    const settling = { message, files, replaced, total, idempotencyKey, parts, end }
    // If the service already had a message with this key, look up its outcome. If that message was not stored, send it
    // again with a new key.
    if (!isUsed) return await this.#settle(settling)
    const found = await this.#lookUp(settling)
    if (found === 'over') return
    if (!found) return await this.#send(anew)
    this.#adopt(found, { parts, end: { ...end, thrown: undefined } })
    this.#renew()
  }

  stop(): void {
    if (!this.#stream || this.#isStopped) return
    this.#isStopped = true
    this.#change({ phase: 'settling' })
    void this.#end()
  }

  /** Tells the service to stop the reply. The last stream event then contains the outcome. */
  async #end(): Promise<void> {
    const stream = this.#stream
    if (!stream) return
    const { turnId } = stream
    // If the reply has not started, ending the request is enough.
    if (turnId === undefined) return void (await stream.return())
    await client.chat.stop({ turnId }).catch(() => stream.return())
  }

  /** Drops all state of the reply. Tells the service to stop the reply only if the user is still logged in. */
  async abandon({ isLoggedIn }: { isLoggedIn: boolean }): Promise<void> {
    this.#isAbandoned = true
    this.#set({ exchange: undefined })
    await (isLoggedIn ? this.#end() : this.#stream?.return())
  }

  /**
   * Follows the reply in progress, whichever client sent its message. If there is none, looks up the outcome of a
   * message that was sent before the page was reloaded.
   */
  async recover(): Promise<void> {
    const sent = sentOf(this.sessionId)
    if (this.isBusy || this.#isRecovering) return
    this.#isRecovering = true
    const message = sent?.message
    const begun = { message, files: [], replaces: sent?.replaces }
    if (sent) this.#set({ exchange: this.#begin(begun, 'settling') })
    const reply = new LiveReply()
    const end = await this.#read(client.chat.resumeSession({ sessionId: this.sessionId }), reply, () => {
      if (!sent) this.#set({ exchange: this.#begin(begun, 'streaming') })
    })
    this.#isRecovering = false
    if (this.#isAbandoned || (!sent && end.turnId === undefined)) return
    const before = known(this.sessionId)
    const total = sent?.total ?? (before ? before.from + before.messages.length : 0)
    const parts = closeParts(reply.parts())
    this.#change({ parts, phase: 'settling' })
    await this.#settle({ idempotencyKey: newIdempotencyKey(), ...sent, message, files: [], total, parts, end })
  }

  dismiss(): void {
    if (!this.isBusy) this.#set({ exchange: undefined, refusal: undefined })
  }

  async #read(stream: ChatStream, reply: LiveReply, onBegin?: () => void): Promise<StreamEnd> {
    this.#isStopped = false
    this.#stream = stream
    const paint = new PaintLoop(() => this.#change({ parts: reply.parts(), phase: 'streaming' }))
    let event: TerminalEvent | undefined
    let thrown: unknown
    let until = performance.now() + sliceMs
    try {
      for await (const next of stream) {
        onBegin?.()
        onBegin = undefined
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
    return { event, thrown, requestId: stream.requestId, turnId: stream.turnId }
  }

  #refuse({ files, message, replaced }: Sent, error: unknown): void {
    rememberSent(this.sessionId, undefined)
    const note = { code: 'REFUSED', message: 'The message was rejected.', costUsd: undefined, requestId: undefined }
    // If the message was resent unchanged, the conversation still contains it.
    const isBack = replaced?.isSame || putBack(this.sessionId, message, files)
    if (isBack) this.#set({ exchange: undefined })
    else this.#change({ phase: 'failed', note })
    const refusal = { error, at: Date.now() }
    this.#set({ refusal })
    leaveWhenLoggedOut(error)
    // The rejection shows that the cached session or balance may be outdated.
    renewMoney(this.sessionId)
    if (isBusyRefusal(refusal)) void this.#follow()
  }

  /** Called when another tab or program has finished a turn in this session. */
  hear(): void {
    this.#following = undefined
    renewSession(this.sessionId)
    if (!isBusyRefusal(this.#state.refusal)) return
    this.#set({ refusal: undefined, announcement: 'The other reply is complete. You can send your message now.' })
  }

  async #follow(): Promise<void> {
    const own = (this.#following = Symbol('message that is answered elsewhere'))
    let wasHeld = false
    for (let looks = 0; looks < followPollsMax; looks++) {
      await new Promise((resolve) => setTimeout(resolve, followMs))
      if (this.#following !== own || this.#isAbandoned) return
      if (document.hidden) continue
      try {
        const { messages } = await readNew(this.sessionId)
        const isHeld = (await client.account.get()).heldUsd !== '0.0000'
        if (this.#following !== own || this.#isAbandoned) return
        // A failed reply stores no message, but the service releases the money reserved for it.
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
    else this.#fail(of, noteOf(of.end, this.#isStopped))
    this.#renew()
  }

  /**
   * Looks up the outcome of a message. Retries while the service is unreachable. Returns `over` if nothing remains to
   * be done.
   */
  async #lookUp(of: Settling): Promise<StoredTurn | undefined | 'over'> {
    const { end, message, total } = of
    const turn = { sessionId: this.sessionId, turnId: end.turnId, message, total }
    for (;;) {
      try {
        // A reply is settled when its last event arrives. Without that event, the service settles the reply once it
        // notices that the reader is gone.
        const stored = end.event ? await readStored(turn) : await awaitStored(turn)
        return this.#isAbandoned ? 'over' : stored
      } catch (error) {
        if (this.#isAbandoned) return 'over'
        leaveWhenLoggedOut(error)
        const status = error instanceof ErrandClientError ? error.status : undefined
        if (status === 404) this.#forget()
        // After the next login, opening the chat looks up the outcome.
        else if (status === 401) this.#set({ exchange: undefined })
        else if (!mayPass(error)) this.#fail(of, unknownNote('UNKNOWN', end))
        else {
          this.#change({ note: unknownNote('LOOKING_UP', end) })
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
      const { files, key, message, replaces } = exchange
      const done = end.event?.type === 'done' ? end.event : undefined
      const extras: TurnExtras = {
        key,
        parts: reply ? truestParts(parts, reply) : parts,
        usage: done?.usage,
        costUsd: end.event?.costUsd,
        note: reply?.truncated ? noteOf(end, this.#isStopped) : undefined,
      }
      this.#set({
        exchange: { key, message, files, replaces, parts: extras.parts, phase: 'stored', turnId },
        extras: new Map(this.#state.extras).set(turnId, extras),
        announcement: announce(reply, extras),
      })
    }
    // Cache the page after setting the extras, so that the turn never appears twice.
    keep(this.sessionId, page)
  }

  #forget(): void {
    forgetSession(this.sessionId)
    this.#set({ exchange: undefined, announcement: '' })
    this.#renew()
  }

  #fail({ files, idempotencyKey, message, replaced }: Settling, note: ReplyNote): void {
    const { code } = note
    if (code !== 'UNKNOWN') rememberSent(this.sessionId, undefined)
    if (code === 'UNKNOWN' || code === 'BROKEN' || code === 'RELOADED')
      this.#uncertain = message === undefined ? undefined : { message, files, replaced, idempotencyKey }
    const isKept = replaced?.isSame === true
    const isBack = !isKept && message !== undefined && putBack(this.sessionId, message, files)
    this.#change({ phase: 'failed', note: { ...note, isBack, isKept } })
    this.#set({ announcement: '' })
  }

  #renew(): void {
    renewMoney(this.sessionId)
    tellTabs(this.sessionId)
  }

  #begin(of: Pick<LiveExchange, 'files' | 'message' | 'replaces'>, phase: LiveExchange['phase']): LiveExchange {
    const { files, message, replaces } = of
    return { key: `live-${this.sessionId}-${++this.#count}`, message, files, replaces, parts: [], phase }
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

const chats = new Map<string, LiveChat>()

const abandonAll = (of: { isLoggedIn: boolean }) => Promise.all(Array.from(chats.values(), (chat) => chat.abandon(of)))
// Keep the chats until the login has ended. Otherwise a page could recreate a chat, which would look up the outcome of
// its last message.
beforeLoggingOut(() => abandonAll({ isLoggedIn: true }))
whenLeaving(() => {
  void abandonAll({ isLoggedIn: false })
  chats.clear()
})

// If the chat is not open in this tab, only its cached queries are outdated.
listenToTabs((sessionId) => {
  const chat = chats.get(sessionId)
  if (chat) chat.hear()
  else renewSession(sessionId)
})

export function liveChatOf(sessionId: string): LiveChat {
  const open = chats.get(sessionId)
  if (open) return open
  const idle = Array.from(chats.values()).find(({ isBusy }) => !isBusy)
  if (chats.size >= idleChatsMax && idle) chats.delete(idle.sessionId)
  const chat = announced(new LiveChat(sessionId))
  chats.set(sessionId, chat)
  return chat
}
