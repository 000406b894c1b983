import type { FinishReason } from 'ai'
import { filesAtMost } from '../files/file-tokens.ts'
import type { HeldStep, ReplyRun } from '../run/open-steps.ts'
import { chatUse, type ChatUsed } from '../../billing/chat-price.ts'
import { countTokens } from '../run/count-tokens.ts'
import type { FinishReason as ReplyReason } from '../run/chat-messages.ts'
import type { ChatPart } from '../config/define-config.ts'
import type { ModelUsage } from '../threads/delta-bypass.ts'
import { promptSize, promptTexts, type PromptSize, type PromptTexts } from '../run/prompt-size.ts'

type Usage = Extract<ChatPart, { type: 'usage' }>
type ModelStepsParts = {
  /** Of the agent, shared by files that have no bound of their own. */
  contextTokens: number
  openStep: ReplyRun['openStep']
  onUsage: (usage: Usage) => void
}
type Sent = PromptTexts & { size: PromptSize }
/** A request whose provider has reported its tokens. */
type CountedRequest = { sent: Sent; tokens: number; thought: number }
type Begun = {
  held: HeldStep
  sent: Sent
  promptTokensMax: number
  /** The latest counted request before this one, which begins with its texts. */
  before: CountedRequest | undefined
  written: string[]
  thought: string[]
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
 * reported what it used. What the provider does not report is counted: the texts that it was sent and that it wrote.
 */
export class ModelSteps {
  readonly #parts: ModelStepsParts
  /** The oldest first: the SDK may begin one before it is seen that the one before has ended. */
  readonly #begun: Begun[] = []
  #counted: CountedRequest | undefined
  /** Tokens of all reasoning so far: some providers keep it, and what they are sent only refers to it. */
  #thought = 0

  constructor(parts: ModelStepsParts) {
    this.#parts = parts
  }

  /** How many tokens the call may write. Rejects when the reply is stopped. */
  async begin(request: Parameters<typeof promptTexts>[0] & { maxOutputTokens: number }): Promise<number> {
    const latest = this.#begun.at(-1)
    // The SDK tries again where the provider gave no answer, and what that may cost is held.
    if (latest && !latest.isAnswered) return latest.held.outputTokensMax
    const texts = promptTexts(request)
    const size = promptSize(texts)
    const before = this.#counted
    let promptTokens = Math.ceil(size.bytes / bytesPerToken) + size.files.tokens
    const { contextTokens } = this.#parts
    const files = filesAtMost(size.files, { contextTokens, promptTokens })
    const whole = size.bytes + size.around + files + this.#thought
    let promptTokensMax = whole
    if (before) {
      const added = Math.max(0, size.bytes - before.sent.size.bytes)
      const around = Math.max(0, size.around - before.sent.size.around)
      // A reply adds no files.
      promptTokensMax = Math.min(whole, before.tokens + before.thought + added + around)
      promptTokens = before.tokens + Math.ceil(added / bytesPerToken)
    }
    promptTokens = Math.min(promptTokens, promptTokensMax)
    const step: Begun = {
      held: { outputTokensMax: 0, onEnd: () => {} },
      sent: { ...texts, size },
      promptTokensMax,
      before,
      written: [],
      thought: [],
      usage: undefined,
      isAnswered: false,
      isTold: false,
    }
    const count = () => countedUse(step)
    step.held = await this.#parts.openStep({
      promptTokens,
      promptTokensMax,
      outputTokensMax: request.maxOutputTokens,
      count,
    })
    this.#begun.push(step)
    return step.held.outputTokensMax
  }

  /** The provider begins to answer the latest call. */
  answered(): void {
    const latest = this.#begun.at(-1)
    if (latest) latest.isAnswered = true
  }

  /** A piece of what the model writes in the latest call: text, reasoning, or arguments of a tool. */
  wrote(text: string, isThought = false): void {
    const latest = this.#begun.at(-1)
    if (latest) latest[isThought ? 'thought' : 'written'].push(text)
  }

  /** The model's stream has ended with this; what of it is unknown is counted when the step has ended. */
  reported(usage: ModelUsage): void {
    const latest = this.#begun.at(-1)
    if (!latest) return
    latest.usage = usage
    // No prompt has no tokens: a count of zero is none.
    const { inputTokens, outputTokens } = usage
    if (inputTokens.total && outputTokens.total) this.#tell(latest, chatUse({}))
  }

  /** The SDK has come to the end of a call. */
  async end(reason: FinishReason): Promise<void> {
    const ended = this.#begun.shift()
    if (!ended) return
    ended.held.onEnd(reasons[reason])
    if (!ended.isTold) this.#tell(ended, await countedUse(ended))
  }

  /** `counted` stands in for what the provider did not report. */
  #tell(step: Begun, counted: ChatUsed): void {
    if (step.isTold) return
    step.isTold = true
    const { inputTokens, outputTokens } = step.usage ?? {}
    const sent = inputTokens?.total || undefined
    const made = outputTokens?.total || undefined
    const promptTokens = sent ?? counted.promptTokens
    const completionTokens = made ?? counted.completionTokens
    const thought = Math.min(outputTokens?.reasoning ?? counted.reasoningTokens, completionTokens)
    this.#thought += thought
    if (sent !== undefined) this.#counted = { tokens: sent, thought, sent: step.sent }
    this.#parts.onUsage({
      type: 'usage',
      promptTokens,
      completionTokens,
      reasoningTokens: thought,
      cachedPromptTokens: Math.min(inputTokens?.cacheRead ?? 0, promptTokens),
      isEstimated: sent === undefined || (made === undefined && (outputTokens?.total !== 0 || hasWritten(step))),
    })
  }
}

function hasWritten({ thought, written }: Begun): boolean {
  return thought.length + written.length > 0
}

/** The tokens of a call by its texts, within what was held for it. */
async function countedUse(step: Begun): Promise<ChatUsed> {
  const { before, held, promptTokensMax, sent, thought, written } = step
  const thoughtTokens = await countTokens([thought.join('')])
  const reasoningTokens = Math.min(thoughtTokens, held.outputTokensMax)
  const writtenTokens = await countTokens([written.join('')])
  const completionTokens = Math.min(thoughtTokens + writtenTokens, held.outputTokensMax)
  return chatUse({
    promptTokens: Math.min(await promptTokensOf(sent, before), promptTokensMax),
    completionTokens,
    reasoningTokens,
  })
}

/** Counts only what comes behind the texts that a provider has counted already. */
async function promptTokensOf({ size, texts }: Sent, before: CountedRequest | undefined): Promise<number> {
  if (!before) return size.files.tokens + (await countTokens(texts))
  const earlier = before.sent.texts
  let same = 0
  while (same < earlier.length && earlier[same] === texts[same]) same++
  return before.tokens + (await countTokens(texts.slice(same)))
}
