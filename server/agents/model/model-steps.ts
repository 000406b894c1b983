import type { FinishReason } from 'ai'
import type { HeldStep, ReplyRun } from '../run/open-steps.ts'
import { roughTokens, type FinishReason as ReplyReason } from '../run/chat-messages.ts'
import type { ChatPart } from '../config/define-config.ts'
import type { ModelUsage } from '../threads/delta-bypass.ts'
import { promptSize, type PromptSize } from '../run/prompt-size.ts'

type Usage = Extract<ChatPart, { type: 'usage' }>
type ModelStepsParts = { openStep: ReplyRun['openStep']; onUsage: (usage: Usage) => void }
type Begun = {
  held: HeldStep
  size: PromptSize
  promptTokens: number
  written: string
  usage: ModelUsage | undefined
  isAnswered: boolean
  isTold: boolean
}

const bytesPerToken = 4
/** A reply whose last step calls tools ended at the agent's `maxSteps`. */
const reasons: Partial<Record<FinishReason, ReplyReason>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'length',
  'content-filter': 'content_filter',
}

/**
 * The calls of a model in one reply. Each is held before the provider hears of it, and told of when the provider has
 * reported what it used, or by the length of its texts where the provider does not.
 */
export class ModelSteps {
  readonly #parts: ModelStepsParts
  /** The oldest first: the SDK may begin one before it is seen that the one before has ended. */
  readonly #begun: Begun[] = []
  /** A request that its provider has counted: the next one begins with it, and with what was thought about it. */
  #counted: { tokens: number; thought: number; size: PromptSize } | undefined
  /** What was thought so far: some providers keep it, and what they are sent only refers to it. */
  #thought = 0

  constructor(parts: ModelStepsParts) {
    this.#parts = parts
  }

  /** How many tokens the call may write. Rejects when the reply is stopped. */
  async begin(sent: Parameters<typeof promptSize>[0] & { maxOutputTokens: number }): Promise<number> {
    const latest = this.#begun.at(-1)
    // The SDK tries again where the provider gave no answer, and what that may cost is held.
    if (latest && !latest.isAnswered) return latest.held.outputTokensMax
    const size = promptSize(sent)
    const whole = size.bytes + size.around + size.files.tokensMax + this.#thought
    let promptTokensMax = whole
    let promptTokens = Math.ceil(size.bytes / bytesPerToken) + size.files.tokens
    if (this.#counted) {
      const before = this.#counted
      const added = Math.max(0, size.bytes - before.size.bytes)
      const around = Math.max(0, size.around - before.size.around)
      // A reply adds no files.
      promptTokensMax = Math.min(whole, before.tokens + before.thought + added + around)
      promptTokens = before.tokens + Math.ceil(added / bytesPerToken)
    }
    promptTokens = Math.min(promptTokens, promptTokensMax)
    const step = { promptTokens, promptTokensMax, outputTokensMax: sent.maxOutputTokens }
    const held = await this.#parts.openStep(step)
    const told = { written: '', usage: undefined, isAnswered: false, isTold: false }
    this.#begun.push({ ...told, held, size, promptTokens })
    return held.outputTokensMax
  }

  /** The provider begins to answer the latest call. */
  answered(): void {
    const latest = this.#begun.at(-1)
    if (latest) latest.isAnswered = true
  }

  /** A text of the latest call, as the model wrote it. */
  wrote(text: string): void {
    const latest = this.#begun.at(-1)
    if (latest) latest.written += text
  }

  /** A text of the call that the SDK has come to. */
  passed(text: string): void {
    const current = this.#begun[0]
    if (current) current.written += text
  }

  /** The model's stream has ended with this; what of it is unknown is estimated when the step has ended. */
  reported(usage: ModelUsage): void {
    const latest = this.#begun.at(-1)
    if (!latest) return
    latest.usage = usage
    // No prompt has no tokens: a count of zero is none, and texts that are still to come may have to be counted.
    if (usage.inputTokens.total && usage.outputTokens.total) this.#tell(latest)
  }

  /** The SDK has come to the end of a call. */
  end(reason: FinishReason): void {
    const ended = this.#begun.shift()
    if (!ended) return
    ended.held.onEnd(reasons[reason])
    this.#tell(ended)
  }

  #tell(step: Begun): void {
    if (step.isTold) return
    step.isTold = true
    const { inputTokens, outputTokens } = step.usage ?? {}
    const sent = inputTokens?.total || undefined
    const made = outputTokens?.total || undefined
    const promptTokens = sent ?? step.promptTokens
    const completionTokens = made ?? Math.min(roughTokens(step.written), step.held.outputTokensMax)
    const thought = Math.min(outputTokens?.reasoning ?? 0, completionTokens)
    this.#thought += thought
    if (sent !== undefined) this.#counted = { tokens: sent, thought, size: step.size }
    this.#parts.onUsage({
      type: 'usage',
      promptTokens,
      completionTokens,
      reasoningTokens: thought,
      cachedPromptTokens: Math.min(inputTokens?.cacheRead ?? 0, promptTokens),
      isEstimated: sent === undefined || (made === undefined && (outputTokens?.total !== 0 || step.written !== '')),
    })
  }
}
