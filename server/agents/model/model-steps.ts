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

/** A reply that ends with tool calls was cut off by `maxSteps`. */
const reasons: Partial<Record<FinishReason, ReplyReason>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'length',
  'content-filter': 'content_filter',
}

/**
 * The model calls of one reply. Reserves the cost of each call before it is sent, and passes on the usage that the
 * provider reports. If it reports none, counts the tokens of the sent and generated text.
 */
export class ModelSteps {
  readonly #calls: HeldCalls
  readonly #onUsage: ModelStepsParts['onUsage']
  /**
   * Calls in progress, oldest first. The SDK can start a step before the stream reports the end of the previous one.
   */
  readonly #begun: Begun[] = []

  constructor({ onUsage, ...parts }: ModelStepsParts) {
    this.#calls = new HeldCalls(parts)
    this.#onUsage = onUsage
  }

  /** Reserves the cost of a call. Resolves with the call's output-token limit. Rejects if the reply is stopped. */
  async begin(request: Parameters<typeof promptTexts>[0] & { maxOutputTokens: number }): Promise<number> {
    const latest = this.#begun.at(-1)
    // If the SDK is retrying an unanswered call, its cost is already reserved.
    if (latest && !latest.isAnswered) return latest.call.held.outputTokensMax
    const call = await this.#calls.open(promptTexts(request), request.maxOutputTokens)
    this.#begun.push({ call, usage: {}, isAnswered: false, isTold: false })
    return call.held.outputTokensMax
  }

  answered(): void {
    const latest = this.#begun.at(-1)
    if (latest) latest.isAnswered = true
  }

  wrote(text: string, isThought = false): void {
    this.#begun.at(-1)?.call.wrote(text, isThought)
  }

  /**
   * Passes on the usage that the provider reports at the end of its stream. If counts are missing, `end` computes them
   * instead.
   */
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
    ended.call.held.onEnd(reasons[reason], reason === 'length')
    if (!ended.isTold) this.#onUsage(await ended.call.usage(ended.usage))
  }
}

/**
 * Converts the SDK's usage. The SDK's provider packages always include cached tokens in the prompt total, although some
 * provider APIs do not. The number of tokens cached for one hour, an Anthropic feature, is only in the raw usage.
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
