import type { ChatHandle } from '../agents/threads/agent-port.ts'
import { dropContent, type ChatBatch, type StepRequest } from '../agents/run/chat-messages.ts'
import type { ChatStop, RunOutcome } from '../agents/run/run-outcome.ts'
import {
  addUse,
  callUse,
  chatCost,
  chatHold,
  chatUse,
  mostExpensiveUse,
  isLongPrompt,
  outputBesideTool,
  outputWithin,
  type ChatUsed,
} from '../billing/chat-price.ts'
import { storedUse } from '../billing/written-rates.ts'
import type { Place } from '../kernel/fair-places.ts'
import type { Units } from '../kernel/money.ts'
import type { SettleTurn } from '../store/sessions/session-types.ts'
import { AnsweringModel } from './answering-model.ts'
import { holdStepTokens } from './chat-amounts.ts'
import { doneLine, failureLine } from './event-lines.ts'
import { reportTurn } from './report-turn.ts'
import { judgeEnd, type Judgement } from './judge-end.ts'
import { KeptReply } from './kept-reply.ts'
import { settleWithRetries, lineInTime, type Settled } from './settle-turn.ts'
import { describeEnd, isCutByHold, isHoldLimit, readOnMsOf, summaryOf, type StopCause } from './turn-ends.ts'
import { TurnHold } from './turn-hold.ts'
import type { ChatTurnParts, TurnStart } from './turn-start.ts'

type BatchState = Pick<ChatBatch, 'serial' | 'used' | 'isStepOpen' | 'reported'>

/**
 * Characters that the client must read before the agent's thread may send more. With smaller steps, the messages to the
 * thread would cost more than the text itself.
 */
const creditChars = 16_384

/** Reserve shared memory for a reply in steps of this many bytes. */
const roomStep = 16_384

/**
 * One reply, from admission to settlement. `next` returns only lines whose cost is reserved. If the client disconnects,
 * `stop` settles the turn.
 *
 *   running ──the agent ends, fails, or is stopped──▶ ending (settled exactly once) ──▶ ended
 */
