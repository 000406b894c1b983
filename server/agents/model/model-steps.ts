import type { FinishReason } from 'ai'
import { filesAtMost, sumTokens } from '../files/file-tokens.ts'
import type { HeldStep, ReplyRun } from '../run/open-steps.ts'
import type { TokenCounts } from '../../billing/chat-price.ts'
import { countTokens } from '../run/count-tokens.ts'
import type { FinishReason as ReplyReason } from '../run/chat-messages.ts'
import type { ChatPart } from '../config/define-config.ts'
import type { ModelUsage } from '../threads/delta-bypass.ts'
import { promptSize, promptTexts, type PromptSize, type PromptTexts } from '../run/prompt-size.ts'

type Usage = Extract<ChatPart, { type: 'usage' }>
type Counted = Pick<TokenCounts, 'promptTokens' | 'cachedPromptTokens' | 'completionTokens' | 'reasoningTokens'>
type ModelStepsParts = {
  /** The agent's context size, shared by files without their own bound. */
  contextTokens: number
  openStep: ReplyRun['openStep']
  onUsage: (usage: Usage) => void
}
type SentPrompt = PromptTexts & { size: PromptSize }
/** A request whose token counts the provider has reported. */
type CountedRequest = { sent: SentPrompt; tokens: number; thought: number }
type Begun = {
  held: HeldStep
  sent: SentPrompt
  promptTokensMax: number
  /** The latest earlier request with known token counts. This request starts with the same strings. */
  before: CountedRequest | undefined
  written: string[]
  thought: string[]
  usage: ModelUsage | undefined
  isAnswered: boolean
  isTold: boolean
}

const noCounts: Counted = { promptTokens: 0, cachedPromptTokens: 0, completionTokens: 0, reasoningTokens: 0 }
const bytesPerToken = 4
/** If the last step of a reply calls tools, the agent's `maxSteps` cut the reply off. */
const reasons: Partial<Record<FinishReason, ReplyReason>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'length',
  'content-filter': 'content_filter',
}

/**
 * The model calls of one reply. The cost of each call is held before it is sent to the provider, and its usage is
 * passed on once the provider reports it. Usage that the provider does not report is counted from the sent and
 * generated text.
 */
export class ModelSteps {
  readonly #parts: ModelStepsParts
  /**
   * Calls in progress, oldest first. The SDK can start a step before the stream reports the end of the previous step.
   */
  readonly #begun: Begun[] = []
  #counted: CountedRequest | undefined
  /**
   * Reasoning tokens so far. They count toward the maximum of each prompt: some providers store the reasoning, and
   * later requests only refer to it.
   */
  #thought = 0

  constructor(parts: ModelStepsParts) {
    this.#parts = parts
  }

  /** Resolves with the output-token limit of the call. Rejects if the reply is stopped. */
  async begin(request: Parameters<typeof promptTexts>[0] & { maxOutputTokens: number }): Promise<number> {
    const latest = this.#begun.at(-1)
    // The SDK retries a call that got no answer. Its cost is already held.
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
      // No files are added within a reply.
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

  /** Called when the provider starts to answer the latest call. */
  answered(): void {
    const latest = this.#begun.at(-1)
    if (latest) latest.isAnswered = true
  }

  /** Adds output of the latest call: text, reasoning or tool arguments. */
  wrote(text: string, isThought = false): void {
    const latest = this.#begun.at(-1)
    if (latest) latest[isThought ? 'thought' : 'written'].push(text)
  }

  /** Records the usage at the end of the model's stream. Missing numbers are counted when the step ends. */
  reported(usage: ModelUsage): void {
    const latest = this.#begun.at(-1)
    if (!latest) return
    latest.usage = usage
    // Every prompt has tokens, so a count of zero means that the number is missing.
    const { inputTokens, outputTokens } = usage
    if (inputTokens.total && outputTokens.total) this.#tell(latest, noCounts)
  }

  async end(reason: FinishReason): Promise<void> {
    const ended = this.#begun.shift()
    if (!ended) return
    ended.held.onEnd(reasons[reason])
    if (!ended.isTold) this.#tell(ended, await countedUse(ended))
  }

  /** Reports a step's usage. Numbers that the provider did not report come from `counted`. */
  #tell(step: Begun, counted: Counted): void {
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
      ...cacheUse(step.usage, promptTokens),
      isEstimated: sent === undefined || (made === undefined && (outputTokens?.total !== 0 || hasWritten(step))),
    })
  }
}

/**
 * Returns the cached part of the prompt. Providers differ in whether the prompt total includes it; the SDK's packages
 * always include it. Only Anthropic caches for an hour, and the SDK passes that number on only in the raw usage.
 */
function cacheUse(usage: ModelUsage | undefined, promptTokens: number) {
  const { cacheRead = 0, cacheWrite = 0 } = usage?.inputTokens ?? {}
  const cachedPromptTokens = Math.min(cacheRead, promptTokens)
  const cacheWriteTokens = Math.min(cacheWrite, promptTokens - cachedPromptTokens)
  const { cache_creation: created } = (usage?.raw ?? {}) as { cache_creation?: { ephemeral_1h_input_tokens?: unknown } }
  const forAnHour = Number(created?.ephemeral_1h_input_tokens ?? 0)
  const cacheWrite1hTokens = Number.isSafeInteger(forAnHour) ? Math.max(0, Math.min(forAnHour, cacheWriteTokens)) : 0
  return { cachedPromptTokens, cacheWriteTokens, cacheWrite1hTokens }
}

function hasWritten({ thought, written }: Begun): boolean {
  return thought.length + written.length > 0
}

/** Counts the tokens of a call from its strings, up to the held maximum. */
async function countedUse(step: Begun): Promise<Counted> {
  const { before, held, promptTokensMax, sent, thought, written } = step
  const thoughtTokens = await countTokens([thought.join('')])
  const reasoningTokens = Math.min(thoughtTokens, held.outputTokensMax)
  const writtenTokens = await countTokens([written.join('')])
  const completionTokens = Math.min(thoughtTokens + writtenTokens, held.outputTokensMax)
  const { added, sentBefore } = await promptTokensOf(sent, before)
  const promptTokens = Math.min(sentBefore + added, promptTokensMax)
  const cachedPromptTokens = Math.min(sentBefore, promptTokens)
  return { promptTokens, cachedPromptTokens, completionTokens, reasoningTokens }
}

/**
 * Returns the prompt tokens shared with an earlier request of the conversation, and the tokens added since then. Counts
 * only strings that no provider has counted yet.
 */
async function promptTokensOf({ earlier, files, size, texts }: SentPrompt, before: CountedRequest | undefined) {
  if (!before) {
    const fileTokens = sumTokens(files.slice(0, earlier.files)).tokens
    const sentBefore = fileTokens + (await countTokens(texts.slice(0, earlier.texts)))
    return { sentBefore, added: size.files.tokens - fileTokens + (await countTokens(texts.slice(earlier.texts))) }
  }
  const counted = before.sent.texts
  let same = 0
  while (same < counted.length && counted[same] === texts[same]) same++
  return { sentBefore: before.tokens, added: await countTokens(texts.slice(same)) }
}
