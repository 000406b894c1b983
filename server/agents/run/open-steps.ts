import type { RunOf } from '../../connectors/thread/run-connectors.ts'
import { chatHold, chatUse, type ChatUsed } from '../../billing/chat-price.ts'
import type { FinishReason, ReplyParams, SentMessage, SentPart, StepRequest } from './chat-messages.ts'
import type { ChatPart, ChatRun } from '../config/define-config.ts'
import { checkedReason, type ReplyStream } from './reply-stream.ts'
import type { OpenStep } from './reply-use.ts'

export type HeldStep = {
  outputTokensMax: number
  /**
   * `isAtLimit` tells whether the output reached its limit. `reason` alone does not, because it is also `length` after
   * tool calls.
   */
  onEnd: (reason: FinishReason | undefined, isAtLimit: boolean) => void
  /** The call's entry in the reply's usage. Undefined in a task. */
  opened?: OpenStep
}

/**
 * The service's internal form of `reply`'s argument. Agents in the configuration see only its public part, `ChatRun`.
 */
export type ReplyRun = Omit<RunOf<ChatRun>, 'history' | 'parts'> & {
  readonly parts?: readonly SentPart[]
  readonly history: readonly SentMessage[]
  readonly params: ReplyParams
  /** Reserves the maximum cost of a model call before it starts. Rejects if the reply is stopped. */
  readonly openStep: (step: OpenStep) => Promise<HeldStep>
  /** Whether the reply was stopped. For model agents, `signal` aborts later. */
  readonly isStopped: () => boolean
  /**
   * Called before each request to a fallback model (`hasAnswered` is false) and when a model starts to answer (true).
   * Never called for an agent without fallbacks.
   */
  readonly onModel: (model: number, hasAnswered: boolean) => void
  /** Reserves the price of calling one of the agent's own tools. Rejects if the reply is stopped. */
  readonly openCall: () => Promise<void>
}

type OpenStepsOptions = {
  stream: ReplyStream
  signal: AbortSignal
  maxTokens: number | undefined
  askStep: (request: StepRequest) => Promise<number>
}

export class OpenSteps {
  readonly #of: OpenStepsOptions
  #toolCalls = 0
  /** Whether the text reached an output limit that was lowered to fit the reserved amount. */
  isCut = false
  #reason: FinishReason | undefined

  constructor(of: OpenStepsOptions) {
    this.#of = of
  }

  async open({ count, ...step }: OpenStep): Promise<HeldStep> {
    const { use } = this.#of.stream
    const used = use.hasBegun ? use.used : chatUse({})
    const tokens = await this.#ask({ next: step, bound: this.#bound(), used })
    const outputTokensMax = Math.min(tokens, step.outputTokensMax)
    const opened = { ...step, outputTokensMax, ...(count && { count }) }
    use.beginStep(opened)
    const isCut = outputTokensMax < step.outputTokensMax
    const onEnd: HeldStep['onEnd'] = (reason, isAtLimit) => {
      this.#reason = reason
      if (isAtLimit) this.isCut ||= isCut
    }
    return { outputTokensMax, onEnd, opened }
  }

  async callTool(): Promise<void> {
    const { used } = this.#of.stream.use
    const toolCalls = ++this.#toolCalls
    await this.#ask({ next: 'tool', bound: this.#bound(), used: { ...used, toolCalls } })
  }

  /**
   * Returns an upper bound on the usage so far. Includes tool calls with a reserved price that are not in the reply
   * yet.
   */
  #bound(): ChatUsed {
    const { bound } = this.#of.stream.use
    return { ...bound, toolCalls: Math.max(bound.toolCalls, this.#toolCalls) }
  }

  /**
   * Records a usage report for `step`, if given. If the report raises the maximum cost, returns a promise that resolves
   * once that cost is reserved, or rejects if the reply is stopped first. Other reports send no request, which saves
   * two thread messages per turn.
   */
  report(part: Extract<ChatPart, { type: 'usage' }>, step?: OpenStep): Promise<unknown> | undefined {
    const { stream } = this.#of
    const rates = stream.use.ratesMax
    const before = chatHold(stream.use.bound, rates)
    stream.count(part, step)
    this.#reason = checkedReason(part.finishReason)
    const { bound, used } = stream.use
    if (chatHold(bound, rates) > before) return this.#ask({ next: null, bound, used })
    // Send the report immediately, because the service charges for it even if it cannot send the preceding text.
    stream.tell()
    return undefined
  }

  /** Returns why the reply ended: the reported reason, or `length` if it reached the client's `maxTokens`. */
  reasonOf({ completionTokens, toolCalls }: ChatUsed): FinishReason {
    const { maxTokens = Infinity } = this.#of
    return this.#reason ?? (toolCalls === 0 && completionTokens >= maxTokens ? 'length' : 'stop')
  }

  async #ask(of: Pick<StepRequest, 'bound' | 'next' | 'used'>): Promise<number> {
    const { askStep, signal, stream } = this.#of
    signal.throwIfAborted()
    const stopped = Promise.withResolvers<never>()
    const onAbort = () => stopped.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    const { answering: model, hasOpenStep: isStepOpen, reportedOrNull: reported } = stream.use
    const request = { serial: stream.nextSerial(), isStepOpen, reported, model, ...of }
    return await Promise.race([askStep(request), stopped.promise]).finally(() =>
      signal.removeEventListener('abort', onAbort),
    )
  }
}
