import {
  addUse,
  callUse,
  chatUse,
  mostExpensiveUse,
  highestRates,
  outputWithin,
  ratesByModel,
  type ChatRates,
  type ChatUsed,
  type TokenCounts,
} from '../../billing/chat-price.ts'
import type { Units } from '../../kernel/money.ts'
import { roughTokens, tokensAtMost, type ModelStep } from './chat-messages.ts'
import { TokenCount, UncountedText } from './count-tokens.ts'

export type OpenStep = ModelStep & {
  /**
   * Counts the usage of the call so far. Prompt content that an earlier request already contained counts as cached.
   * Absent for agents that call their models themselves.
   */
  count?: () => Promise<Partial<TokenCounts>>
}

export type ReplyUseOptions = {
  message: string
  /**
   * Estimated and maximum number of tokens in the history and files. If an agent reports no usage, these and the
   * message count as its prompt.
   */
  around: { tokens: number; tokensMax: number }
  /**
   * Whether the steps announce every prompt in the reply. If not, `message` and `around` count as the prompt until the
   * first report.
   */
  isPromptKnown: boolean
  isHistoryCached: boolean
  /** Whether prompts are marked as cacheable. `'1h'` requests a cache lifetime of one hour. */
  caching: boolean | '1h'
  rates: ChatRates
  /** Maximum cost of the whole turn: the minimum of balance, caps and limits at admission. */
  room: Units
}

type Kind = 'text' | 'reasoning'
/** Token counts of the message, and of the text and reasoning since the last usage report. */
type Counts = { message: number } & Record<Kind, TokenCount>

const bytesPerToken = 4
/**
 * Maximum bytes per token, above the average of any language. Only a model that ignores its output limit generates more
 * than this per reserved token.
 */
const bytesPerTokenMax = 16
const bytesPerCharMax = 3
const cachedTokensMin = 1024

/**
 * Adds up the usage of a reply: the agent's reports plus an estimate for the text since the last report.
 *
 * At first, the upper bound for that text is one token per byte. When the bound reaches half of the turn's maximum
 * cost, the class starts counting tokens as they arrive. From then on the reserved amount equals the charge, so a reply
 * can use its whole cap. Counting from the start would slow down replies that never come near a cap.
 */
export class ReplyUse {
  readonly #options: ReplyUseOptions
  #reported = chatUse({})
  /**
   * Model calls without a usage report, oldest first. A call can start before the report of the previous one is read.
   */
  #steps: OpenStep[] = []
  /** Bytes since the last report. `#texts` is the text that has not been counted yet. */
  #bytes = { text: 0, reasoning: 0 }
  #texts = uncounted()
  #counts: Counts | undefined
  #countFromBytes: number
  /** Rates of the current model. `#ratesMax` is the maximum over all models that may still answer. */
  #rates: ChatRates
  #ratesMax: ChatRates
  /** Index of the model that was called last. Undefined if the agent has only one model. */
  #called: number | undefined
  #hasAnswered = false
  readonly calls = new Set<string>()
  /**
   * Whether the agent announces its model calls through `modelCall`. The cost of the reply is then the usage of these
   * calls, and its text is free.
   */
  isByCall = false
  hasReported = false
  hasEstimates = false

