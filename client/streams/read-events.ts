import { isTransient, retryDelayMs } from '../backoff.ts'
import type { ErrandClientError } from '../client-error.ts'
import type { Connection } from '../connection.ts'
import { pause } from '../deadline.ts'
import { NdjsonDecoder, type NdjsonEvent } from './ndjson-decoder.ts'
import { closeStream, readChunk, type OpenStream } from './open-stream.ts'

/** Events that can be iterated only once. Reading the first event sends the request. */
export type EventReader<Event> = {
  next: () => Promise<IteratorResult<Event, void>>
  /** Ends the request immediately, even while waiting for an event. `break` in a loop calls this. */
  return: () => Promise<IteratorResult<Event, void>>
  [Symbol.asyncIterator]: () => EventReader<Event>
}

type Reading = {
  /** Operation name passed to `onRetry`. */
  operation: string
  signal: AbortSignal | undefined
  /**
   * Opens a connection that continues after the events read so far. Resolves with undefined if no more events follow.
   */
  connect: (own: AbortSignal) => Promise<OpenStream | undefined>
  /**
   * Returns whether to yield the event. `advance` also resets the failure count. Return `advance` only for new events,
   * not for events that each new connection repeats.
   */
  take: (event: NdjsonEvent) => boolean | 'advance'
  isLast: (event: NdjsonEvent) => boolean
  brokenOff: (cause?: unknown) => ErrandClientError
  /** Whether to reconnect after this many consecutive transient failures. */
  mayResume: (failures: number) => boolean
  /** Called if the caller stops before the last event, or if the stream fails. */
  onLeave?: () => void
  describe: (thrown: unknown) => unknown
}

/** A connection that lasted longer than this resets the failure count. */
const lastedMs = 10_000

/** Reads a stream of events to its end, over as many connections as needed. */
export function readEvents<Event>(connection: Connection, reading: Reading): EventReader<Event> {
  const { brokenOff, connect, describe, isLast, mayResume, onLeave, operation, signal, take } = reading
  const own = new AbortController()
  let opened: OpenStream | undefined
  let isComplete = false
  let hasAdvanced = false
  const onAbort = () => leave(signal?.reason)

  function leave(reason: unknown): void {
    onLeave?.()
    stop(reason)
  }

  function stop(reason: unknown): void {
    own.abort(reason)
    // Canceling works even if fetch ignores its signal, and also ends a read in progress.
    opened?.body.cancel(reason).catch(() => {})
  }

  async function* readOne(): AsyncGenerator<Event, void, undefined> {
    opened = await connect(own.signal)
    if (!opened) {
      isComplete = true
      return
    }
    const decoder = new NdjsonDecoder()
    for (let isEnd = false; !isEnd;) {
      const { done, value } = await readChunk(opened, brokenOff)
      for (const event of done ? decoder.end() : decoder.push(value)) {
        // Do not yield buffered events after the caller has stopped reading.
        own.signal.throwIfAborted()
        isComplete = isLast(event)
        const taken = take(event)
        hasAdvanced ||= taken === 'advance'
        if (taken) yield event as Event
        if (isComplete) return
      }
      isEnd = done
    }
    throw brokenOff()
  }

  async function* events(): AsyncGenerator<Event, void, undefined> {
    signal?.throwIfAborted()
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      for (let failures = 0; !isComplete;) {
        const startedAt = performance.now()
        hasAdvanced = false
        try {
          yield* readOne()
        } catch (thrown) {
          failures = hasAdvanced || performance.now() - startedAt > lastedMs ? 1 : failures + 1
          if (own.signal.aborted || !isTransient(thrown) || !mayResume(failures)) throw thrown
          const delayMs = retryDelayMs(thrown, failures)
          connection.onRetry({ operation, error: thrown, delayMs, retry: failures })
          await pause(delayMs, own.signal)
        }
      }
    } catch (thrown) {
      signal?.throwIfAborted()
      if (own.signal.aborted) return
      // Nothing will read the remaining events.
      if (opened) onLeave?.()
      throw describe(thrown)
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
      // End the request now, because a generator's `return` would first wait for the pending event.
      if (!isComplete) leave(undefined)
      return iterator.return()
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
