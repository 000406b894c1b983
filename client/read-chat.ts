import { ErrandClientError, withFields } from './client-error.ts'
import type { ChatEvent, ChatInput } from './types/client-types.ts'
import type { Connection } from './connection.ts'
import { NdjsonDecoder, type NdjsonEvent } from './ndjson-decoder.ts'
import { describeCause } from './odd-answer.ts'
import { closeStream, openStream, readChunk, type OpenStream } from './open-stream.ts'
import { checkIdempotencyKey } from './idempotency-key.ts'
import type { CallOptions } from './calls/rpc-call.ts'
import { noteLeft, whenFree } from './left-sessions.ts'
import { toJson } from './calls/send-rpc.ts'

/** The events of one reply, to be read once. The message is sent when the first is asked for. */
export type ChatStream = {
  /** The X-Request-Id of the answer, to quote in a report; known once it has begun. */
  readonly requestId: string | undefined
  /** Of the answer; known once it has begun. */
  readonly headers: Headers | undefined
  next: () => Promise<IteratorResult<ChatEvent, void>>
  /** Ends the request at once, also while an event is being waited for; `break` in a loop calls it. */
  return: () => Promise<IteratorResult<ChatEvent, void>>
  [Symbol.asyncIterator]: () => ChatStream
}

export type ChatOptions = Omit<CallOptions, 'maxRetries'> & {
  /** A message with a key that was used is refused with CONFLICT and never runs twice: its session has what became of it. */
  idempotencyKey?: string | undefined
}

/** One chat from its request to its last event, which is `done` or `error`. */
export function readChat(connection: Connection, input: ChatInput, options: ChatOptions = {}): ChatStream {
  const { idempotencyKey, requestTimeoutMs: timeoutMs = connection.requestTimeoutMs, signal } = options
  const request = new AbortController()
  let opened: OpenStream | undefined
  let isSent = false
  let isComplete = false
  const onAbort = () => leave(signal?.reason)

  function leave(reason: unknown): void {
    if (isSent) noteLeft(input.sessionId)
    stop(reason)
  }

  function stop(reason: unknown): void {
    request.abort(reason)
    // Whether or not the fetch minds its signal: this also ends a read that is under way.
    opened?.body.cancel(reason).catch(() => {})
  }

  async function* events(): AsyncGenerator<ChatEvent, void, undefined> {
    signal?.throwIfAborted()
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey)
      const body = toJson(input)
      isSent = true
      const late = `No reply started within ${timeoutMs} ms; it may be charged all the same.`
      const chat = { path: '/api/chat', body, idempotencyKey, signal: request.signal, timeoutMs, late }
      opened = await whenFree(connection, { sessionId: input.sessionId, signal: request.signal }, () =>
        openStream(connection, chat),
      )
      const decoder = new NdjsonDecoder()
      for (let isEnd = false; !isEnd;) {
        const { done, value } = await readChunk(opened, brokenOff)
        for (const event of done ? decoder.end() : decoder.push(value)) {
          // What was read before the caller left is not for it any more.
          request.signal.throwIfAborted()
          isComplete = isTerminal(event)
          yield event as ChatEvent
          if (isComplete) return
        }
        isEnd = done
      }
      throw brokenOff()
    } catch (thrown) {
      signal?.throwIfAborted()
      if (request.signal.aborted) return
      throw opened ? withFields(thrown, { requestId: opened.requestId }) : thrown
    } finally {
      signal?.removeEventListener('abort', onAbort)
      if (isComplete && opened) void closeStream(opened, stop)
      else stop(undefined)
    }
  }

  const iterator = events()
  return {
    get requestId() {
      return opened?.requestId
    },
    get headers() {
      return opened?.headers
    },
    next: () => iterator.next(),
    return: () => {
      // A generator would first wait for its next event.
      if (!isComplete) leave(undefined)
      return iterator.return()
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function isTerminal({ type }: NdjsonEvent): boolean {
  return type === 'done' || type === 'error'
}

function brokenOff(cause?: unknown): ErrandClientError {
  const why = cause === undefined ? '' : ` (${describeCause(cause)})`
  const message = `The stream broke off before its end${why}; look up in the transactions what was charged for it.`
  return new ErrandClientError('NETWORK_ERROR', message, { cause })
}
