import { addUse, chatUse, dearestUse, outputWithin, type ChatRates, type ChatUsed } from '../../billing/chat-price.ts'
import type { Units } from '../../kernel/money.ts'
import { roughTokens, tokensAtMost, type ModelStep } from './chat-messages.ts'
import { TokenCount } from './count-tokens.ts'

/** A model call as the agent's thread knows it. */
export type OpenStep = ModelStep & {
  /** Counts what the call has used by now. Absent for agents that call their models themselves. */
  count?: () => Promise<ChatUsed>
}

export type ReplyUseOptions = {
  message: string
  /** Tokens of history and files, about and at most. Together with the message they are the prompt of an agent that reports none. */
  around: { tokens: number; tokensMax: number }
  /** Whether the prompts are those of the steps, and nothing besides. */
  isPromptKnown: boolean
  rates: ChatRates
  /** What the whole turn may cost. */
  room: Units
}

type Kind = 'text' | 'reasoning'
/** Running token counts since the last report of usage, and that of the message. */
type Counts = { message: number } & Record<Kind, TokenCount>

const bytesPerToken = 4
/** More than texts have on average: one that is longer for what its model was allowed comes from a model that ignores that. */
const bytesPerTokenMax = 16
const bytesPerCharMax = 3

/**
 * What a reply uses: what its agent reports, and by its texts what nobody has reported yet.
 *
 * A token a byte bounds such texts until that is half of what the turn may cost. From there on tokens are counted as they
 * come, so that what is held is exactly what would be charged, and a cap is used up. Counting from the start would slow
 * down streams that nothing limits.
 */
export class ReplyUse {
  readonly #options: ReplyUseOptions
  #reported = chatUse({})
  /** The model's calls whose use is not reported yet, the oldest first: one may begin before the report on another is read. */
  #steps: OpenStep[] = []
  /** Bytes and texts since the last report. */
  #bytes = { text: 0, reasoning: 0 }
  #texts: Record<Kind, string[]> = { text: [], reasoning: [] }
  #counts: Counts | undefined
  /** From so many bytes on tokens are counted. */
  #countFromBytes: number
  /** Ids of the tool calls. */
  readonly calls = new Set<string>()
  hasReported = false
  /** Whether something that the agent reported is an estimate of its own. */
  hasEstimates = false

  constructor(options: ReplyUseOptions) {
    this.#options = options
    this.#countFromBytes = this.#bytesBeforeCounting()
  }

  get isPromptKnown(): boolean {
    return this.#options.isPromptKnown
  }

  get isCounting(): boolean {
    return this.#counts !== undefined
  }

  get hasOpenStep(): boolean {
    return this.#steps.length > 0
  }

  /** A call of a model begins, and what it may cost is held. Until it is reported, nobody knows what it costs. */
  beginStep(step: OpenStep): void {
    this.#steps.push(step)
  }

  wrote(kind: Kind, text: string): void {
    this.#bytes[kind] += Buffer.byteLength(text)
    this.#texts[kind].push(text)
    this.#countTexts()
  }

  /** The model's oldest open call, or what an agent did since its last report, used this. */
  report(used: ChatUsed, isEstimated: boolean): void {
    this.#reported = addUse(this.#reported, used)
    this.#bytes = { text: 0, reasoning: 0 }
    this.#texts = { text: [], reasoning: [] }
    if (this.#counts) {
      const { message, text } = this.#counts
      this.#counts = { message, text: text.anew(), reasoning: text.anew() }
    }
    this.#steps.shift()
    this.hasReported = true
    this.hasEstimates ||= isEstimated
    this.#countFromBytes = this.#bytesBeforeCounting()
  }

