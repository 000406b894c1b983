import { setTimeout as delay } from 'node:timers/promises'
import type { LanguageModel, wrapLanguageModel } from 'ai'
import type { AgentLog, ModelAgentConfig, ModelObject } from '../config/define-config.ts'
import { describeModelError, isRequestRefused } from './model-error.ts'

/** A model with the SDK's latest interface. The SDK converts older models to it. */
type SdkModel = ReturnType<typeof wrapLanguageModel>
type CallOptions = Parameters<SdkModel['doStream']>[0]
type StreamResult = Awaited<ReturnType<SdkModel['doStream']>>
type StreamPart = StreamResult['stream'] extends ReadableStream<infer Part> ? Part : never

type FallbackParts = {
  wrap: typeof wrapLanguageModel
  log: AgentLog
  /** Whether the reply was stopped. If so, no fallback model is called. */
  isStopped?: () => boolean
  /**
   * Called before each request to a fallback model (`hasAnswered` is false) and when a model starts to answer (true).
   * Never called for an agent without fallbacks.
   */
  onModel?: (model: number, hasAnswered: boolean) => void
  /** Time within which a model with fallbacks must start its answer. */
  beginMsMax?: number
}

const beginMsDefault = 30_000

export function modelsOf({ fallbacks = [], model }: ModelAgentConfig): readonly ModelObject[] {
  return [model, ...fallbacks.map((fallback) => fallback.model)]
}

/**
 * The models of one reply or task. Calls go to the first model. If it fails, they go to the next one. Once a model has
 * started to answer, all further calls go to that model.
 */
export class FallbackModels {
  readonly #own: Exclude<LanguageModel, string>
  readonly #models: readonly SdkModel[]
  readonly #parts: FallbackParts
  #current = 0
  #hasAnswered = false

  constructor(agent: ModelAgentConfig, parts: FallbackParts) {
    this.#parts = parts
    const models = modelsOf(agent) as Exclude<LanguageModel, string>[]
    this.#own = models[0]!
    this.#models = models.length === 1 ? [] : models.map((model) => parts.wrap({ model, middleware: [] }))
  }

  get model(): Exclude<LanguageModel, string> {
    const [first] = this.#models
    if (!first) return this.#own
    const call = <Result>(run: (model: SdkModel, mayFallBack: boolean) => PromiseLike<Result>, options: CallOptions) =>
      this.#call(run, options.abortSignal)
    return {
      specificationVersion: first.specificationVersion,
      provider: first.provider,
      modelId: first.modelId,
      // An empty value makes the SDK download linked files itself, which works with every model.
      supportedUrls: {},
      doGenerate: (options: CallOptions) => call((model) => model.doGenerate(options), options),
      doStream: (options: CallOptions) =>
        call((model, mayFallBack) => (mayFallBack ? this.#begin(model, options) : model.doStream(options)), options),
    }
  }

  async #call<Result>(
    run: (model: SdkModel, mayFallBack: boolean) => PromiseLike<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    if (this.#hasAnswered) return await run(this.#models[this.#current]!, false)
    for (let at = 0; ; at++) {
      if (at !== this.#current) this.#parts.onModel?.(at, false)
      this.#current = at
      const model = this.#models[at]!
      const isLast = at === this.#models.length - 1
      try {
        const result = await run(model, !isLast)
        this.#hasAnswered = true
        this.#parts.onModel?.(at, true)
        return result
      } catch (thrown) {
        const error: unknown = thrown instanceof BrokenStartError ? thrown.cause : thrown
        if (isLast || signal?.aborted || this.#parts.isStopped?.() || !mayFallBack(thrown)) throw error
        this.#parts.log(`the model ${model.modelId} failed; calling the next model`, {
          reason: describeModelError(error),
        })
      }
    }
  }

  /**
   * Resolves once the answer has started. Rejects if the stream starts with an error or the answer starts too late.
   */
  async #begin(model: SdkModel, options: CallOptions): Promise<StreamResult> {
    const { beginMsMax = beginMsDefault } = this.#parts
    const over = new AbortController()
    const { abortSignal } = options
    const signal = abortSignal ? AbortSignal.any([abortSignal, over.signal]) : over.signal
    const done = new AbortController()
    const late = delay(beginMsMax, undefined, { ref: false, signal: done.signal }).then(
      () => {
        throw new LateAnswerError(`The model did not start to respond within ${beginMsMax / 1000} seconds. Try again.`)
      },
      () => new Promise<never>(() => {}),
    )
    try {
      const begun = Promise.resolve(model.doStream({ ...options, abortSignal: signal })).then(withBeginning)
      // Prevent an unhandled rejection if the request fails after the time limit has won the race.
      begun.catch(() => {})
      return await Promise.race([begun, late])
    } catch (error) {
      over.abort()
      throw error
    } finally {
      done.abort()
    }
  }
}

class LateAnswerError extends Error {
  override readonly name = 'LateAnswerError'
}

/** Thrown if the stream starts with an error, which becomes the `cause`. */
class BrokenStartError extends Error {
  override readonly name = 'BrokenStartError'
}

/** Whether to call the next model after this error. False if the provider rejected the content of the request. */
function mayFallBack(error: unknown): boolean {
  if (error instanceof LateAnswerError) return true
  if (error instanceof BrokenStartError) return !isRequestRefused(error.cause)
  // The SDK sets `isRetryable` for connection failures, 408, 409, 429 and 5xx.
  return !isRequestRefused(error) && (error as { isRetryable?: unknown } | null)?.isRetryable === true
}

const before = new Set(['stream-start', 'response-metadata', 'raw'])

/** Waits for the first part of the answer, then returns the whole stream. Rejects if that part is an error. */
async function withBeginning(result: StreamResult): Promise<StreamResult> {
  const reader = result.stream.getReader()
  const read: StreamPart[] = []
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    if (value.type === 'error') {
      void reader.cancel().catch(() => {})
      throw new BrokenStartError("The model's stream started with an error. Try again.", { cause: value.error })
    }
    read.push(value)
    if (!before.has(value.type)) break
  }
  const stream = new ReadableStream<StreamPart>(
    {
      pull: async (controller) => {
        const known = read.shift()
        if (known) return controller.enqueue(known)
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return { ...result, stream }
}
