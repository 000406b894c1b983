import type { RateState } from '../store/limits/limit-types.ts'
import type { Agent, Catalogue } from '../agents/config/catalogue.ts'
import { ratesForModels, type ChatRates } from '../billing/chat-price.ts'
import { storedRates } from '../billing/written-rates.ts'
import { nothingUsed } from '../store/sessions/turn-endings.ts'
import { assertSignedIn, type ConnectorAccess } from '../connectors/connector-access.ts'
import { budgetRefusal, limitRefusal } from '../billing/refusals.ts'
import type { EpochMs } from '../kernel/clock.ts'
import type { Place } from '../kernel/fair-places.ts'
import { newId } from '../kernel/ids.ts'
import type { Units } from '../kernel/money.ts'
import type { Quotes } from '../billing/quotes.ts'
import type { History, SessionRecord } from '../store/sessions/session-types.ts'
import type { Idempotency } from '../store/tasks/task-types.ts'
import type { WireRequest } from '../store/requests/wire-request-types.ts'
import { admissible, type Admissible, type Ask } from './admissible-message.ts'
import { busy, clientLeft, turnRefusal, type RefusedTurn } from './chat-refusals.ts'
import { ChatTurn } from './chat-turn.ts'
import type { ChatTurnParts } from './turn-start.ts'
import {
  bodyHashOf,
  earlierTokens,
  given,
  leastOf,
  maxCostOf,
  modelParams,
  subjectOf,
  titleOf,
} from './message-input.ts'
import { KeptTurns } from './events/kept-turns.ts'
import { ReadTurns } from './events/read-turns.ts'
import type { TurnReader } from './events/turn-feed.ts'
import { keyIdOf } from '../procedures/caller.ts'
import { foreseeRefusal } from './foresee-refusal.ts'
import { noFiles, TurnFiles, type TurnFilesParts } from './files/turn-files.ts'
import { openTurn } from './open-turn.ts'
import { settleWithRetries } from './settle-turn.ts'
import { traceParentOf } from '../kernel/tracing/trace-parent.ts'
import { isCached, weighMessage, type Weighed, type WeighMessage, type WeighParts } from './weigh-message.ts'

export type ChatTurnsParts = ChatTurnParts &
  Pick<WeighParts, 'toolTokens'> &
  Pick<TurnFilesParts, 'limits' | 'links' | 'payloads'> & {
    access: ConnectorAccess
    catalogue: Catalogue
    drainSeconds: number
    quotes: Quotes
    assertAccepting: () => void
  }

type Start = Ask & {
  idempotencyKey: string | null
  /**
   * Identifies the request, so that a retry without an Idempotency-Key finds the same turn. Null if no such retry is
   * expected.
   */
  request?: WireRequest | null
  onRate: (rate: RateState) => void
  /** Called when the request starts to wait for the admission of an earlier request with the same key. */
  onWait: () => void
  signal: AbortSignal
}

/** Maximum number of requests that can wait for the admission of an earlier request with the same Idempotency-Key. */
const repeatsMax = 20
/** Poll intervals while a session's turn is being settled, in this process or on another node. */
const stopPauseMs = 10
const stopElsewherePauseMs = 100
/** Maximum number of sessions whose prompt overhead is cached. */
const cachedOverheadsMax = 10_000
const settleMsMax = 10_000

/** Admits the chats of this process, and ends them when their session or the service ends. */
export class ChatTurns {
  readonly #parts: ChatTurnsParts
  readonly #files: TurnFiles
  /** Each session's running turn, or its admission if the turn has not started yet. */
  readonly #sessions = new Map<string, ChatTurn | Admission>()
  /**
   * Number of prompt tokens that each session's code or http agent last sent in addition to the messages. The
   * session's next turn reserves their cost at admission, which avoids increasing the hold later.
   */
  readonly #beside = new Map<string, number>()
  readonly #kept: KeptTurns
  readonly reads: ReadTurns
  #isInterrupted = false

