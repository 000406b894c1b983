import {
  addUse,
  callUse,
  chatHold,
  chatUse,
  mostExpensiveUse,
  outputBesideTool,
  highestRates,
  isLongPrompt,
  outputWithin,
  ratesByModel,
  type ChatRates,
  type ChatUsed,
} from '../../billing/chat-price.ts'
import { isCount } from '../../billing/task-charges.ts'
import type { Units } from '../../kernel/money.ts'
import type { ModelStep } from './chat-messages.ts'
import type { ChatPart } from '../config/define-config.ts'

/** Token rates for a task. `cap` is the maximum cost, or null if the task has a fixed price. */
export type TokenTerms = { rates: ChatRates; cap: Units | null }

export type TokenUse = { used: ChatUsed; model: number; isEstimated: boolean }

/** Thrown if the remainder of a task's maximum cost does not cover the next model or tool call. */
export class MaxCostError extends Error {
  override readonly name = 'MaxCostError'
}

/** Adds up the tokens of one task, and limits each model call to the remainder of the task's maximum cost. */
export class TaskTokens {
  readonly #cap: Units | null
  readonly #rates: ChatRates
  #used = chatUse({})
  #model = 0
  #hasAnswered = false
  #isEstimated = false
  isLastCall = false
  isCallCut = false

  constructor({ cap, rates }: TokenTerms) {
    this.#cap = cap
    this.#rates = rates
  }

  /** The maximum cost, or null if the task has a fixed price. */
  get cap(): Units | null {
    return this.#cap
  }

  get use(): TokenUse {
    return { used: this.#used, model: this.#model, isEstimated: this.#isEstimated }
  }

  setModel(model: number, hasAnswered: boolean): void {
    this.#model = model
    this.#hasAnswered = hasAnswered
  }

  get ratesMax(): ChatRates {
    return this.#hasAnswered ? (ratesByModel(this.#rates)[this.#model] ?? this.#rates) : highestRates(this.#rates)
  }

  /**
   * Returns the output-token limit of a model call. Throws a MaxCostError if the rest of the maximum cost does not
   * cover the call. `used` is an upper bound on the usage so far.
   */
  open({ hasTools = false, outputTokensMax, promptTokensMax }: ModelStep, used = this.#used): number {
    if (this.#cap === null) return outputTokensMax
    const rates = this.ratesMax
    const upTo = (completionTokens: number) =>
      addUse(used, mostExpensiveUse({ promptTokens: promptTokensMax, completionTokens }, rates))
    const isLong = isLongPrompt(promptTokensMax, rates)
    const within = hasTools ? outputBesideTool : outputWithin
    const most = within(this.#cap, { used: upTo(0), rates, isLong })
    if (most < 1)
      throw new MaxCostError(
        'The maximum cost of the task does not cover another model call. Raise maxCostUsd or shorten the params.',
      )
    const tokens = Math.min(outputTokensMax, most)
    this.isCallCut = tokens < outputTokensMax
    const next = mostExpensiveUse({ promptTokens: promptTokensMax + tokens, completionTokens: 1 }, rates)
    this.isLastCall = this.isCallCut || chatHold(addUse(upTo(tokens), next), rates) > this.#cap
    return tokens
  }

  report({ isEstimated = false, ...counts }: Omit<Extract<ChatPart, { type: 'usage' }>, 'type'>): void {
    const wrong = Object.values(counts).find((value) => typeof value === 'number' && !isCount(value))
    if (wrong !== undefined)
      throw new Error(`The model provider reported an invalid token count (${String(wrong)}). Try again.`)
    this.#used = addUse(this.#used, callUse(counts, ratesByModel(this.#rates)[this.#model] ?? this.#rates))
    this.#isEstimated ||= isEstimated
  }

  callTool(): void {
    const used = { ...this.#used, toolCalls: this.#used.toolCalls + 1 }
    this.assertCovered(used)
    this.#used = used
  }

  /** Throws a MaxCostError if `used` costs more than the task's maximum. */
  assertCovered(used: ChatUsed): void {
    if (this.#cap !== null && chatHold(used, this.ratesMax) > this.#cap)
      throw new MaxCostError(
        'The maximum cost of the task does not cover more text or another tool call. Raise maxCostUsd or shorten the params.',
      )
  }

  /** Adds the usage of a whole reply. */
  add({ isEstimated, used }: Pick<TokenUse, 'isEstimated' | 'used'>): void {
    this.#used = addUse(this.#used, used)
    this.#isEstimated ||= isEstimated
  }
}
