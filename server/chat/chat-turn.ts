import type { Span } from '@opentelemetry/api'
import type { AgentHost, ChatHandle } from '../agents/agent-port.ts'
import type { ChatBatch, ChatRequest, ChatSummary, ToolCallStep } from '../agents/chat-messages.ts'
import { roughTokens } from '../agents/chat-messages.ts'
import type { RunOutcome } from '../agents/run-outcome.ts'
import { chatCost, chatHold, chatUse, writtenRates, type ChatRates, type ChatUsed } from '../billing/chat-price.ts'
import type { Clock } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { isDebug, type Logger } from '../kernel/logger.ts'
import type { Meter } from '../kernel/meter.ts'
import type { Units } from '../kernel/money.ts'
import type { ToolCallRecord, TurnOutcome } from '../store/records.ts'
import type { Store, SettledTurn, SettleTurn } from '../store/store.ts'
import { endChatSpan, type ServiceTracing } from '../tracing/service-tracing.ts'
import { doneLine, failureLine } from './event-lines.ts'
import type { Membership } from './user-turns.ts'

/** Why a turn is ended before its reply. */
export type StopCause = 'disconnect' | 'deleted' | 'timeout' | 'balance' | 'drain' | 'fault' | 'lost'

export type ChatTurnParts = {
  agents: AgentHost
  clock: Clock
  log: Logger
  meter: Meter
  store: Store
  tracing: ServiceTracing | undefined
  turnTimeoutMs: number
}

type Begin = {
  request: ChatRequest
  /** Of the HTTP request. */
  requestId: string
  span: Span | undefined
  rates: ChatRates
  /** What the account holds for the turn. */
  held: Units
  /** Its place among the user's turns. */
  membership: Membership
  onSettled: () => void
}

/** How a turn ended, and what that costs. */
type Judgement = { summary: ChatSummary; turnOutcome: TurnOutcome; cost: Units }

/** An agent may be ahead by several times as much, and each message to its thread costs more than the text. */
const creditChars = 16_384
const stepTokens = 500
const settlePauseMs = 200
const settleTriesAnswered = 25
const faultyTriesMax = 3

/** The least by which a hold grows. */
export function holdStep(rates: ChatRates): Units {
  return chatHold(chatUse({ completionTokens: stepTokens }), rates)
}

/**
 * One reply, from its admission to its settlement. `next` gives the lines of the stream; nothing is given out that the
 * hold does not cover. Whoever reads them may leave at any time: `stop` settles the turn all the same.
 *
 *   running ──the agent ends, fails, or is stopped──▶ ending (settled once, exactly) ──▶ ended
 */
export class ChatTurn {
  readonly #parts: ChatTurnParts
  readonly #begin: Begin
  readonly #handle: ChatHandle
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout
  #inbox: ChatBatch[] = []
  #outcome: RunOutcome | undefined
  #cause: StopCause | undefined
  #wake: (() => void) | undefined
  #ending: Promise<string> | undefined
  #hasGivenEnd = false
  #held: Units
  #untaken = 0
  /** What was taken and the agent does not know of yet. */
  #taken = 0
  #text = ''
  #toolSteps: ToolCallStep[] = []
  #used: ChatUsed | undefined
  readonly #startedAt = performance.now()

