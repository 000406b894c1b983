import type { FinishReason } from 'ai'
import type { ChatPart } from '../config/define-config.ts'
import type { FinishReason as ReplyReason } from '../run/chat-messages.ts'
import { HeldCalls, type HeldCall, type ReportedUse } from '../run/held-calls.ts'
import type { ReplyRun } from '../run/open-steps.ts'
import { promptTexts } from '../run/prompt-size.ts'
import type { ModelUsage } from '../threads/delta-bypass.ts'

type ModelStepsParts = {
  contextTokens: number
  openStep: ReplyRun['openStep']
  onUsage: (usage: Extract<ChatPart, { type: 'usage' }>) => void
}
type Begun = { call: HeldCall; usage: ReportedUse; isAnswered: boolean; isTold: boolean }

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
  readonly #calls: HeldCalls
  readonly #onUsage: ModelStepsParts['onUsage']
  /**
   * Calls in progress, oldest first. The SDK can start a step before the stream reports the end of the previous step.
   */
  readonly #begun: Begun[] = []

  constructor({ onUsage, ...parts }: ModelStepsParts) {
    this.#calls = new HeldCalls(parts)
    this.#onUsage = onUsage
  }

  /** Resolves with the output-token limit of the call. Rejects if the reply is stopped. */
  async begin(request: Parameters<typeof promptTexts>[0] & { maxOutputTokens: number }): Promise<number> {
    const latest = this.#begun.at(-1)
    // The SDK retries a call that got no answer. Its cost is already held.
    if (latest && !latest.isAnswered) return latest.call.held.outputTokensMax
    const call = await this.#calls.open(promptTexts(request), request.maxOutputTokens)
    this.#begun.push({ call, usage: {}, isAnswered: false, isTold: false })
    return call.held.outputTokensMax
  }

  /** Called when the provider starts to answer the latest call. */
  answered(): void {
    const latest = this.#begun.at(-1)
    if (latest) latest.isAnswered = true
  }

  /** Adds output of the latest call: text, reasoning or tool arguments. */
  wrote(text: string, isThought = false): void {
    this.#begun.at(-1)?.call.wrote(text, isThought)
  }

  /** Records the usage at the end of the model's stream. Missing numbers are counted when the step ends. */
  reported(usage: ModelUsage): void {
    const latest = this.#begun.at(-1)
    if (!latest || latest.isTold) return
    latest.usage = reportedUse(usage)
    const complete = latest.call.completeUsage(latest.usage)
    if (!complete) return
    latest.isTold = true
    this.#onUsage(complete)
  }

  async end(reason: FinishReason): Promise<void> {
    const ended = this.#begun.shift()
    if (!ended) return
    ended.call.held.onEnd(reasons[reason])
    if (!ended.isTold) this.#onUsage(await ended.call.usage(ended.usage))
  }
}

/**
 * Converts the SDK's usage. Providers differ in whether the prompt total includes cached tokens; the SDK's packages
 * always include them. Only Anthropic caches for an hour, and the SDK passes that number on only in the raw usage.
 */
function reportedUse({ inputTokens, outputTokens, raw }: ModelUsage): ReportedUse {
  const { cache_creation: created } = (raw ?? {}) as { cache_creation?: { ephemeral_1h_input_tokens?: unknown } }
  const forAnHour = Number(created?.ephemeral_1h_input_tokens ?? 0)
  return {
    promptTokens: inputTokens.total,
    cachedPromptTokens: inputTokens.cacheRead,
    cacheWriteTokens: inputTokens.cacheWrite,
    cacheWrite1hTokens: Number.isSafeInteger(forAnHour) ? Math.max(0, forAnHour) : 0,
    completionTokens: outputTokens.total,
    reasoningTokens: outputTokens.reasoning,
  }
}
