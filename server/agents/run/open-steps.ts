import type { RunOf } from '../../connectors/thread/run-connectors.ts'
import { chatHold, chatUse, type ChatUsed } from '../../billing/chat-price.ts'
import type { FinishReason, ReplyParams, SentMessage, SentPart, StepRequest } from './chat-messages.ts'
import type { ChatPart, ChatRun } from '../config/define-config.ts'
import { checkedReason, type ReplyStream } from './reply-stream.ts'
import type { OpenStep } from './reply-use.ts'

/** A model call with its cost held. */
export type HeldStep = {
  outputTokensMax: number
  /** Must be called with the finish reason when the model call ends. */
  onEnd: (reason: FinishReason | undefined) => void
  /** The call as the reply's usage lists it. Absent in a task. */
  opened?: OpenStep
}

/**
 * The argument of `reply`, as the service passes it. Agents in the configuration see only its public part, `ChatRun`.
 */
export type ReplyRun = Omit<RunOf<ChatRun>, 'history' | 'parts'> & {
  readonly parts?: readonly SentPart[]
  readonly history: readonly SentMessage[]
  readonly params: ReplyParams
  /** Holds the maximum cost of a model call before it starts. Rejects if the reply is stopped. */
  readonly openStep: (step: OpenStep) => Promise<HeldStep>
  /** Whether the reply was stopped. `signal` of a model agent aborts later. */
  readonly isStopped: () => boolean
  /** Called before a request to a fallback model, and when one of several models has started to answer. */
  readonly onModel: (model: number, hasAnswered: boolean) => void
  /** Holds the cost of calling one of the agent's own tools before the call starts. Rejects if the reply is stopped. */
  readonly openCall: () => Promise<void>
}

type OpenStepsOptions = {
  stream: ReplyStream
  signal: AbortSignal
  /** The client's limit on output tokens. */
  maxTokens: number | undefined
  askStep: (request: StepRequest) => Promise<number>
}

/** Model and tool calls, each of which starts once its maximum cost is held. */
export class OpenSteps {
  readonly #of: OpenStepsOptions
  #toolCalls = 0
  /** Whether the hold lowered the output limit and the text reached that limit. */
  isCut = false
  /** Finish reason reported by the latest model call, or by the agent. */
  #reason: FinishReason | undefined

  constructor(of: OpenStepsOptions) {
    this.#of = of
  }

  /** Holds the maximum cost of a model call. Rejects if the reply is stopped. */
  async open({ count, ...step }: OpenStep): Promise<HeldStep> {
    const { use } = this.#of.stream
    const used = use.hasBegun ? use.used : chatUse({})
    const tokens = await this.#ask({ next: step, bound: this.#bound(), used })
    const outputTokensMax = Math.min(tokens, step.outputTokensMax)
    const opened = { ...step, outputTokensMax, ...(count && { count }) }
    use.beginStep(opened)
    const isCut = outputTokensMax < step.outputTokensMax
    const onEnd = (reason: FinishReason | undefined) => {
      this.#reason = reason
      if (reason === 'length') this.isCut ||= isCut
    }
    return { outputTokensMax, onEnd, opened }
  }

  /** Holds the cost of one more tool call. Rejects if the reply is stopped. */
  async callTool(): Promise<void> {
    const { used } = this.#of.stream.use
    const toolCalls = ++this.#toolCalls
    await this.#ask({ next: 'tool', bound: this.#bound(), used: { ...used, toolCalls } })
  }

  /** Upper bound of the usage so far, with tool calls that are held but not yet part of the reply. */
  #bound(): ChatUsed {
    const { bound } = this.#of.stream.use
    return { ...bound, toolCalls: Math.max(bound.toolCalls, this.#toolCalls) }
  }

  /**
   * Records a usage report, of `step` if given. If the report raises the maximum cost, requests a hold for it. The promise rejects if the
   * reply is stopped first. Requesting a hold for every report would take two thread messages per turn.
   */
  report(part: Extract<ChatPart, { type: 'usage' }>, step?: OpenStep): Promise<unknown> | undefined {
    const { stream } = this.#of
    const rates = stream.use.ratesMax
    const before = chatHold(stream.use.bound, rates)
    stream.count(part, step)
    this.#reason = checkedReason(part.finishReason)
    const { bound, used } = stream.use
    if (chatHold(bound, rates) > before) return this.#ask({ next: null, bound, used })
    // Send the report immediately, because the service charges it even if it cannot show the text before it.
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
