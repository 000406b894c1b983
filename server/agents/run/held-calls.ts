import type { TokenCounts } from '../../billing/chat-price.ts'
import type { ChatPart } from '../config/define-config.ts'
import { filesAtMost, sumTokens } from '../files/file-tokens.ts'
import { countTokens } from './count-tokens.ts'
import type { HeldStep, ReplyRun } from './open-steps.ts'
import { promptSize, type PromptSize, type PromptTexts } from './prompt-size.ts'

type Usage = Extract<ChatPart, { type: 'usage' }>
type Counted = Pick<TokenCounts, 'promptTokens' | 'cachedPromptTokens' | 'completionTokens' | 'reasoningTokens'>
/** Token counts as reported by a provider. A prompt or completion count of 0 is treated as missing. */
export type ReportedUse = { readonly [Count in keyof TokenCounts]?: number | undefined }
type SentPrompt = PromptTexts & { size: PromptSize }
type CountedRequest = { sent: SentPrompt; tokens: number; thought: number }

const noCounts: Counted = { promptTokens: 0, cachedPromptTokens: 0, completionTokens: 0, reasoningTokens: 0 }
const bytesPerToken = 4
/**
 * Maximum number of earlier requests to compare a prompt with. One is not enough, because parallel calls can belong to
 * different conversations.
 */
const countedMax = 8

type HeldCallsParts = {
  /**
   * The agent's context size in tokens. Files without a token maximum share the context that the rest of the prompt
   * leaves free.
   */
  contextTokens: number
  openStep: ReplyRun['openStep']
}

export class HeldCalls {
  readonly #parts: HeldCallsParts
  /** Earlier requests with known token counts, oldest first. */
  readonly #counted: CountedRequest[] = []
  /**
   * Reasoning tokens so far. They count toward each prompt's maximum, because some providers store the reasoning and
   * include it when a later request refers to it.
   */
  #thought = 0

  constructor(parts: HeldCallsParts) {
    this.#parts = parts
  }

  /** Resolves once the maximum cost of the call is reserved. Rejects if the reply is stopped. */
  async open(texts: PromptTexts, outputTokensMax: number): Promise<HeldCall> {
    const size = promptSize(texts)
    const before = this.#counted.findLast(({ sent }) => startsWith(texts.texts, sent.texts))
    let promptTokens = Math.ceil(size.bytes / bytesPerToken) + size.files.tokens
    const { contextTokens, openStep } = this.#parts
    const files = filesAtMost(size.files, { contextTokens, promptTokens })
    const whole = size.bytes + size.around + files + this.#thought
    let promptTokensMax = whole
    if (before) {
      const added = Math.max(0, size.bytes - before.sent.size.bytes)
      const around = Math.max(0, size.around - before.sent.size.around)
      // No file can be added during a reply, so only text is added here.
      promptTokensMax = Math.min(whole, before.tokens + before.thought + added + around)
      promptTokens = before.tokens + Math.ceil(added / bytesPerToken)
    }
    promptTokens = Math.min(promptTokens, promptTokensMax)
    const onCounted = (tokens: number | undefined, thought: number) => {
      this.#thought += thought
      if (tokens === undefined) return
      this.#counted.push({ tokens, thought, sent: { ...texts, size } })
      if (this.#counted.length > countedMax) this.#counted.shift()
    }
    const call = new HeldCall({ sent: { ...texts, size }, promptTokensMax, before, onCounted })
    const count = () => call.count()
    call.held = await openStep({ promptTokens, promptTokensMax, outputTokensMax, hasTools: texts.hasTools, count })
    return call
  }
}

type HeldCallParts = {
  sent: SentPrompt
  promptTokensMax: number
  /** The latest earlier request that is a prefix of this one and has known token counts. */
  before: CountedRequest | undefined
  onCounted: (promptTokens: number | undefined, thought: number) => void
}

export class HeldCall {
  readonly #parts: HeldCallParts
  readonly #written: string[] = []
  readonly #thought: string[] = []
  held: HeldStep = { outputTokensMax: 0, onEnd: () => {} }

  constructor(parts: HeldCallParts) {
    this.#parts = parts
  }

  wrote(text: string, isThought = false): void {
    const written = isThought ? this.#thought : this.#written
    written.push(text)
  }

  completeUsage(reported: ReportedUse): Usage | undefined {
    return reported.promptTokens && reported.completionTokens ? this.#usage(reported, noCounts) : undefined
  }

  async usage(reported: ReportedUse): Promise<Usage> {
    return this.completeUsage(reported) ?? this.#usage(reported, await this.count())
  }

  #usage(reported: ReportedUse, counted: Counted): Usage {
    const { cacheWrite1hTokens = 0, cacheWriteTokens = 0, cachedPromptTokens = 0, reasoningTokens } = reported
    const sent = reported.promptTokens || undefined
    const made = reported.completionTokens || undefined
    const promptTokens = sent ?? counted.promptTokens
    const completionTokens = made ?? counted.completionTokens
    const thought = Math.min(reasoningTokens ?? counted.reasoningTokens, completionTokens)
    this.#parts.onCounted(sent, thought)
    const cached = Math.min(cachedPromptTokens, promptTokens)
    const written = Math.min(cacheWriteTokens, promptTokens - cached)
    const hasWritten = this.#thought.length + this.#written.length > 0
    return {
      type: 'usage',
      promptTokens,
      completionTokens,
      reasoningTokens: thought,
      cachedPromptTokens: cached,
      cacheWriteTokens: written,
      cacheWrite1hTokens: Math.min(cacheWrite1hTokens, written),
      isEstimated: sent === undefined || (made === undefined && (reported.completionTokens !== 0 || hasWritten)),
    }
  }

  async count(): Promise<Counted> {
    const { before, promptTokensMax, sent } = this.#parts
    const thoughtTokens = await countTokens([this.#thought.join('')])
    const reasoningTokens = Math.min(thoughtTokens, this.held.outputTokensMax)
    const writtenTokens = await countTokens([this.#written.join('')])
    const completionTokens = Math.min(thoughtTokens + writtenTokens, this.held.outputTokensMax)
    const { added, sentBefore } = await promptTokensOf(sent, before)
    const promptTokens = Math.min(sentBefore + added, promptTokensMax)
    const cachedPromptTokens = Math.min(sentBefore, promptTokens)
    return { promptTokens, cachedPromptTokens, completionTokens, reasoningTokens }
  }
}

function startsWith(texts: readonly string[], start: readonly string[]): boolean {
  return start.length <= texts.length && start.every((text, at) => text === texts[at])
}

/**
 * Returns how many prompt tokens were sent before, and how many are new. Counts only strings that no provider has
 * counted yet.
 */
async function promptTokensOf({ earlier, files, size, texts }: SentPrompt, before: CountedRequest | undefined) {
  if (!before) {
    const fileTokens = sumTokens(files.slice(0, earlier.files)).tokens
    const sentBefore = fileTokens + (await countTokens(texts.slice(0, earlier.texts)))
    return { sentBefore, added: size.files.tokens - fileTokens + (await countTokens(texts.slice(earlier.texts))) }
  }
  return { sentBefore: before.tokens, added: await countTokens(texts.slice(before.sent.texts.length)) }
}