  constructor(parts: ChatTurnParts, begin: Begin) {
    this.#parts = parts
    this.#begin = begin
    this.#held = begin.held
    this.#handle = parts.agents.runChat(begin.request, {
      signal: this.#controller.signal,
      limitMs: parts.turnTimeoutMs,
      onBatch: (batch) => {
        this.#inbox.push(batch)
        this.#wake?.()
      },
    })
    void this.#handle.outcome.then((outcome) => {
      this.#outcome = outcome
      this.#wake?.()
    })
    this.#timer = setTimeout(() => this.stop('timeout'), parts.turnTimeoutMs)
  }

  get turnId(): string {
    return this.#begin.request.turnId
  }

  /** Its reply is over, and it is being settled. */
  get isEnding(): boolean {
    return this.#ending !== undefined
  }

  /** The next lines of the stream, whole events each; undefined after the terminal one. Asking again takes the last ones as read. */
  async next(): Promise<string | undefined> {
    this.#taken += this.#untaken
    this.#untaken = 0
    if (this.#taken >= creditChars) {
      this.#handle.credit(this.#taken)
      this.#taken = 0
    }
    while (this.#cause === undefined && !this.#ending) {
      const count = this.#inbox.length
      if (count > 0) {
        // They stay in the inbox until they are covered: a stop meanwhile finds them there.
        if (!(await this.#cover(this.#inbox.at(-1)!.used))) {
          this.stop('balance')
          break
        }
        if (this.#cause !== undefined || this.#ending) break
        const lines = this.#accept(this.#inbox.splice(0, count))
        this.#untaken = lines.length
        return lines
      }
      if (this.#outcome) break
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    if (this.#hasGivenEnd) return undefined
    const line = await this.ended()
    this.#hasGivenEnd = true
    return line
  }

  /** Stops the agent and settles the turn. Does nothing once the reply has ended. */
  stop(cause: StopCause): void {
    if (this.#cause !== undefined || this.#ending) return
    // Whoever leaves a reply that has ended, and is only not read to its end, changes nothing about how it ended.
    const hasEnded = cause === 'disconnect' && this.#outcome !== undefined
    if (!hasEnded) this.#cause = cause
    this.#controller.abort({ kind: 'interrupted', message: 'The chat was stopped.' } satisfies RunOutcome)
    this.#wake?.()
    void this.ended()
  }

  /** Resolves when the turn is settled, with the terminal line. */
  ended(): Promise<string> {
    return (this.#ending ??= this.#end())
  }

  /** Makes the hold large enough for what is used; false when the balance does not allow it. */
  async #cover(used: ChatUsed): Promise<boolean> {
    const { membership, rates, request } = this.#begin
    const need = chatHold(used, rates)
    while (need > this.#held) {
      const least = need - this.#held
      const by = Math.max(least, holdStep(rates))
      const held = await this.#parts.store.growHold({ turnId: request.turnId, by, least }).catch((error: unknown) => {
        this.#parts.log.error({ err: error, turnId: request.turnId }, 'the hold of a chat could not grow')
        this.stop('fault')
      })
      if (this.#cause !== undefined || this.#ending) return true
      if (held !== undefined) {
        this.#held = held
        membership.holds(held)
      } else {
        const mayGoOn = await membership.wait()
        if (this.#cause !== undefined || this.#ending) return true
        if (!mayGoOn) return false
      }
    }
    return true
  }

  #accept(batches: readonly ChatBatch[]): string {
    let lines = ''
    for (const batch of batches) {
      lines += batch.lines
      this.#text += batch.text
      this.#toolSteps.push(...batch.toolCalls)
      this.#used = batch.used
    }
    return lines
  }

  /** What the agent reports was used even where the balance does not cover it, and the rest is written off. */
  #use(reported: ChatUsed | null | undefined): void {
    const { rates } = this.#begin
    if (reported && (!this.#used || chatCost(reported, rates) > chatCost(this.#used, rates))) this.#used = reported
  }

  async #end(): Promise<string> {
    clearTimeout(this.#timer)
    const outcome = await this.#handle.outcome
    // What the agent had made before it was stopped was used, whether it was read or not; past the balance it was not.
    if (this.#cause !== 'balance') this.#accept(this.#inbox.splice(0))
    else this.#use(this.#inbox.at(-1)?.reported)
    const judgement = this.#judge(outcome)
    const settled = await this.#settle(judgement)
    return this.#tell(settled === 'closed' ? this.#closed(judgement) : judgement, { outcome, settled })
  }

  /** What another node closed was not charged, and nothing of it was stored. */
  #closed(judgement: Judgement): Judgement {
    if (judgement.turnOutcome !== 'failed' || judgement.cost > 0) this.#cause = 'lost'
    return { ...judgement, turnOutcome: 'failed', cost: 0 }
  }

  /** The terminal line. */
  #tell(judgement: Judgement, { outcome, settled }: { outcome: RunOutcome; settled: Settled | 'late' }): string {
    const { summary, turnOutcome } = judgement
    const failure = turnOutcome === 'finished' ? null : describeEnd(this.#cause, outcome)
    const cost = settled === 'late' ? undefined : settled === 'closed' ? 0 : settled.charged
    this.#report(judgement, { code: failure?.code ?? null, charged: cost })
    const at = this.#parts.clock.now()
    if (cost === undefined) {
      return failureLine({ code: 'INTERNAL_ERROR', message: 'The chat could not be settled yet.', at })
    }
    return failure ? failureLine({ ...failure, cost, at }) : doneLine({ used: summary.used, cost, at })
  }

  #report(
    { cost, summary, turnOutcome: end }: Judgement,
    { charged, code }: { code: string | null; charged: Units | undefined },
  ): void {
    const { log, meter } = this.#parts
    const { request, requestId, span } = this.#begin
    const { agentId, sessionId, turnId, userId } = request
    const seconds = (performance.now() - this.#startedAt) / 1000
    // A reply that failed is charged where its request was the cause.
    const { completionTokens, promptTokens, reasoningTokens, toolCalls } =
      end === 'failed' && cost === 0 ? chatUse({}) : summary.used
    meter.chatRun({ agentId, end, seconds, completionTokens, promptTokens, reasoningTokens, toolCalls })
    if (span) endChatSpan(span, { end, code, completionTokens, promptTokens, toolCalls, cost: charged })
    const isFailure = end === 'failed'
    if (!isFailure && !isDebug(log)) return
    const fields = { requestId, turnId, sessionId, userId, agentId, end, ...(code !== null && { code }) }
    if (isFailure) log.info(fields, 'a chat failed')
    else log.debug({ ...fields, ms: Math.round(seconds * 1000) }, 'a chat ended')
  }

  /** What an end of this kind is charged. */
  #judge(outcome: RunOutcome): Judgement {
    const cause = this.#cause
    const reported = outcome.kind === 'completed' ? (JSON.parse(outcome.json) as ChatSummary) : undefined
    const summary = reported ?? this.#rough()
    const free: Judgement = { summary, turnOutcome: 'failed', cost: 0 }
    const chargedAs = (turnOutcome: TurnOutcome, charged: ChatSummary): Judgement => {
      return { summary: charged, turnOutcome, cost: chatCost(charged.used, this.#begin.rates) }
    }
    if (cause === 'drain' || cause === 'fault' || cause === 'lost') return free
    if (outcome.kind === 'failed') {
      return cause === undefined && outcome.owed ? chargedAs('failed', { ...summary, ...outcome.owed }) : free
    }
    if (cause === undefined) return reported ? chargedAs('finished', reported) : free
    if (cause === 'balance') return chargedAs('truncated', this.#rough())
    // An agent that was stopped before it was begun used nothing.
    return reported || this.#used ? chargedAs('truncated', summary) : free
  }

  /** By the length of the texts, where the agent's thread does not say. */
  #rough(): ChatSummary {
    const { history: _history, historyTokens, message } = this.#begin.request
    const messageTokens = roughTokens(message)
    const used = this.#used ?? chatUse({ promptTokens: historyTokens + messageTokens })
    return { used, isEstimated: true, messageTokens, replyTokens: roughTokens(this.#text) }
  }

  /**
   * Settles, and tries again while the store cannot: the hold must not stay. The reader is told after some seconds that
   * it has not happened yet.
   */
  async #settle({ cost, summary, turnOutcome: outcome }: Judgement): Promise<Settled | 'late'> {
    const { onSettled, rates, request } = this.#begin
    if (this.#cause === 'lost') {
      onSettled()
      return 'closed'
    }
    const { isEstimated, messageTokens, replyTokens, used } = summary
    const input: SettleTurn = {
      turnId: request.turnId,
      outcome,
      cost,
      breakdown: { ...used, rates: writtenRates(rates), isEstimated },
      exchange:
        outcome === 'failed'
          ? null
          : {
              message: { content: request.message.toWellFormed(), tokens: messageTokens },
              reply: { content: this.#text.toWellFormed(), tokens: replyTokens, toolCalls: joinSteps(this.#toolSteps) },
            },
    }
    const settled = settleSurely(this.#parts, { userId: request.userId, settle: input })
    void settled.then(onSettled)
    const late = new Promise<'late'>((resolve) => {
      const timer = setTimeout(() => resolve('late'), settlePauseMs * settleTriesAnswered)
      void settled.finally(() => clearTimeout(timer))
    })
    return await Promise.race([settled, late])
  }
}

/** `closed` when another node has closed the turn, and nothing was charged. */
type Settled = SettledTurn | 'closed'

/** Settles a turn however long the store cannot: its hold must not stay, nor its session busy. */
export async function settleSurely(
  { log, store }: Pick<ChatTurnParts, 'log' | 'store'>,
  { settle, userId }: { settle: SettleTurn; userId: string },
): Promise<Settled> {
  const { turnId } = settle
  let settling = settle
  for (let tries = 1; ; tries++) {
    try {
      const settled = await store.settleTurn(settling)
      if (settled) return settled
      // A try before this one may have taken place though its answer was lost.
      const own = tries > 1 && (await store.listTransactions({ userId, turnId, limit: 1, offset: 0 })).transactions[0]
      return own ? { charged: -own.amount, balance: own.balanceAfter } : 'closed'
    } catch (error) {
      log.error({ err: error, turnId }, 'a chat could not be settled; trying again')
      // What fails for another reason than the disk's will fail each time: then better without a charge than never.
      const isPassing = error instanceof ErrandError && error.code === 'SERVICE_UNAVAILABLE'
      if (!isPassing && tries >= faultyTriesMax) settling = { ...settle, outcome: 'failed', cost: 0, exchange: null }
      await new Promise((resolve) => setTimeout(resolve, settlePauseMs).unref())
    }
  }
}

function joinSteps(steps: readonly ToolCallStep[]): ToolCallRecord[] {
  const calls = new Map<string, ToolCallRecord>()
  for (const step of steps) {
    if (step.type === 'call') {
      const { arguments: args, bytes, id, name } = step
      calls.set(id, { id, name, arguments: args, ...(bytes !== undefined && { argumentsBytes: bytes }), output: null })
    } else {
      const call = calls.get(step.id)
      if (call)
        Object.assign(call, { output: step.output, ...(step.bytes !== undefined && { outputBytes: step.bytes }) })
    }
  }
  return [...calls.values()]
}

function describeEnd(cause: StopCause | undefined, outcome: RunOutcome): { code: string; message: string } {
  if (outcome.kind === 'failed' && cause !== 'drain' && cause !== 'lost')
    return { code: 'AGENT_ERROR', message: outcome.error.message }
  switch (cause) {
    case 'fault':
      return { code: 'INTERNAL_ERROR', message: 'The service failed. Nothing was charged; send the message again.' }
    case 'balance':
      return { code: 'INSUFFICIENT_BALANCE', message: 'The balance does not cover more of this reply.' }
    case 'timeout':
      return { code: 'AGENT_TIMEOUT', message: 'The reply took longer than a chat may.' }
    case 'deleted':
      return { code: 'AGENT_INTERRUPTED', message: 'The session was deleted.' }
    case 'disconnect':
      return { code: 'AGENT_INTERRUPTED', message: 'The client left.' }
    case 'drain':
      return {
        code: 'AGENT_INTERRUPTED',
        message: 'The service is stopping. Nothing was charged; send the message again.',
      }
    case 'lost':
      return {
        code: 'AGENT_INTERRUPTED',
        message: 'The service was interrupted. Nothing was charged; send the message again.',
      }
    case undefined:
      return { code: 'AGENT_INTERRUPTED', message: outcome.kind === 'interrupted' ? outcome.message : 'Interrupted' }
  }
}
