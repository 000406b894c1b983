import { isErrandError } from '../client-error.ts'
import type { ChatStream } from '../streams/read-chat.ts'
import { isEmpty, uiChunks } from './ui-chunks.ts'
import type { ErrandUIMessageChunk, ReplyError, UIStreamOptions } from './ui-types.ts'

export type UIResponseOptions = UIStreamOptions & {
  /** Extra response headers. They cannot override the content headers. */
  headers?: HeadersInit | undefined
}

/** Status for errors without an HTTP response, such as a broken connection. */
const badGateway = 502

/**
 * Converts a reply to the UI message stream of `ai`, for `createUIMessageStream` and similar functions. An error
 * becomes the last chunk. Canceling the stream stops reading the reply.
 */
export function toUIMessageStream(
  stream: ChatStream,
  options: UIStreamOptions = {},
): ReadableStream<ErrandUIMessageChunk> {
  return chunkStream(withError(uiChunks(stream, options), options), () => void stream.return())
}

/**
 * Creates a route's response for the `DefaultChatTransport` of `ai`, and sends the reply as server-sent events. If the
 * service rejects the request, the response has the service's status and error text. If `chat.resumeSession` found no
 * reply in progress, the status is 204.
 *
 * @example
 * const stream = errand.chat.stream({ sessionId, message, onDisconnect: 'continue' })
 * return await toUIMessageStreamResponse(stream)
 */
export async function toUIMessageStreamResponse(
  stream: ChatStream,
  { headers, ...options }: UIResponseOptions = {},
): Promise<Response> {
  const all = new Headers(headers)
  all.set('cache-control', 'no-store')
  try {
    await stream.begin()
  } catch (error) {
    if (!isErrandError(error)) throw error
    const { retryAfterSeconds, status = badGateway } = error
    all.set('content-type', 'text/plain; charset=utf-8')
    if (retryAfterSeconds !== undefined) all.set('retry-after', String(retryAfterSeconds))
    return new Response(textOf(error, options), { status, headers: all })
  }
  if (isEmpty(stream)) return new Response(null, { status: 204, headers: all })
  all.set('content-type', 'text/event-stream')
  all.set('x-vercel-ai-ui-message-stream', 'v1')
  // Prevent proxies from buffering the reply until it is complete.
  all.set('x-accel-buffering', 'no')
  const lines = sseLines(withError(uiChunks(stream, options), options))
  return new Response(
    chunkStream(lines, () => void stream.return()),
    { headers: all },
  )
}

function chunkStream<Chunk>(chunks: AsyncGenerator<Chunk, void, undefined>, leave: () => void): ReadableStream<Chunk> {
  return new ReadableStream<Chunk>(
    {
      pull: async (controller) => {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}

async function* withError(
  chunks: AsyncGenerator<ErrandUIMessageChunk, void, undefined>,
  options: UIStreamOptions,
): AsyncGenerator<ErrandUIMessageChunk, void, undefined> {
  try {
    yield* chunks
  } catch (error) {
    if (!isErrandError(error)) throw error
    yield { type: 'error', errorText: textOf(error, options) }
  }
}

async function* sseLines(
  chunks: AsyncGenerator<ErrandUIMessageChunk, void, undefined>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder()
  for await (const chunk of chunks) yield encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`)
  yield encoder.encode('data: [DONE]\n\n')
}

function textOf({ code, costUsd, message }: ReplyError, { onError }: UIStreamOptions): string {
  return onError ? onError({ code, message, costUsd }) : message
}
