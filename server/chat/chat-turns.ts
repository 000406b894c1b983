import type { z } from 'zod'
import { isVisibleTo, type Agent, type Catalogue, type Chat } from '../agents/config/catalogue.ts'
import { roughTokens } from '../agents/run/chat-messages.ts'
import { requireAgent, type Caller } from '../auth/caller.ts'
import { chatUse, writtenRates, type ChatRates } from '../billing/chat-price.ts'
import { chatTaker, type ConnectorAccess } from '../connectors/connector-access.ts'
import { budgetRefusal, limitRefusal } from '../billing/refusals.ts'
import { hashJson } from '../kernel/canonical-json.ts'
import { ErrandError } from '../kernel/errors.ts'
import type { EpochMs } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import type { Units } from '../kernel/money.ts'
import type { Quotes } from '../quotes/quotes.ts'
import { connectorIdsOf } from '../sessions/session-connectors.ts'
import { sessionNotFound, sessionRefusal } from '../sessions/session-operations.ts'
import { leftWithin } from '../store/judge-admission.ts'
import type { RateState, SessionRecord } from '../store/records.ts'
import type { History } from '../store/store.ts'
import type { OpenTurn, OpenTurnResult } from '../store/session-inputs.ts'
import type { RequestTrace } from '../tracing/request-trace.ts'
import type { ChatInput } from './chat-schema.ts'
import { amountsOf, promptAtMost, type Amounts } from './chat-amounts.ts'
import { busy, clientLeft, keyUsed, lineFull, turnRefusal } from './chat-refusals.ts'
import { ChatTurn, type ChatTurnParts } from './chat-turn.ts'
import { checkSize, given, largeMessageChars, leastOf, maxCostOf, subjectOf } from './message-input.ts'
import { settleSurely } from './settle-turn.ts'
import { traceParentOf } from '../tracing/trace-parent.ts'
import { UserTurns } from './user-turns.ts'

export type ChatTurnsParts = ChatTurnParts & {
  access: ConnectorAccess
  catalogue: Catalogue
  drainSeconds: number
  quotes: Quotes
  /** Throws when the service takes no new work. */
  assertAccepting: () => void
}

type Ask = {
  about: RequestTrace
  caller: Caller
  input: z.output<typeof ChatInput>
  /** Resolves in a turn of the event loop in which a large message may be counted. */
  onLarge: () => Promise<void>
}

type Start = Ask & {
  idempotencyKey: string | null
  /** Told the state of the rate window that the admission saw. */
  onRate: (rate: RateState) => void
  /** Told when the chat begins to wait for others of its user. */
  onWait: () => void
  /** Fires when the client leaves. */
  signal: AbortSignal
}

/** How long a chat waits for others of its user to leave some of the balance free. */
const waitMsMax = 30_000
/** Between two looks at a session whose turn is being settled here, or on another node. */
const stopPauseMs = 10
const stopElsewherePauseMs = 100
/** Of how many agents and sessions it is known what surrounds their messages. */
const aroundMax = 10_000
/** How long interrupted chats may take to be settled when the service stops. */
const settleMsMax = 10_000

/** The chats of this process: admits them, and ends them when their session or the service ends. */
export class ChatTurns {
  readonly #parts: ChatTurnsParts
  readonly #users: UserTurns
  /** By session: claimed while its turn is being admitted, then the turn. */
  readonly #sessions = new Map<string, ChatTurn | 'admitting'>()
  /**
   * How much more than instructions and messages models were last sent. Of a model of the configuration, by its agent, that
   * is the definitions of its tools, the same for all. What other agents send besides is theirs to choose, so it is known by
   * session and sets no other's price. Only a guess of what a turn will ask for, so that it is held with the admission.
   */
  readonly #around = new Map<string, number>()
  #isInterrupted = false

