import { isTransient, retryDelayMs } from '../backoff.ts'
import type { ErrandClientError } from '../client-error.ts'
import type { Connection } from '../connection.ts'
import { pause } from '../deadline.ts'
import { NdjsonDecoder, type NdjsonEvent } from './ndjson-decoder.ts'
import { closeStream, readChunk, type OpenStream } from './open-stream.ts'

/** Events, to be read once. They are asked for when the first is. */
export type EventReader<Event> = {
  next: () => Promise<IteratorResult<Event, void>>
  /** Ends the request at once, also while an event is being waited for; `break` in a loop calls it. */
  return: () => Promise<IteratorResult<Event, void>>
  [Symbol.asyncIterator]: () => EventReader<Event>
}

type Reading = {
  /** As retries are told of. */
  operation: string
  signal: AbortSignal | undefined
  /** Opens one connection, behind what was read before; undefined where nothing comes any more. */
  connect: (own: AbortSignal) => Promise<OpenStream | undefined>
  /** Whether an event is new to the reader; `advance` where that is more than a connection of its own would tell. */
  take: (event: NdjsonEvent) => boolean | 'advance'
  isLast: (event: NdjsonEvent) => boolean
  brokenOff: (cause?: unknown) => ErrandClientError
  /** Whether to connect again after that many failures in a row, each of which passes by itself. */
  mayResume: (failures: number) => boolean
  /** Called when the caller goes away before the last event, or the stream fails. */
  onLeave?: () => void
  /** An error as the caller gets it. */
  describe: (thrown: unknown) => unknown
}

/** A connection that lasted as long was no failure of the one before. */
const lastedMs = 10_000

/** One stream of events from its first to its last, over as many connections as that takes. */
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
    // Whether or not the fetch minds its signal: this also ends a read that is under way.
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
        // What was read before the caller left is not for it any more.
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
      // Nobody reads what is still to come.
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
      // A generator would first wait for its next event.
      if (!isComplete) leave(undefined)
      return iterator.return()
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
