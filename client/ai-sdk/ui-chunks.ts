import type { ChatStream } from '../streams/read-chat.ts'
import type { ChatEvent, ChatUsage } from '../types/client-types.ts'
import type { ErrandUIMessageChunk, ReplyError, UIStreamOptions } from './ui-types.ts'

type Delta = 'text' | 'reasoning'

/** Marks tool calls as run by the service, and as `dynamic`, because the page does not know the tools. */
const byService = { dynamic: true, providerExecuted: true } as const

export type ReplyEnd = { usage?: ChatUsage; costUsd?: string; error?: ReplyError }

export function endOf(event: ChatEvent): ReplyEnd | undefined {
  if (event.type === 'done') return { usage: event.usage, costUsd: event.costUsd }
  if (event.type !== 'error') return undefined
  const { costUsd, error } = event
  return { ...(costUsd !== undefined && { costUsd }), error: { ...error, costUsd } }
}

function finishReasonOf(event: ChatEvent): 'stop' | 'length' | 'content-filter' {
  const { finishReason = 'stop' } = event.type === 'done' ? event : {}
  return finishReason === 'content_filter' ? 'content-filter' : finishReason
}

/**
 * Whether the service responded with 204, because there is no reply to read. Valid only once the response has started.
 */
export function isEmpty({ headers }: ChatStream): boolean {
  return headers === undefined
}

/** Converts the events of a reply to UI message chunks. Rethrows errors from the stream. */
export async function* uiChunks(
  stream: ChatStream,
  { onEnd, onError = ({ message }) => message }: UIStreamOptions & { onEnd?: (end: ReplyEnd) => void },
): AsyncGenerator<ErrandUIMessageChunk, void, undefined> {
  const parts = new Parts()
  await stream.begin()
  if (isEmpty(stream)) return
  const turn = stream.turnId === undefined ? {} : { turnId: stream.turnId }
  yield { type: 'start', ...(turn.turnId !== undefined && { messageId: turn.turnId }), messageMetadata: turn }
  for await (const event of stream) {
    const end = endOf(event)
    if (end) onEnd?.(end)
    switch (event.type) {
      case 'assistant_delta':
        yield* parts.delta('text', event.delta)
        break
      case 'reasoning_delta':
        yield* parts.delta('reasoning', event.delta)
        break
      case 'tool_call': {
        const { arguments: input, id, name } = event.toolCall
        yield* parts.end()
        yield { type: 'tool-input-available', toolCallId: id, toolName: name, input, ...byService }
        break
      }
      case 'tool_result': {
        const { id, output } = event.toolResult
        yield* parts.end()
        yield { type: 'tool-output-available', toolCallId: id, output, ...byService }
        break
      }
      case 'done':
      case 'error':
        yield* parts.end()
        break
      // Ignore unknown event types.
    }
    if (!end) continue
    const { error, ...metadata } = end
    if (error) {
      yield { type: 'message-metadata', messageMetadata: { ...turn, ...metadata, errorCode: error.code } }
      // A stop from another tab, or by `chat.stop`, is not a failure.
      const isStopped = event.type === 'error' && event.stopped === true
      yield isStopped ? { type: 'abort', reason: error.message } : { type: 'error', errorText: onError(error) }
    } else yield { type: 'finish', finishReason: finishReasonOf(event), messageMetadata: { ...turn, ...metadata } }
  }
}

/** Opens and closes the text and reasoning parts. Only one part is open at a time, and each has a separate id. */
class Parts {
  #count = 0
  #open: { kind: Delta; id: string } | undefined;

  *delta(kind: Delta, delta: string): Generator<ErrandUIMessageChunk, void, undefined> {
    if (this.#open?.kind !== kind) {
      yield* this.end()
      this.#open = { kind, id: String(++this.#count) }
      yield { type: `${kind}-start`, id: this.#open.id }
    }
    yield { type: `${kind}-delta`, id: this.#open.id, delta }
  }

  *end(): Generator<ErrandUIMessageChunk, void, undefined> {
    if (this.#open) yield { type: `${this.#open.kind}-end`, id: this.#open.id }
    this.#open = undefined
  }
}