  constructor(options: ReplyUseOptions) {
    this.#options = options
    ;[this.#rates] = ratesByModel(options.rates) as [ChatRates]
    this.#ratesMax = highestRates(options.rates)
    if (options.rates.fallbacks) this.#called = 0
    this.#countFromBytes = this.#bytesBeforeCounting()
  }

  /**
   * Sets the current model. Called before a request to one of several models, and once that model has started to
   * answer.
   */
  setModel(model: number, hasAnswered: boolean): void {
    this.#called = model
    this.#rates = ratesByModel(this.#options.rates)[model] ?? this.#rates
    this.#hasAnswered = hasAnswered
    if (!hasAnswered) return
    this.#ratesMax = this.#rates
    this.#countFromBytes = this.#bytesBeforeCounting()
  }

  get rates(): ChatRates {
    return this.#rates
  }

  get ratesMax(): ChatRates {
    return this.#ratesMax
  }

  get called(): number | undefined {
    return this.#called
  }

  /** Index of the model that answers. Undefined if the agent has only one model or none has started to answer. */
  get answering(): number | undefined {
    return this.#hasAnswered ? this.#called : undefined
  }

  get isPromptKnown(): boolean {
    return this.#options.isPromptKnown || this.isByCall
  }

  get isCounting(): boolean {
    return this.#counts !== undefined
  }

  get hasOpenStep(): boolean {
    return this.#steps.length > 0
  }

  beginStep(step: OpenStep): void {
    this.#steps.push(step)
  }

  dropStep(step: OpenStep): void {
    this.#steps = this.#steps.filter((open) => open !== step)
    if (this.#steps.length === 0) this.#forgetText()
  }

  /** Makes the usage of the model calls the cost of the reply from now on. The text so far becomes free. */
  countByCall(): void {
    if (this.isByCall) return
    this.isByCall = true
    this.#forgetText()
  }

  wrote(kind: Kind, text: string): void {
    this.#bytes[kind] += Buffer.byteLength(text)
    const written = this.#counts ?? this.#texts
    written[kind].add(text)
  }

  /**
   * Applies a usage report to `step`, by default the oldest open model call. If no call is open, the report covers
   * everything since the last report.
   */
  report(used: ChatUsed, isEstimated: boolean, step = this.#steps[0]): void {
    this.#reported = addUse(this.#reported, used)
    this.#forgetText()
    this.#steps = this.#steps.filter((open) => open !== step)
    this.hasReported = true
    this.hasEstimates ||= isEstimated
    this.#countFromBytes = this.#bytesBeforeCounting()
  }

  #forgetText(): void {
    this.#bytes = { text: 0, reasoning: 0 }
    this.#texts = uncounted()
    if (!this.#counts) return
    const { message, text } = this.#counts
    this.#counts = { message, text: text.anew(), reasoning: text.anew() }
  }

  get reported(): ChatUsed {
    return { ...this.#reported, toolCalls: this.calls.size }
  }

  get reportedOrNull(): ChatUsed | null {
    return this.hasReported ? this.reported : null
  }

  get hasUnreported(): boolean {
    return this.hasOpenStep || this.#bytes.text + this.#bytes.reasoning > 0
  }

  /** Whether the agent has generated text, called a tool or reported usage. Until then the reply is free. */
  get hasBegun(): boolean {
    return this.hasReported || this.hasUnreported || this.calls.size > 0
  }

  /** Whether `startCounting` must finish before this text is added. */
  mustCountBefore(text: unknown): boolean {
    if (this.#counts || this.isByCall || this.hasOpenStep || typeof text !== 'string') return false
    return this.#bytes.text + this.#bytes.reasoning + text.length * bytesPerCharMax > this.#countFromBytes
  }

  /** Makes `used` and `bound` count tokens from now on, instead of estimating them. */
  async startCounting(): Promise<void> {
    if (this.#counts) return
    const message = await TokenCount.create([this.#options.message])
    if (this.#counts) return
    const { reasoning, text } = (this.#counts = {
      message: message.tokens,
      text: message.anew(),
      reasoning: message.anew(),
    })
    this.#texts.text.addTo(text)
    this.#texts.reasoning.addTo(reasoning)
    this.#texts = uncounted()
  }

  /** Usage so far. Estimated from the length of the text, or counted once `startCounting` has resolved. */
  get used(): ChatUsed {
    const { around, message } = this.#options
    return this.#withUnreported(bytesPerToken, around.tokens + (this.#counts?.message ?? roughTokens(message)))
  }

  /** Returns the counted usage so far, including prompts and output of open model calls. */
  async countUsed(): Promise<ChatUsed> {
    await this.startCounting()
    if (!this.isPromptKnown) return this.used
    const open = await Promise.all(this.#steps.map(async ({ count }) => (await count?.()) ?? {}))
    return open.map((used) => callUse(this.#cached(used), this.#rates)).reduce(addUse, this.reported)
  }

  /**
   * Whether to price earlier prompt content as cached. Requires that the provider has reported cached tokens, so that a
   * stopped reply is never cheaper than a completed one.
   */
  get #isCached(): boolean {
    const { isHistoryCached } = this.#options
    return (
      this.#rates.cacheRead < this.#rates.input &&
      // Each model has its own cache, and only the cache of the first model contains the history.
      ((isHistoryCached && !this.#called) || this.#reported.cachedPromptTokens + this.#reported.cacheWriteTokens > 0)
    )
  }

  /** Adds the provider's probable cache reads and writes to an estimated usage. */
  #cached({ cachedPromptTokens: sentBefore = 0, ...used }: Partial<TokenCounts>): Partial<TokenCounts> {
    const { promptTokens = 0 } = used
    const { caching } = this.#options
    const cachedPromptTokens = this.#isCached ? sentBefore : 0
    const written = caching !== false && promptTokens >= cachedTokensMin ? promptTokens - cachedPromptTokens : 0
    const cacheWrite1hTokens = caching === '1h' ? written : 0
    return { ...used, cachedPromptTokens, cacheWriteTokens: written, cacheWrite1hTokens }
  }

  get tokens(): { message: number; text: number } {
    const { message = roughTokens(this.#options.message), text } = this.#counts ?? {}
    return { message, text: text?.tokens ?? Math.ceil(this.#bytes.text / bytesPerToken) }
  }

  /** Upper bound of the usage so far. Open model calls count at their full reserved amount. */
  get bound(): ChatUsed {
    const { around, message } = this.#options
    // Text outside of model calls can have as many tokens as bytes.
    if (!this.hasOpenStep)
      return this.#withUnreported(1, around.tokensMax + (this.#counts?.message ?? tokensAtMost(message)))
    const written = Math.ceil((this.#bytes.text + this.#bytes.reasoning) / bytesPerTokenMax)
    const mayWrite = this.#steps.reduce((sum, { outputTokensMax }) => sum + outputTokensMax, 0)
    let beyond = Math.max(0, written - mayWrite)
    let bound = this.reported
    for (const { outputTokensMax, promptTokensMax: promptTokens } of this.#steps) {
      bound = addUse(
        bound,
        mostExpensiveUse({ promptTokens, completionTokens: outputTokensMax + beyond }, this.#ratesMax),
      )
      beyond = 0
    }
    return bound
  }

  /** Returns how many bytes of text half of `room` covers, at one token per byte. */
  #bytesBeforeCounting(): number {
    const { around, message, room } = this.#options
    const rates = this.#ratesMax
    const promptTokens = this.hasReported ? 0 : around.tokensMax + tokensAtMost(message)
    const used = addUse(this.reported, callUse({ promptTokens }, rates))
    return outputWithin(Math.floor(room / 2), { used, rates })
  }

  #withUnreported(perToken: number, prompt: number): ChatUsed {
    const thought = this.#counts?.reasoning.tokens ?? Math.ceil(this.#bytes.reasoning / perToken)
    const said = this.#counts?.text.tokens ?? Math.ceil(this.#bytes.text / perToken)
    const output = { completionTokens: said + thought, reasoningTokens: thought }
    const rates = this.#rates
    // Everything in the first prompt except the message was sent to the provider in an earlier turn.
    const added = this.#isCached ? this.tokens.message : 0
    const calls = this.#steps.map(({ promptTokens }, at) =>
      this.#cached({ promptTokens, cachedPromptTokens: Math.max(0, promptTokens - (at === 0 ? added : 0)) }),
    )
    if (calls.length === 0) calls.push({ promptTokens: this.isPromptKnown || this.hasReported ? 0 : prompt })
    const [first, ...others] = calls
    let used = addUse(this.#reported, callUse({ ...first, ...output }, rates))
    for (const call of others) used = addUse(used, callUse(call, rates))
    used.toolCalls = this.calls.size
    return used
  }
}

function uncounted(): Record<Kind, UncountedText> {
  return { text: new UncountedText(), reasoning: new UncountedText() }
}