  constructor(parts: ChatTurnsParts) {
    this.#parts = parts
    this.#files = new TurnFiles(parts)
    this.#kept = new KeptTurns(parts)
    this.reads = new ReadTurns(this.#kept, parts)
    parts.store.shared?.signals.on('session-stopped', (sessionId) => this.#turn(sessionId)?.stop('deleted'))
  }

  get runningCount(): number {
    return this.#sessions.size
  }

  /**
   * Admits a message and starts the reply. If a message was already sent with this Idempotency-Key, returns a reader of
   * its reply. On rejection, throws an ErrandError and writes nothing.
   */
  async start(start: Start): Promise<TurnReader> {
    const { caller, idempotencyKey, input, setting } = start
    this.#parts.assertAccepting()
    const idempotency =
      idempotencyKey === null ? null : { key: idempotencyKey, bodyHash: setting?.bodyHash ?? bodyHashOf(input) }
    const earlier = idempotency && (await this.reads.openEarlier(caller, idempotency))
    if (earlier) return earlier
    const place = this.#files.place(caller.userId)
    let begun: ChatTurn | undefined
    try {
      const { reader, turn } = await this.#admit(start, { idempotency, place })
      begun = turn
      return reader
    } finally {
      // A started turn needs its files until it ends.
      if (!begun) place.release()
    }
  }

  async #admit(
    { idempotencyKey, onRate, onWait, request = null, signal, ...ask }: Start,
    { idempotency, place }: { idempotency: Idempotency | null; place: Place },
  ): Promise<{ reader: TurnReader; turn?: ChatTurn }> {
    const { about, caller, input, setting } = ask
    const { access, quotes } = this.#parts
    const { userId } = caller
    const { params = {}, quoteId, replaces = null, sessionId } = input
    const quote = quoteId === undefined ? null : quotes.open<QuotedChat>(subjectOf(userId, input), quoteId)
    const beforeFiles = async ({ agent, chat }: Pick<Admissible, 'agent' | 'chat'>) => {
      if (!idempotency && this.#sessions.has(sessionId)) throw busy()
      // The size of the files is known only once they are read, so assume the minimum.
      const of = { agentId: agent.id, caller, chat, rates: quote?.terms.rates, payloadBytes: 1 }
      await foreseeRefusal(this.#parts.store, of)
    }
    const admitted = await admissible(this.#parts, { ...ask, beforeFiles, place })
    const { agent, chat, connectorIds, draft, earlier: said, session } = admitted
    const ids = chat.models.map(({ id }) => id)
    const rates = quote ? ratesForModels(quote.terms.rates, ids) : chat.rates
    const maxCost = leastOf([maxCostOf(input), quote?.terms.most ?? null])
    const same = await this.#replyInProgress({ caller, idempotency, onWait, sessionId })
    if (same) return { reader: same }
    const turnId = newId('turn', this.#parts.clock.now())
    const { promise: over, resolve: admissionOver } = Promise.withResolvers<void>()
    this.#sessions.set(sessionId, { key: idempotencyKey, over, waiting: 0 })
    this.#kept.expect(turnId, over)
    let stored = noFiles
    try {
      const weighed = await this.#weigh(admitted, { input, rates, maxCost, responseFormat: setting?.responseFormat })
      const { amounts, history, readHistory, recount, sentAtMost } = weighed
      const connectors = await access.specsOf(userId, connectorIds)
      assertSignedIn(connectors)
      stored = await this.#files.keep({ draft, earlier: said, userId, required: amounts.required })
      const under = { quoteId: quote?.id ?? null, limits: caller.limits, keyId: keyIdOf(caller), files: stored.files }
      const own = session ? { replaces, title: titleOf(draft) } : { agentId: agent.id }
      const turn = { sessionId, turnId, userId, idempotency, request, maxCost, ...under, ...own }
      const opened = await openTurn(this.#parts, { turn, amounts, recount, signal })
      onRate(opened.rate)
      if (opened.outcome === 'refused') {
        const earlier = await this.#earlierReply(opened, { caller, idempotency })
        if (!earlier) throw turnRefusal(opened)
        this.#sessions.delete(sessionId)
        await this.#files.ended(stored.files)
        return { reader: earlier }
      }
      const seen = { agent, history, place, readHistory, session }
      const latest = await this.#latest(seen).catch((error: unknown) => ({ error }))
      if (signal.aborted || 'error' in latest) {
        const breakdown = { ...nothingUsed, rates: storedRates(rates) }
        const settle = { turnId, outcome: 'failed', cost: 0, breakdown, exchange: null } as const
        await settleWithRetries(this.#parts, { userId, settle })
        throw 'error' in latest ? latest.error : clientLeft()
      }
      about.turnId = turnId
      const { messages } = latest
      const hasFiles = stored.files.length > 0 || messages.some(({ parts }) => parts)
      const span = this.#parts.tracing?.chatBegan({
        agentId: agent.id,
        agentName: agent.name,
        request: about.span,
        sessionId,
        turnId,
        userId,
      })
      const begun = new ChatTurn(this.#parts, {
        generation: agent.generation,
        requestId: about.requestId,
        span,
        request: {
          agentId: agent.id,
          userId,
          sessionId,
          turnId,
          message: draft.text,
          ...(stored.sent && { parts: stored.sent }),
          history: [...stored.earlier, ...messages],
          historyTokens: latest.history.tokens + earlierTokens(said),
          isHistoryCached: isCached(latest.history, { admitted, now: this.#parts.clock.now(), setting }),
          params: { ...given(params), ...(chat.isModel && modelParams(setting)) },
          connectors,
          rates,
          room: opened.room,
          ...(span && { traceparent: traceParentOf(span) }),
        },
        parts: stored.parts,
        hidesReasoning: chat.hidesReasoning,
        isKept: session !== undefined,
        replaces,
        models: chat.models,
        held: opened.held,
        onFirstStep: (promptTokensMax) => {
          const isAsSeen = latest.history === history && connectors.length === 0 && !hasFiles
          if (session && !chat.isModel && isAsSeen) {
            this.#noteBeside(sessionId, Math.max(0, promptTokensMax - sentAtMost))
          }
        },
        onSettled: () => {
          this.#sessions.delete(sessionId)
          place.release()
          void this.#files.ended(stored.files)
        },
      })
      this.#sessions.set(sessionId, begun)
      if (this.#isInterrupted) begun.stop('drain')
      const of = { userId, sessionId, onDisconnect: input.onDisconnect ?? 'stop' } as const
      return { reader: this.#kept.add(begun, of), turn: begun }
    } catch (error) {
      this.#sessions.delete(sessionId)
      await this.#files.ended(stored.files)
      throw error
    } finally {
      admissionOver()
    }
  }

  /**
   * Returns a reader of the reply to an earlier request with the same key. Waits while that request is being admitted.
   * Returns undefined if it was rejected or the session has no turn.
   */
  async #replyInProgress({
    caller,
    idempotency,
    onWait,
    sessionId,
  }: KeyedRequest & { onWait: () => void; sessionId: string }): Promise<TurnReader | undefined> {
    for (let other = this.#sessions.get(sessionId); other; other = this.#sessions.get(sessionId)) {
      if (!idempotency) throw busy()
      if (!(other instanceof ChatTurn) && other.key === idempotency.key && other.waiting < repeatsMax) {
        other.waiting++
        onWait()
        await other.over
      }
      const same = await this.reads.openEarlier(caller, idempotency)
      if (same) return same
      // If the other request was rejected in the meantime, this one proceeds.
      if (this.#sessions.get(sessionId) === other) throw busy()
    }
    return undefined
  }

  /** Returns a reader of the earlier reply if the request was rejected because it repeats an earlier one. */
  async #earlierReply(refused: RefusedTurn, { caller, idempotency }: KeyedRequest): Promise<TurnReader | undefined> {
    if (refused.reason === 'repeated') return await this.reads.open({ caller, turnId: refused.turnId, after: 0 })
    if (refused.reason !== 'idempotency-conflict' || !idempotency) return undefined
    return await this.reads.openEarlier(caller, idempotency)
  }

  /**
   * Creates a quote for a message, with the current rates and the maximum cost. Throws the same errors as `start`,
   * except those about rate limits and balance.
   */
  async quote(ask: Ask): Promise<ChatQuote> {
    const place = this.#files.place(ask.caller.userId)
    try {
      return await this.#quote(ask, await admissible(this.#parts, { ...ask, isOnlyWeighed: true, place }))
    } finally {
      place.release()
    }
  }

  async #quote({ caller, input }: Ask, admitted: Admissible): Promise<ChatQuote> {
    const { agent, chat, connectorIds } = admitted
    const { rates } = chat
    const { amounts, left, recount } = await this.#weigh(admitted, { input, rates, maxCost: maxCostOf(input) })
    const exact = left < amounts.required ? await recount() : undefined
    const { hold, required } = exact ?? amounts
    // A model with tools can be called many times, and the number of model calls is unknown for code and http agents.
    const isOneCall = chat.isModel && agent.toolNames.length + connectorIds.length === 0
    const worst = isOneCall ? Math.min(left, amounts.most) : left
    if (worst < required) throw budgetRefusal({ left: worst, required })
    const refused = await this.#parts.store.foreseeLimits({ ...caller, agentId: agent.id, required })
    if (refused) throw limitRefusal(refused)
    const most = worst === Infinity ? null : worst
    const issued = this.#parts.quotes.issue(subjectOf(caller.userId, input), { rates, most } satisfies QuotedChat)
    return { ...issued, agentId: agent.id, rates, most, hold: Math.min(hold, worst) }
  }

  #weigh(admitted: Admissible, of: Omit<WeighMessage, 'admitted' | 'besideOf'>): Promise<Weighed> {
    return weighMessage(this.#parts, { admitted, ...of, besideOf: (sessionId) => this.#beside.get(sessionId) ?? 0 })
  }

  /**
   * Ends the session's turn, if there is one, and resolves once it is settled. For a turn on another node, only signals
   * that node and waits briefly.
   */
  async stopSession({ sessionId }: { sessionId: string }): Promise<void> {
    const turn = this.#turn(sessionId)
    turn?.stop('deleted')
    await turn?.ended()
    const { shared } = this.#parts.store
    const isElsewhere = shared !== undefined && !this.#sessions.has(sessionId) && turn === undefined
    // The signal may be lost, so callers repeat this call until the session has no turn.
    if (isElsewhere) shared.signals.send('session-stopped', sessionId)
    await new Promise((resolve) => setTimeout(resolve, isElsewhere ? stopElsewherePauseMs : stopPauseMs))
  }

  async drain(): Promise<void> {
    const drainMs = this.#parts.drainSeconds * 1000
    const timer = setTimeout(() => this.interrupt(), drainMs)
    // If the disk rejects every write, exit anyway. The next start closes open turns.
    const until = performance.now() + drainMs + settleMsMax
    while (this.#sessions.size > 0 && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    clearTimeout(timer)
    await this.#kept.close()
  }

  interrupt(): void {
    this.#isInterrupted = true
    for (const turn of this.#turns()) turn.stop('drain')
  }

  get heldTurnIds(): string[] {
    return this.#turns().map(({ turnId }) => turnId)
  }

  /** Ends running turns that another node has closed, without storing anything for them. Returns their ids. */
  loseTurns(turnIds: readonly string[]): string[] {
    const lost = new Set(turnIds)
    const running = this.#turns().filter((turn) => lost.has(turn.turnId) && !turn.isEnding)
    for (const turn of running) turn.stop('lost')
    return running.map(({ turnId }) => turnId)
  }

  /** Reads the history again if another node has added messages to the session since the first read. */
  async #historyAfter({ history, readHistory, session }: MessageContext): Promise<History> {
    const { store } = this.#parts
    if (!store.shared || !session) return history
    const { id: sessionId, messageCount, userId } = session
    const now = await store.getSession({ userId, sessionId })
    return now?.messageCount === messageCount ? history : await readHistory()
  }

  async #latest({ agent, place, ...seen }: MessageContext & { agent: Agent; place: Place }) {
    const history = await this.#historyAfter(seen)
    const messages = await this.#files.ofHistory(history.messages, {
      chat: agent.chat!,
      hasData: agent.kind !== 'http',
      place,
    })
    return { history, messages }
  }

  #noteBeside(sessionId: string, tokens: number): void {
    this.#beside.delete(sessionId)
    this.#beside.set(sessionId, tokens)
    if (this.#beside.size > cachedOverheadsMax) this.#beside.delete(this.#beside.keys().next().value!)
  }

  #turn(sessionId: string): ChatTurn | undefined {
    const turn = this.#sessions.get(sessionId)
    return turn instanceof ChatTurn ? turn : undefined
  }

  #turns(): ChatTurn[] {
    return [...this.#sessions.values()].filter((turn) => turn instanceof ChatTurn)
  }
}

/** A turn that is being admitted, with its Idempotency-Key and the number of requests waiting to read it. */
type Admission = { key: string | null; over: Promise<void>; waiting: number }

type QuotedChat = { rates: ChatRates; most: Units | null }
export type ChatQuote = QuotedChat & { agentId: string; expiresAt: EpochMs; hold: Units; quoteId: string }

type KeyedRequest = { caller: Start['caller']; idempotency: Idempotency | null }
type MessageContext = Pick<Weighed, 'history' | 'readHistory'> & { session: SessionRecord | undefined }
