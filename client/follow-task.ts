import { isTransient, retryDelayMs } from './backoff.ts'
import type { CallOptions } from './calls/rpc-call.ts'
import { ErrandClientError, withFields } from './client-error.ts'
import { checkTimeout, type Connection } from './connection.ts'
import { pause } from './deadline.ts'
import { NdjsonDecoder } from './ndjson-decoder.ts'
import { describeCause } from './odd-answer.ts'
import { closeStream, openStream, readChunk, type OpenStream } from './open-stream.ts'
import type { TaskEvent } from './types/client-types.ts'

/** The events of one task, to be read once. It is asked for when the first event is. */
export type TaskEvents = {
  next: () => Promise<IteratorResult<TaskEvent, void>>
  /** Ends the request at once, also while an event is being waited for; `break` in a loop calls it. */
  return: () => Promise<IteratorResult<TaskEvent, void>>
  [Symbol.asyncIterator]: () => TaskEvents
}

export type FollowOptions = Omit<CallOptions, 'maxRetries'>

/** A connection that lasted as long was no failure of the one before. */
const lastedMs = 10_000

/** One task until its end, over as many connections as that takes: each begins with the state as it then is. */
export function followTask(
  connection: Connection,
  taskId: string,
  { requestTimeoutMs: timeoutMs = connection.requestTimeoutMs, signal }: FollowOptions = {},
): TaskEvents {
  const own = new AbortController()
  let opened: OpenStream | undefined
  let isComplete = false
  const onAbort = () => stop(signal?.reason)

  function stop(reason: unknown): void {
    own.abort(reason)
    // Whether or not the fetch minds its signal: this also ends a read that is under way.
    opened?.body.cancel(reason).catch(() => {})
  }

  async function* connect(): AsyncGenerator<TaskEvent, void, undefined> {
    const path = `/api/tasks/${encodeURIComponent(taskId)}/events`
    const late = `The service did not answer within ${timeoutMs} ms.`
    opened = await openStream(connection, { path, signal: own.signal, timeoutMs, late })
    const decoder = new NdjsonDecoder()
    for (let isEnd = false; !isEnd;) {
      const { done, value } = await readChunk(opened, brokenOff)
      for (const event of done ? decoder.end() : decoder.push(value)) {
        // What was read before the caller left is not for it any more.
        own.signal.throwIfAborted()
        isComplete = event.type === 'end'
        yield event as TaskEvent
        if (isComplete) return
      }
      isEnd = done
    }
    throw brokenOff()
  }

  async function* events(): AsyncGenerator<TaskEvent, void, undefined> {
    signal?.throwIfAborted()
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      checkTimeout('requestTimeoutMs', timeoutMs)
      for (let failures = 0; !isComplete;) {
        const startedAt = performance.now()
        try {
          yield* connect()
        } catch (thrown) {
          if (own.signal.aborted || !isTransient(thrown)) throw thrown
          failures = performance.now() - startedAt > lastedMs ? 1 : failures + 1
          const delayMs = retryDelayMs(thrown, failures)
          connection.onRetry({ operation: 'tasks.events', error: thrown, delayMs, retry: failures })
          await pause(delayMs, own.signal)
        }
      }
    } catch (thrown) {
      signal?.throwIfAborted()
      if (own.signal.aborted) return
      throw withFields(thrown, { taskId, ...(opened && { requestId: opened.requestId }) })
    } finally {
      signal?.removeEventListener('abort', onAbort)
      if (isComplete && opened) void closeStream(opened, stop)
      else stop(undefined)
    }
  }

  const iterator = events()
  return {
    next: () => iterator.next(),
    return: () => {
      // A generator would first wait for its next event.
      if (!isComplete) stop(undefined)
      return iterator.return()
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function brokenOff(cause?: unknown): ErrandClientError {
  const why = cause === undefined ? '' : ` (${describeCause(cause)})`
  return new ErrandClientError('NETWORK_ERROR', `The stream broke off before the end of the task${why}.`, { cause })
}