export class ChatTurn {
  readonly #parts: ChatTurnParts
  readonly #begin: TurnStart
  readonly #handle: ChatHandle
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout
  #inbox: ChatBatch[] = []
  #outcome: RunOutcome | undefined
  #cause: StopCause | undefined
  #wake: (() => void) | undefined
  #ending: Promise<string> | undefined
  #lastLines = ''
  #hasGivenEnd = false
  readonly #hold: TurnHold
  #hasBegunStep = false
  readonly #model: AnsweringModel
  /** Tool calls made so far. The cost of each was reserved beforehand. */
  #callsMade = 0
  #untaken = 0
  /** Characters read by the client but not yet credited to the agent. */
  #taken = 0
  readonly #reply = new KeptReply()
  readonly #room: Place
  #seq = 0
  /** Latest known usage. `used` is undefined until the agent has sent output. */
  #known: Omit<BatchState, 'used'> & { used: ChatUsed | undefined } = {
    serial: 0,
    used: undefined,
    reported: null,
    isStepOpen: false,
  }
  readonly #startedAt = performance.now()

  constructor(parts: ChatTurnParts, begin: TurnStart) {
    this.#parts = parts
    this.#begin = begin
    const { rates, userId } = begin.request
    this.#model = new AnsweringModel(rates, begin.models)
    this.#room = parts.replyRoom.open(userId, () => this.stop('memory'))
    this.#hold = new TurnHold(begin.held, {
      store: parts.store,
      turnId: this.turnId,
      rates: () => this.#model.ratesMax,
      step: chatHold(chatUse({ completionTokens: holdStepTokens }), this.#model.ratesMax),
      isOver: () => this.#isOver,
      onFault: (error) => {
        parts.log.error({ err: error, turnId: this.turnId }, 'could not increase the hold of a turn')
        this.stop('fault')
      },
    })
    this.#handle = parts.agents.runChat(begin.request, {
      generation: begin.generation,
      signal: this.#controller.signal,
      limitMs: parts.turnTimeoutMs,
      onBatch: (batch) => {
        this.#model.note(batch.model)
        this.#inbox.push(batch)
        this.#wake?.()
      },
      onReceived: () => dropContent(begin.request),
      onStep: (request) => this.#holdNext(request),
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

  get lastSeq(): number {
    return this.#seq
  }

  get isEnding(): boolean {
    return this.#ending !== undefined
  }

  /**
   * Returns the next complete events as lines, or undefined after the terminal event. Each call confirms that the
   * previous lines have been read.
   */
  async next(): Promise<string | undefined> {
    this.#taken += this.#untaken
    this.#untaken = 0
    if (this.#taken >= creditChars) {
      this.#handle.credit(this.#taken)
      this.#taken = 0
    }
    while (!this.#isOver) {
      if (this.#inbox.length > 0) {
        // Batches stay in the inbox until their cost is reserved, so that a stop in the meantime finds them there.
        const count = await this.#coveredBatches()
        if (count === 0) this.stop(this.#hold.limit)
        if (this.#isOver) break
        const lines = this.#accept(this.#inbox.splice(0, count))
        if (!this.#reserveRoom()) this.stop('memory')
        if (lines === '') continue
        this.#untaken = lines.length
        return lines
      }
      if (this.#outcome) break
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    if (this.#hasGivenEnd) return undefined
    const line = await this.ended()
    if (this.#lastLines !== '') {
      const lines = this.#lastLines
      this.#lastLines = ''
      return lines
    }
    this.#hasGivenEnd = true
    this.#seq++
    return line
  }

  get #isOver(): boolean {
    return this.#cause !== undefined || this.#ending !== undefined
  }

  /** Stops the agent and settles the turn. Does nothing once the reply has ended. */
  stop(cause: StopCause): void {
    if (this.#cause !== undefined || this.#ending) return
    // Once the agent has finished, a stop for one of these causes no longer changes the outcome, even if the client has
    // not read the whole reply.
    const mayBeTooLate = cause === 'disconnect' || cause === 'stopped' || cause === 'memory'
    if (!mayBeTooLate || this.#outcome === undefined) this.#cause = cause
    const leftMs = this.#parts.turnTimeoutMs - (performance.now() - this.#startedAt)
    const readOnMs = readOnMsOf(cause, { hidesReasoning: this.#begin.hidesReasoning, leftMs })
    const reason: ChatStop = { kind: 'interrupted', message: 'The turn was stopped.', readOnMs }
    this.#controller.abort(reason)
    this.#wake?.()
    void this.ended()
  }

  /**
   * Reserves the cost of the pending batches. Returns how many of them the reserved amount covers: all, or the number that
   * the balance and the caps allow.
   */
  async #coveredBatches(): Promise<number> {
    const waiting = [...this.#inbox]
    const { bound } = waiting.at(-1)!
    if (!(await this.#hold.cover(bound, { least: waiting[0]!.bound }))) return 0
    // A usage report can lower the bound, so earlier batches may have a higher bound than the last one.
    if (this.#hold.covers(bound)) return waiting.length
    return waiting.findIndex((batch) => !this.#hold.covers(batch.bound))
  }

  ended(): Promise<string> {
    return (this.#ending ??= this.#end())
  }

  /**
   * Reserves the maximum cost of a step and resolves with the output-token limit of a model call. If the agent must not
   * continue, the promise never settles.
   */
  async #holdNext({ model, next, ...known }: StepRequest): Promise<number> {
    this.#model.note(model)
    const rates = this.#model.ratesMax
    const { bound } = known
    if (next === 'tool') {
      if (!(await this.#hold.cover(bound)) || this.#isOver) return await this.#refuseStep()
      this.#callsMade++
      this.#use(known)
      return 0
    }
    if (!this.#isOver) this.#use(known)
    if (!next) return (await this.#hold.cover(bound)) && !this.#isOver ? 0 : await this.#refuseStep()
    const upTo = (completionTokens: number) =>
      addUse(bound, mostExpensiveUse({ promptTokens: next.promptTokensMax, completionTokens }, rates))
    if (!this.#hasBegunStep) this.#begin.onFirstStep(next.promptTokensMax)
    this.#hasBegunStep = true
    const whole = upTo(next.outputTokensMax)
    const isHeld = await this.#hold.cover(whole, { least: upTo(1), isWhole: true })
    if (!isHeld || this.#isOver) return await this.#refuseStep()
    const isLong = isLongPrompt(next.promptTokensMax, rates)
    // If the hold does not cover the maximum cost, leave room for a tool call, because the hold cannot grow later.
    const outputMax = next.hasTools && !this.#hold.covers(whole) ? outputBesideTool : outputWithin
    const tokens = Math.min(next.outputTokensMax, outputMax(this.#hold.held, { used: upTo(0), rates, isLong }))
    const used = addUse(known.used, callUse({ promptTokens: next.promptTokens }, this.#model.rates))
    this.#use({ ...known, used, isStepOpen: true })
    return tokens
  }

  /** Stops the reply. Never resolves, because the agent must not continue. */
  #refuseStep(): Promise<never> {
    this.stop(this.#hold.limit)
    return new Promise(() => {})
  }

  #accept(batches: readonly ChatBatch[]): string {
    let lines = ''
    for (const batch of batches) {
      lines += batch.lines
      this.#reply.add(batch)
      this.#seq += batch.events
      this.#use(batch)
    }
    return lines
  }

  #reserveRoom(): boolean {
    const size = Math.floor(this.#reply.size / roomStep) * roomStep
    return size <= this.#room.amount || this.#room.hold(size) === undefined
  }

  #use({ isStepOpen, reported, serial, used }: BatchState): void {
    // A step request can arrive while earlier text is still unread. Accepting that text later must not overwrite newer
    // state.
    if (serial >= this.#known.serial) this.#known = { isStepOpen, reported, serial, used }
  }

  async #end(): Promise<string> {
    clearTimeout(this.#timer)
    const outcome = await this.#handle.outcome
    this.#model.note(summaryOf(outcome)?.model)
    const unread = this.#inbox
    if (isCutByHold(outcome)) this.#cause ??= this.#hold.limit
    // Output produced before the run stopped counts as used, even if unread, but only up to the reserved amount.
    const isBeyondHold = isHoldLimit(this.#cause) && !isCutByHold(outcome)
    if (!isBeyondHold) this.#lastLines += this.#accept(unread.splice(0))
    const reported = unread.at(-1)?.reported
    const { used } = this.#known
    if (reported && (!used || this.#cost(reported) > this.#cost(used))) {
      this.#known = { ...this.#known, used: reported, reported }
    }
    // Output that is included in a usage report is charged, so it is stored and shown.
    const charged = this.#known.used ? this.#cost(this.#known.used) : -1
    const part = unread.findLastIndex((batch) => this.#cost(batch.used) <= charged) + 1
    this.#lastLines += this.#accept(unread.slice(0, part))
    const judgement = judgeEnd({
      cause: this.#cause,
      outcome,
      request: this.#begin.request,
      rates: this.#model.rates,
      held: this.#hold.held,
      callsMade: this.#callsMade,
      seq: this.#seq,
      known: { ...this.#known, textBytes: this.#reply.textBytes },
    })
    const told = this.#settle(judgement).then((settled) =>
      this.#tell(settled === 'closed' ? this.#closed(judgement) : judgement, { outcome, settled }),
    )
    const message = "The turn has not been settled yet. Look up its charge in the session's transactions later."
    const seq = this.#seq + 1
    return await lineInTime(told, () =>
      failureLine({ seq, code: 'INTERNAL_ERROR', message, at: this.#parts.clock.now() }),
    )
  }

  /** Adjusts the judgement of a turn that another node has closed. Such a turn is neither charged nor stored. */
  #closed(judgement: Judgement): Judgement {
    if (judgement.turnOutcome !== 'failed' || judgement.cost > 0) this.#cause = 'lost'
    return { ...judgement, turnOutcome: 'failed', cost: 0 }
  }

  #tell(judgement: Judgement, { outcome, settled }: { outcome: RunOutcome; settled: Settled }): string {
    const { summary, turnOutcome } = judgement
    const failure = turnOutcome === 'finished' ? null : describeEnd(this.#cause, outcome)
    const { charged: cost, writtenOff } = settled === 'closed' ? { charged: 0, writtenOff: 0 } : settled
    const { request, requestId, span } = this.#begin
    reportTurn(this.#parts, {
      request,
      requestId,
      span,
      end: turnOutcome,
      code: failure?.code ?? null,
      used: summary.used,
      model: this.#model.id,
      cost: judgement.cost,
      charged: cost,
      providerCost: this.#providerCost(judgement),
      writtenOff,
      seconds: (performance.now() - this.#startedAt) / 1000,
    })
    const told = { seq: this.#seq + 1, cost, at: this.#parts.clock.now() }
    return failure ? failureLine({ ...failure, ...told }) : doneLine({ ...told, ...summary })
  }

  #cost(used: ChatUsed): Units {
    return chatHold(used, this.#model.rates)
  }

  /** Returns what the provider charges the operator. For a failed reply, includes only reported usage. */
  #providerCost({ summary, turnOutcome }: Judgement): number | null {
    const { reported, used } = summary
    return this.#model.providerCost(turnOutcome === 'failed' ? (reported ?? chatUse({})) : used)
  }

  async #settle({ cost, summary, turnOutcome: outcome }: Judgement): Promise<Settled> {
    const { isKept, parts, replaces, request } = this.#begin
    const onSettled = () => {
      this.#room.release()
      this.#begin.onSettled()
    }
    if (this.#cause === 'lost') {
      onSettled()
      return 'closed'
    }
    const { isEstimated, messageTokens, replyTokens, used } = summary
    const { text, toolCalls } = this.#reply
    const input: SettleTurn = {
      turnId: request.turnId,
      outcome,
      ...(cost === 0 ? { cost } : chatCost(used, this.#model.rates)),
      providerCost: this.#providerCost({ cost, summary, turnOutcome: outcome }),
      model: this.#model.id,
      breakdown: { ...storedUse(used), ...this.#model.onReceipt, isEstimated },
      exchange:
        outcome === 'failed' || !isKept
          ? null
          : {
              message: { content: request.message.toWellFormed(), tokens: messageTokens, parts, replaces },
              reply: { content: text.toWellFormed(), tokens: replyTokens, toolCalls },
            },
    }
    const settled = settleWithRetries(this.#parts, { userId: request.userId, settle: input })
    void settled.then(onSettled)
    return await settled
  }
}
