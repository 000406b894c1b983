import type { LanguageModelMiddleware } from 'ai'
import type { ChatPart } from '../config/define-config.ts'
import type { PartQueue } from '../run/part-queue.ts'

type WrapStream = NonNullable<LanguageModelMiddleware['wrapStream']>
type ModelStream = Awaited<ReturnType<WrapStream>>['stream']
type ModelPart = ModelStream extends ReadableStream<infer Part> ? Part : never
export type ModelUsage = Extract<ModelPart, { type: 'finish' }>['usage']
type Delta = Extract<ModelPart, { type: 'text-delta' | 'reasoning-delta' }>
type ModelListener = {
  onAnswer: () => void
  onWritten: (text: string, isThought: boolean) => void
  /** Called at the end of the model's own stream. The SDK's step ends later, once all tools have returned. */
  onUsage: (usage: ModelUsage) => void
}

/**
 * Takes text directly from the model's own stream, because the SDK takes 100 µs per delta to turn that stream into its
 * `fullStream`, the same as the provider package. The SDK needs the deltas only for the messages of the next step, so
 * it gets them later, joined.
 *
 * Parts keep the SDK's order. In each step, the first text waits until the step has also started in the SDK's stream.
 * After a tool call, the step's text passes through the SDK again, so that it follows the call:
 *
 *   waiting ──began()──▶ open ──a tool call passes──▶ through
 */
export class DeltaBypass {
  readonly #parts: PartQueue<ChatPart>
  readonly #onAnswer: () => void
  readonly #onWritten: ModelListener['onWritten']
  #state: 'waiting' | 'open' | 'through' = 'waiting'
  #onBegun: (() => void) | undefined
  readonly #onUsage: (usage: ModelUsage) => void
  /** Characters that were pushed to the reply but not yet delivered by the SDK. */
  #toldChars = { 'text-delta': 0, 'reasoning-delta': 0 }

  constructor(parts: PartQueue<ChatPart>, { onAnswer, onUsage, onWritten }: ModelListener) {
    this.#parts = parts
    this.#onAnswer = onAnswer
    this.#onWritten = onWritten
    this.#onUsage = onUsage
  }

  began(): void {
    this.#leaveWaiting('open')
  }

  end(): void {
    this.#leaveWaiting('through')
  }

  /** Returns the part of an SDK delta that has not been pushed to the reply yet. */
  untold(type: Delta['type'], text: string): string {
    const told = Math.min(this.#toldChars[type], text.length)
    this.#toldChars[type] -= told
    return text.slice(told)
  }

  get middleware(): LanguageModelMiddleware {
    return {
      wrapStream: async ({ doStream }) => {
        const result = await doStream()
        this.#onAnswer()
        this.#state = 'waiting'
        return { ...result, stream: this.#divert(result.stream) }
      },
    }
  }

  #leaveWaiting(state: 'open' | 'through'): void {
    if (this.#state === 'waiting') this.#state = state
    this.#onBegun?.()
    this.#onBegun = undefined
  }

  #divert(stream: ModelStream): ModelStream {
    const reader = stream.getReader()
    let held: Delta | undefined
    let hasPassed = false
    /** Ids of the tool calls whose arguments arrived in deltas. */
    const written = new Set<string>()
    const pull = async (controller: ReadableStreamDefaultController<ModelPart>) => {
      for (;;) {
        const { done, value } = await reader.read()
        const isText = !done && isDelta(value)
        if (!done) this.#note(value, written)
        if (isText && this.#state === 'waiting') await this.#begin(hasPassed)
        if (isText && this.#state === 'open') {
          this.#tell(value)
          const isSame = held?.type === value.type && held.id === value.id
          if (held && !isSame) controller.enqueue(held)
          held = held && isSame ? { ...held, ...value, delta: held.delta + value.delta } : value
          if (this.#parts.isFull) await this.#parts.room()
          continue
        }
        if (held) controller.enqueue(held)
        held = undefined
        if (done) return controller.close()
        if (value.type === 'finish') this.#onUsage(value.usage)
        // The SDK does not forward `stream-start`. Its step begins with the next part.
        hasPassed ||= value.type !== 'stream-start'
        if (value.type.startsWith('tool-')) this.#state = 'through'
        return controller.enqueue(value)
      }
    }
    return new ReadableStream({ pull, cancel: (reason) => reader.cancel(reason) }, { highWaterMark: 0 })
  }

  /**
   * Waits until the step starts in the SDK's stream. If text is the first part, lets it pass through the SDK, which
   * starts the step.
   */
  async #begin(hasPassed: boolean): Promise<void> {
    if (hasPassed) await new Promise<void>((resolve) => (this.#onBegun = resolve))
    else this.#state = 'through'
  }

  #note(part: ModelPart, written: Set<string>): void {
    if (isDelta(part)) this.#onWritten(part.delta, part.type === 'reasoning-delta')
    else if (part.type === 'tool-input-delta') {
      written.add(part.id)
      this.#onWritten(part.delta, false)
    } else if (part.type === 'tool-call' && !written.has(part.toolCallId)) this.#onWritten(part.input, false)
  }

  #tell({ delta, type }: Delta): void {
    if (delta === '') return
    this.#toldChars[type] += delta.length
    this.#parts.push({ type: type === 'text-delta' ? 'text' : 'reasoning', delta })
  }
}

function isDelta(part: ModelPart): part is Delta {
  return part.type === 'text-delta' || part.type === 'reasoning-delta'
}
