import type { RunOf } from '../../connectors/thread/run-connectors.ts'
import { chatUse } from '../../billing/chat-price.ts'
import type { ReplyParams, SentMessage, SentPart, StepRequest } from './chat-messages.ts'
import type { ChatRun } from '../config/define-config.ts'
import type { ReplyStream } from './reply-stream.ts'
import type { OpenStep } from './reply-use.ts'

/** A call of a model that is held. */
export type HeldStep = {
  outputTokensMax: number
  /** Told when the model wrote as much as it was allowed. */
  onFull: () => void
}

/** A reply as the service begins it; agents of the configuration see the public part. */
export type ReplyRun = Omit<RunOf<ChatRun>, 'history' | 'parts'> & {
  readonly parts?: readonly SentPart[]
  readonly history: readonly SentMessage[]
  readonly params: ReplyParams
  /** Holds what a call of a model may cost; the model is called then. Rejects when the reply is stopped. */
  readonly openStep: (step: OpenStep) => Promise<HeldStep>
  /** Holds what a call of one of the agent's own tools costs; it is made then. Rejects when the reply is stopped. */
  readonly openCall: () => Promise<void>
}

/** Calls of models and of tools, each of which begins when what it may cost is held. */
export class OpenSteps {
  readonly #of: { stream: ReplyStream; signal: AbortSignal; askStep: (request: StepRequest) => Promise<number> }
  #toolCalls = 0
  /** Whether a text came to the length that what could be held allowed, and was to be longer. */
  isCut = false

  constructor(of: { stream: ReplyStream; signal: AbortSignal; askStep: (request: StepRequest) => Promise<number> }) {
    this.#of = of
  }

  /** Rejects when the reply is stopped. */
  async open({ count, ...step }: OpenStep): Promise<HeldStep> {
    const { use } = this.#of.stream
    const used = use.hasBegun ? use.used : chatUse({})
    const tokens = await this.#ask({ next: step, bound: use.bound, used })
    const outputTokensMax = Math.min(tokens, step.outputTokensMax)
    use.beginStep({ ...step, outputTokensMax, ...(count && { count }) })
    const isCut = outputTokensMax < step.outputTokensMax
    return { outputTokensMax, onFull: () => (this.isCut ||= isCut) }
  }

  /** Holds what one more call of a tool costs. Rejects when the reply is stopped. */
  async callTool(): Promise<void> {
    const { bound, used } = this.#of.stream.use
    const toolCalls = ++this.#toolCalls
    // A model may have asked for several at once.
    const atMost = { ...bound, toolCalls: Math.max(bound.toolCalls, toolCalls) }
    await this.#ask({ next: 'tool', bound: atMost, used: { ...used, toolCalls } })
  }

  /** Holds what was reported to be used, which may be more than was held. Rejects when the reply is stopped. */
  async report(): Promise<void> {
    const { bound, used } = this.#of.stream.use
    await this.#ask({ next: null, bound, used })
  }

  async #ask(of: Pick<StepRequest, 'bound' | 'next' | 'used'>): Promise<number> {
    const { askStep, signal, stream } = this.#of
    signal.throwIfAborted()
    const stopped = Promise.withResolvers<never>()
    const onAbort = () => stopped.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    const { hasOpenStep: isStepOpen, reportedOrNull: reported } = stream.use
    const request = { serial: stream.nextSerial(), isStepOpen, reported, ...of }
    return await Promise.race([askStep(request), stopped.promise]).finally(() =>
      signal.removeEventListener('abort', onAbort),
    )
  }
}
