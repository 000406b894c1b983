import type { FinishReason } from 'ai'
import type { HeldStep, ReplyRun } from './catalogue.ts'
import { roughTokens } from './chat-messages.ts'
import type { ChatPart } from './define-config.ts'
import type { ModelUsage } from './delta-shortcut.ts'
import { promptSize, type PromptSize } from './prompt-size.ts'

type Usage = Extract<ChatPart, { type: 'usage' }>
type ModelStepsParts = { openStep: ReplyRun['openStep']; onUsage: (usage: Usage) => void }
type Begun = { held: HeldStep; size: PromptSize; promptTokens: number }

const bytesPerToken = 4

/**
 * The calls of a model in one reply. Each is held before the provider hears of it, and told of when the provider has
 * reported what it used, or by the length of its texts where the provider does not.
 */
export class ModelSteps {
  readonly #parts: ModelStepsParts
  #step: Begun | undefined
  /** A request that its provider has counted: the next one begins with it. */
  #counted: { tokens: number; size: PromptSize } | undefined
  #usage: ModelUsage | undefined
  #isTold = false
  #written = ''

  constructor(parts: ModelStepsParts) {
    this.#parts = parts
  }

  /** How many tokens the call may write. Rejects when the reply is stopped. */
  async begin(sent: Parameters<typeof promptSize>[0] & { maxOutputTokens: number }): Promise<number> {
    const size = promptSize(sent)
    const whole = size.bytes + size.around
    let promptTokensMax = whole
    let promptTokens = Math.ceil(size.bytes / bytesPerToken)
    if (this.#counted) {
      const before = this.#counted
      const added = Math.max(0, size.bytes - before.size.bytes)
      promptTokensMax = Math.min(whole, before.tokens + added + Math.max(0, size.around - before.size.around))
      promptTokens = before.tokens + Math.ceil(added / bytesPerToken)
    }
    promptTokens = Math.min(promptTokens, promptTokensMax)
    const step = { promptTokens, promptTokensMax, outputTokensMax: sent.maxOutputTokens }
    const held = await this.#parts.openStep(step)
    this.#step = { held, size, promptTokens }
    this.#usage = undefined
    this.#isTold = false
    this.#written = ''
    return held.outputTokensMax
  }

  wrote(text: string): void {
    this.#written += text
  }

  /** The model's stream has ended with this; what of it is unknown is estimated when the step has ended. */
  reported(usage: ModelUsage): void {
    this.#usage = usage
    if (usage.inputTokens.total !== undefined && usage.outputTokens.total !== undefined) this.#tell()
  }

  end(reason: FinishReason): void {
    if (reason === 'length') this.#step?.held.onFull()
    this.#tell()
  }

  #tell(): void {
    const step = this.#step
    if (!step || this.#isTold) return
    this.#isTold = true
    const { inputTokens, outputTokens } = this.#usage ?? {}
    if (inputTokens?.total !== undefined) this.#counted = { tokens: inputTokens.total, size: step.size }
    const promptTokens = inputTokens?.total ?? step.promptTokens
    const completionTokens = outputTokens?.total ?? roughTokens(this.#written)
    this.#parts.onUsage({
      type: 'usage',
      promptTokens,
      completionTokens,
      reasoningTokens: Math.min(outputTokens?.reasoning ?? 0, completionTokens),
      cachedPromptTokens: Math.min(inputTokens?.cacheRead ?? 0, promptTokens),
      isEstimated: inputTokens?.total === undefined || outputTokens?.total === undefined,
    })
  }
}
