import {
  addUse,
  callUse,
  chatUse,
  dearestUse,
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

/** An open model call, as the agent thread sees it. */
export type OpenStep = ModelStep & {
  /**
   * Counts the call's usage so far. The start of the prompt that an earlier request of the conversation already
   * contained counts as cached. Absent for agents that call their models themselves.
   */
  count?: () => Promise<Partial<TokenCounts>>
}

export type ReplyUseOptions = {
  message: string
  /**
   * Estimated and maximum tokens of history and files. Together with the message they form the prompt of an agent that
   * reports no usage.
   */
  around: { tokens: number; tokensMax: number }
  /**
   * Whether the steps announce every prompt of the reply. If not, `message` and `around` count as the prompt until the
   * first report.
   */
  isPromptKnown: boolean
  isHistoryCached: boolean
  /** Whether prompts are marked as cacheable; `'1h'` if for an hour. */
  caching: boolean | '1h'
  rates: ChatRates
  /** Maximum cost of the whole turn, from balance, caps and limits at admission. */
  room: Units
}

type Kind = 'text' | 'reasoning'
/** Running token counts since the last usage report, and the count of the message. */
type Counts = { message: number } & Record<Kind, TokenCount>

const bytesPerToken = 4
/**
 * Bytes per token, above the average of any language. Only a model that ignores its output limit writes more text than
 * this.
 */
const bytesPerTokenMax = 16
const bytesPerCharMax = 3
/** Minimum length of a prompt that providers cache. */
const cachedTokensMin = 1024

/**
 * Adds up what a reply uses: the agent's reports, and an estimate of the text since the last report.
 *
 * At first, the bound for that text is one token per byte. When this bound reaches half of the turn's maximum cost, the
 * class starts to count tokens as they arrive. From then on the hold equals the charge, so a reply can use its cap
 * completely. Counting from the start would slow down streams that never come near a cap.
 */
export class ReplyUse {
  readonly #options: ReplyUseOptions
  #reported = chatUse({})
  /** Model calls without a usage report, oldest first. A call can start before the previous report is read. */
  #steps: OpenStep[] = []
  /** Bytes since the last report, and the text that is not counted yet. */
  #bytes = { text: 0, reasoning: 0 }
  #texts = uncounted()
  #counts: Counts | undefined
  /** Counting starts at this many unreported bytes. */
  #countFromBytes: number
  /** Rates of the model that answers or is called, and upper-bound rates over all models that may still answer. */
  #rates: ChatRates
  #ratesMax: ChatRates
  /** Index of the model that was called last; undefined if the agent has only one. */
  #called: number | undefined
  #hasAnswered = false
  readonly calls = new Set<string>()
  /**
   * Whether the agent announces each of its model calls through `modelCall`. The reply then costs what the calls used,
   * whatever text it shows.
   */
  isByCall = false
  hasReported = false
  /** Whether the agent marked a report as its own estimate. */
  hasEstimates = false

  constructor(options: ReplyUseOptions) {
    this.#options = options
    ;[this.#rates] = ratesByModel(options.rates) as [ChatRates]
    this.#ratesMax = highestRates(options.rates)
    if (options.rates.fallbacks) this.#called = 0
    this.#countFromBytes = this.#bytesBeforeCounting()
  }

  /** Called before a request to one of several models, and when that model has started to answer. */
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

  /** Index of the model that was called last; undefined if the agent has only one. */
  get called(): number | undefined {
    return this.#called
  }

  /** Index of the answering model; undefined if the agent has only one, or none has started to answer. */
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

  /** Adds a model call that is about to start. Its maximum cost is already held. */
  beginStep(step: OpenStep): void {
    this.#steps.push(step)
  }

  /** Removes a model call that failed, which costs nothing. */
  dropStep(step: OpenStep): void {
    this.#steps = this.#steps.filter((open) => open !== step)
    if (this.#steps.length === 0) this.#forgetText()
  }

  /** Text so far costs nothing: from now on the reply costs what its model calls use. */
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
   * Applies a report to `step`, or else to the oldest open model call. If no call is open, applies it to everything since
   * the last report.
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

  /** Whether a model call is open, or there is text since the agent's last usage report. */
  get hasUnreported(): boolean {
    return this.hasOpenStep || this.#bytes.text + this.#bytes.reasoning > 0
  }

  /** Whether the agent has written, called or reported anything. Until then the reply has used nothing. */
  get hasBegun(): boolean {
    return this.hasReported || this.hasUnreported || this.calls.size > 0
  }

  /** Whether `startCounting` must finish before this text is added. */
  mustCountBefore(text: unknown): boolean {
    if (this.#counts || this.isByCall || this.hasOpenStep || typeof text !== 'string') return false
    return this.#bytes.text + this.#bytes.reasoning + text.length * bytesPerCharMax > this.#countFromBytes
  }

  /** Makes `used` and `bound` count tokens from now on. */
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

  /** Usage so far: counted after `startCounting` has resolved, estimated by length before. */
  get used(): ChatUsed {
    const { around, message } = this.#options
    return this.#withUnreported(bytesPerToken, around.tokens + (this.#counts?.message ?? roughTokens(message)))
  }

  /** Usage so far by token count, including prompts and output of open model calls. */
  async countUsed(): Promise<ChatUsed> {
    await this.startCounting()
    if (!this.isPromptKnown) return this.used
    const open = await Promise.all(this.#steps.map(async ({ count }) => (await count?.()) ?? {}))
    return open.map((used) => callUse(this.#cached(used), this.#rates)).reduce(addUse, this.reported)
  }

  /**
   * Whether to price earlier prompt content as cached. Requires a report of cached tokens, so that stopping a reply
   * never makes it cheaper than completing it.
   */
  get #isCached(): boolean {
    const { isHistoryCached } = this.#options
    return (
      this.#rates.cacheRead < this.#rates.input &&
      // Another model has its own cache.
      ((isHistoryCached && !this.#called) || this.#reported.cachedPromptTokens + this.#reported.cacheWriteTokens > 0)
    )
  }

  /** Adds the tokens that the provider probably read from and wrote to its cache to an estimated use. */
  #cached({ cachedPromptTokens: sentBefore = 0, ...used }: Partial<TokenCounts>): Partial<TokenCounts> {
    const { promptTokens = 0 } = used
    const { caching } = this.#options
    const cachedPromptTokens = this.#isCached ? sentBefore : 0
    const written = caching !== false && promptTokens >= cachedTokensMin ? promptTokens - cachedPromptTokens : 0
    const cacheWrite1hTokens = caching === '1h' ? written : 0
    return { ...used, cachedPromptTokens, cacheWriteTokens: written, cacheWrite1hTokens }
  }

  /** Tokens of the message, and of the text since the last report: counted or estimated. */
  get tokens(): { message: number; text: number } {
    const { message = roughTokens(this.#options.message), text } = this.#counts ?? {}
    return { message, text: text?.tokens ?? Math.ceil(this.#bytes.text / bytesPerToken) }
  }

  /** Upper bound of the usage so far. Open model calls count with everything that is held for them. */
  get bound(): ChatUsed {
    const { around, message } = this.#options
    // Text outside of held model calls can have as many tokens as it has bytes.
    if (!this.hasOpenStep)
      return this.#withUnreported(1, around.tokensMax + (this.#counts?.message ?? tokensAtMost(message)))
    const written = Math.ceil((this.#bytes.text + this.#bytes.reasoning) / bytesPerTokenMax)
    const mayWrite = this.#steps.reduce((sum, { outputTokensMax }) => sum + outputTokensMax, 0)
    let beyond = Math.max(0, written - mayWrite)
    let bound = this.reported
    for (const { outputTokensMax, promptTokensMax: promptTokens } of this.#steps) {
      bound = addUse(bound, dearestUse({ promptTokens, completionTokens: outputTokensMax + beyond }, this.#ratesMax))
      beyond = 0
    }
    return bound
  }

  /** Bytes of text that half of `room` covers, at one token per byte. */
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
    // All of the first prompt except the message was sent to the provider before.
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