  /** What the agent itself reported. */
  get reported(): ChatUsed {
    return { ...this.#reported, toolCalls: this.calls.size }
  }

  get reportedOrNull(): ChatUsed | null {
    return this.hasReported ? this.reported : null
  }

  /** Whether text came since the agent last reported what it used. */
  get hasUnreported(): boolean {
    return this.hasOpenStep || this.#bytes.text + this.#bytes.reasoning > 0
  }

  /** Whether anything was said, called or reported: until then nothing was used. */
  get hasBegun(): boolean {
    return this.hasReported || this.hasUnreported || this.calls.size > 0
  }

  /** Whether `startCounting` is due before this text is written. */
  mustCountBefore(text: unknown): boolean {
    if (this.#counts || this.hasOpenStep || typeof text !== 'string') return false
    return this.#bytes.text + this.#bytes.reasoning + text.length * bytesPerCharMax > this.#countFromBytes
  }

  /** From now on `used` counts tokens. */
  async startCounting(): Promise<void> {
    if (this.#counts) return
    const message = await TokenCount.create([this.#options.message])
    this.#counts ??= { message: message.tokens, text: message.anew(), reasoning: message.anew() }
    this.#countTexts()
  }

  /** What was used by now: exactly, once `startCounting` has resolved, and otherwise about. */
  get used(): ChatUsed {
    const { around, message } = this.#options
    return this.#withUnreported(bytesPerToken, around.tokens + (this.#counts?.message ?? roughTokens(message)))
  }

  /** What was used by now, where open model calls count what they were sent and wrote. */
  async countUsed(): Promise<ChatUsed> {
    await this.startCounting()
    if (!this.isPromptKnown) return this.used
    const open = await Promise.all(this.#steps.map(({ count }) => count?.() ?? chatUse({})))
    return open.reduce(addUse, this.reported)
  }

  /** Tokens of the message, and of the text since the last report: counted, or about. */
  get tokens(): { message: number; text: number } {
    const { message = roughTokens(this.#options.message), text } = this.#counts ?? {}
    return { message, text: text?.tokens ?? Math.ceil(this.#bytes.text / bytesPerToken) }
  }

  /** What was used by now at most: of calls of a model that are under way all that is held for them. */
  get bound(): ChatUsed {
    const { around, message, rates } = this.#options
    // A text that no call was held for may have as many tokens as bytes.
    if (!this.hasOpenStep)
      return this.#withUnreported(1, around.tokensMax + (this.#counts?.message ?? tokensAtMost(message)))
    const written = Math.ceil((this.#bytes.text + this.#bytes.reasoning) / bytesPerTokenMax)
    let promptTokens = 0
    let mayWrite = 0
    for (const { outputTokensMax, promptTokensMax } of this.#steps) {
      promptTokens += promptTokensMax
      mayWrite += outputTokensMax
    }
    const completionTokens = Math.max(mayWrite, written)
    return addUse(this.reported, dearestUse({ promptTokens, completionTokens }, rates))
  }

  #countTexts(): void {
    if (!this.#counts) return
    for (const kind of ['text', 'reasoning'] as const) {
      for (const text of this.#texts[kind]) this.#counts[kind].add(text)
      this.#texts[kind] = []
    }
  }

  /** Bytes of text that half of the room pays for, at a token a byte. */
  #bytesBeforeCounting(): number {
    const { around, message, rates, room } = this.#options
    const promptTokens = this.hasReported ? 0 : around.tokensMax + tokensAtMost(message)
    const used = addUse(this.reported, chatUse({ promptTokens }))
    return outputWithin(Math.floor(room / 2), { used, rates })
  }

  #withUnreported(perToken: number, prompt: number): ChatUsed {
    const { completionTokens, promptTokens, reasoningTokens } = this.#reported
    const thought = this.#counts?.reasoning.tokens ?? Math.ceil(this.#bytes.reasoning / perToken)
    const said = this.#counts?.text.tokens ?? Math.ceil(this.#bytes.text / perToken)
    let openPromptTokens = 0
    for (const step of this.#steps) openPromptTokens += step.promptTokens
    return {
      ...this.#reported,
      promptTokens: promptTokens + openPromptTokens || (this.isPromptKnown || this.hasReported ? 0 : prompt),
      completionTokens: completionTokens + said + thought,
      reasoningTokens: reasoningTokens + thought,
      toolCalls: this.calls.size,
    }
  }
}