  constructor(parts: ChatTurnsParts) {
    this.#parts = parts
    const { store } = parts
    const heldOf = async (userId: string) => (await store.getAccount(userId))?.held ?? 0
    this.#users = new UserTurns(store.shared && heldOf)
    store.shared?.signals.on('session-stopped', (sessionId) => this.#turn(sessionId)?.stop('deleted'))
  }

  get runningCount(): number {
    return this.#sessions.size
  }

  /** Those of them that wait for others of their user. */
  get waitingCount(): number {
    return this.#users.waitingCount
  }

  /** Admits a message and begins the reply. Throws an ErrandError for every refusal, and then nothing was written. */
  async start({ about, caller, idempotencyKey, input, onLarge, onRate, onWait, signal }: Start): Promise<ChatTurn> {
    const { access, quotes, store } = this.#parts
    this.#parts.assertAccepting()
    const { userId } = caller
    const { message, params = {}, quoteId, sessionId } = input
    const idempotency = idempotencyKey === null ? null : { key: idempotencyKey, bodyHash: hashJson(input) }
    if (idempotency && (await store.findIdempotent({ userId, operation: 'chat', key: idempotency.key }))) {
      throw keyUsed()
    }
    const admissible = await this.#admissible({ about, caller, input, onLarge })
    const { agent, chat, connectorIds, session } = admissible
    const quote = quoteId === undefined ? null : quotes.open<QuotedChat>(subjectOf(userId, input), quoteId)
    const rates = quote?.terms.rates ?? chat.rates
    const maxCost = leastOf([maxCostOf(input), quote?.terms.most ?? null])
    if (this.#sessions.has(sessionId)) throw busy()
    this.#sessions.set(sessionId, 'admitting')
    try {
      const turnId = newId('turn', this.#parts.clock.now())
      const weighed = await this.#weigh(admissible, { input, rates, maxCost })
      const { amounts, aroundKey, history, sentAtMost, tokensMax } = weighed
      const connectors = await access.specsOf(userId, connectorIds)
      const turnOf = {
        sessionId,
        turnId,
        userId,
        idempotency,
        maxCost,
        quoteId: quote?.id ?? null,
        limits: caller.limits,
      }
      const opened = await this.#open(turnOf, { amounts, onWait, signal })
      onRate(opened.rate)
      if (opened.outcome === 'refused') throw turnRefusal(opened)
      const membership = this.#users.join(userId, { held: opened.held, most: amounts.most })
      const latest = await this.#historyAfter({ history, session, tokensMax }).catch((error: unknown) => ({ error }))
      if (signal.aborted || 'error' in latest) {
        const breakdown = { ...chatUse({}), rates: writtenRates(rates), isEstimated: false }
        const settle = { turnId, outcome: 'failed', cost: 0, breakdown, exchange: null } as const
        await settleSurely(this.#parts, { userId, settle })
        membership.leave()
        throw 'error' in latest ? latest.error : clientLeft()
      }
      about.turnId = turnId
      const { messages, tokens: historyTokens } = latest
      const span = this.#parts.tracing?.chatBegan({ agentId: agent.id, request: about.span, sessionId, turnId, userId })
      const turn = new ChatTurn(this.#parts, {
        requestId: about.requestId,
        span,
        request: {
          agentId: agent.id,
          userId,
          sessionId,
          turnId,
          message,
          history: messages,
          historyTokens,
          params: given(params),
          connectors,
          rates,
          ...(span && { traceparent: traceParentOf(span) }),
        },
        held: opened.held,
        membership,
        onFirstStep: (promptTokensMax) => {
          const isAsSeen = latest === history && connectors.length === 0
          if (isAsSeen) this.#noteAround(aroundKey, Math.max(0, promptTokensMax - sentAtMost))
        },
        onSettled: () => {
          this.#sessions.delete(sessionId)
          membership.leave()
        },
      })
      this.#sessions.set(sessionId, turn)
      if (this.#isInterrupted) turn.stop('drain')
      return turn
    } catch (error) {
      this.#sessions.delete(sessionId)
      throw error
    }
  }

  /** Rates and bounds of a message as they are now, and the quote of them. Throws as `start` does, but for rate and balance. */
  async quote({ about, caller, input, onLarge }: Ask): Promise<ChatQuote> {
    const admissible = await this.#admissible({ about, caller, input, onLarge })
    const { agent, chat, connectorIds } = admissible
    const { rates } = chat
    const { amounts, left } = await this.#weigh(admissible, { input, rates, maxCost: maxCostOf(input) })
    const { hold, required } = amounts
    // A model with tools may be called again and again, and what agents of other kinds do is known to them.
    const isOneCall = chat.isModel && agent.toolNames.length + connectorIds.length === 0
    const worst = isOneCall ? Math.min(left, amounts.most) : left
    if (worst < required) throw budgetRefusal({ left: worst, required })
    const refused = await this.#parts.store.foreseeLimits({ ...caller, agentId: agent.id, required })
    if (refused) throw limitRefusal(refused)
    const most = worst === Infinity ? null : worst
    const issued = this.#parts.quotes.issue(subjectOf(caller.userId, input), { rates, most } satisfies QuotedChat)
    return { ...issued, agentId: agent.id, rates, most, hold: Math.min(hold, worst) }
  }

  /** Throws where the message cannot be sent to the agent of its session. */
  async #admissible({ about, caller, input, onLarge }: Ask): Promise<Admissible> {
    const { access, catalogue, store } = this.#parts
    const { message, sessionId } = input
    const session = await store.getSession({ userId: caller.userId, sessionId })
    if (!session) throw sessionNotFound()
    about.sessionId = sessionId
    if (session.status !== 'active') throw sessionRefusal(session.status)
    const agent = catalogue.agent(session.agentId)
    const chat = agent?.chat
    if (!agent || !chat || !isVisibleTo(agent, caller.email)) {
      throw new ErrandError('NOT_FOUND', `The agent ${session.agentId} is no longer available.`)
    }
    requireAgent(caller, agent.id)
    if (message.length > largeMessageChars) await onLarge()
    checkSize(chat, input)
    const connectorIds = connectorIdsOf(session.metadata)
    const taker = chatTaker(agent.id, agent)
    await access.assertOwned(connectorIds, { taker, path: 'sessionId', userId: caller.userId })
    return { agent, chat, connectorIds, session }
  }

  /** What the history and the message would cost. */
  async #weigh({ agent, chat, session }: Admissible, { input, maxCost, rates }: Weigh): Promise<Weighed> {
    const { message, params, sessionId } = input
    const tokensMax = chat.contextTokens - roughTokens(message)
    const history = await this.#parts.store.readHistory({ sessionId, tokensMax })
    const sentAtMost = promptAtMost(chat, { history, message })
    const aroundKey = chat.isModel ? agent.id : sessionId
    const left = leftWithin(maxCost, session)
    const amounts = amountsOf({
      chat,
      rates,
      promptTokens: history.tokens + roughTokens(message),
      promptTokensMax: sentAtMost + (this.#around.get(aroundKey) ?? 0),
      maxTokens: params?.maxTokens,
      left,
    })
    return { amounts, aroundKey, history, left, sentAtMost, tokensMax }
  }

  /** Ends the session's turn, if there is one, and resolves when it is settled. */
  async stopSession({ sessionId }: { sessionId: string }): Promise<void> {
    const turn = this.#turn(sessionId)
    turn?.stop('deleted')
    await turn?.ended()
    const { shared } = this.#parts.store
    const isElsewhere = shared !== undefined && !this.#sessions.has(sessionId) && turn === undefined
    // It may be lost, but whoever waits for the session comes here again.
    if (isElsewhere) shared.signals.send('session-stopped', sessionId)
    await new Promise((resolve) => setTimeout(resolve, isElsewhere ? stopElsewherePauseMs : stopPauseMs))
  }

  /** Lets what runs finish within the drain time, then interrupts it. */
  async drain(): Promise<void> {
    const drainMs = this.#parts.drainSeconds * 1000
    const timer = setTimeout(() => this.interrupt(), drainMs)
    // A disk that takes nothing any more must not keep the process; the next start closes what is open.
    const until = performance.now() + drainMs + settleMsMax
    while (this.#sessions.size > 0 && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    clearTimeout(timer)
  }

  interrupt(): void {
    this.#isInterrupted = true
    for (const turn of this.#turns()) turn.stop('drain')
  }

  get heldTurnIds(): string[] {
    return this.#turns().map(({ turnId }) => turnId)
  }

  /** Another node has closed these: those that run end, and nothing more of them is stored. Which they were. */
  loseTurns(turnIds: readonly string[]): string[] {
    const lost = new Set(turnIds)
    const running = this.#turns().filter((turn) => lost.has(turn.turnId) && !turn.isEnding)
    for (const turn of running) turn.stop('lost')
    return running.map(({ turnId }) => turnId)
  }

  /**
   * The history as the turn that was opened finds it: between the first look at it and the opening, another node may
   * have ended the turn before.
   */
  async #historyAfter({ history, session, tokensMax }: Seen): Promise<History> {
    const { store } = this.#parts
    if (!store.shared) return history
    const { id: sessionId, messageCount, userId } = session
    const now = await store.getSession({ userId, sessionId })
    return now?.messageCount === messageCount ? history : await store.readHistory({ sessionId, tokensMax })
  }

  #noteAround(key: string, tokens: number): void {
    this.#around.delete(key)
    this.#around.set(key, tokens)
    if (this.#around.size > aroundMax) this.#around.delete(this.#around.keys().next().value!)
  }

  #turn(sessionId: string): ChatTurn | undefined {
    const turn = this.#sessions.get(sessionId)
    return turn instanceof ChatTurn ? turn : undefined
  }

  #turns(): ChatTurn[] {
    return [...this.#sessions.values()].filter((turn) => turn instanceof ChatTurn)
  }

  /** Opens the turn, waiting for other turns of the user where those hold what it would need. */
  async #open(
    of: Omit<OpenTurn, 'required' | 'hold' | 'leaving'>,
    { amounts, onWait, signal }: { amounts: Amounts } & Pick<Start, 'onWait' | 'signal'>,
  ): Promise<OpenTurnResult> {
    const { userId } = of
    const { hold, most, required } = amounts
    const attempt = () => {
      if (signal.aborted) throw clientLeft()
      this.#parts.assertAccepting()
      return this.#users.attempt(userId, {
        mayNeed: most,
        begin: async (others, isAlone) => ({
          isAlone,
          result: await this.#parts.store.openTurn({ ...of, required, hold, leaving: others }),
        }),
      })
    }
    // Where nothing else of the user was under way, here or on other nodes, what is free now is all that there will be.
    const isFinal = ({ isAlone, result }: { isAlone: boolean; result: OpenTurnResult }) =>
      result.outcome !== 'refused' ||
      result.reason !== 'balance' ||
      result.balance < required ||
      (isAlone && !this.#users.isHeldElsewhere(userId, result.held))

    if (!this.#users.hasLine(userId)) {
      const first = await attempt()
      if (isFinal(first)) return first.result
    }
    const until = performance.now() + waitMsMax
    const isOver = () => performance.now() > until || signal.aborted
    const place = this.#users.queue(userId)
    if (!place) throw lineFull()
    onWait()
    try {
      await place.mine(isOver)
      for (;;) {
        const next = await attempt()
        if (isFinal(next) || isOver()) return next.result
        const isElsewhere = this.#users.isHeldElsewhere(userId, heldIn(next.result))
        if (isElsewhere || this.#users.isBusy(userId)) await this.#users.change(userId)
      }
    } finally {
      place.leave()
    }
  }
}

type Admissible = { agent: Agent; chat: Chat; connectorIds: string[]; session: SessionRecord }
type Weigh = { input: z.output<typeof ChatInput>; maxCost: Units | null; rates: ChatRates }
type Weighed = {
  amounts: Amounts
  aroundKey: string
  history: History
  /** What the caps leave; Infinity without any. */
  left: Units
  sentAtMost: number
  tokensMax: number
}

/** By which a turn is charged, and what it costs at most. */
type QuotedChat = { rates: ChatRates; most: Units | null }
export type ChatQuote = QuotedChat & { agentId: string; expiresAt: EpochMs; hold: Units; quoteId: string }

type Seen = { history: History; session: SessionRecord; tokensMax: number }

function heldIn(result: OpenTurnResult): Units {
  return 'held' in result ? result.held : 0
}
