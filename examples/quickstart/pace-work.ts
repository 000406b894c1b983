import { setImmediate } from 'node:timers/promises'

/** How long a computation may block its thread, which other runs share. */
const sliceMs = 8

/**
 * Yields the items of a long computation, with pauses for other runs. Throws the abort reason if the signal aborts.
 */
export async function* paceWork<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  signal?: AbortSignal,
): AsyncGenerator<Item> {
  let sinceMs = performance.now()
  for await (const item of items) {
    if (performance.now() - sinceMs >= sliceMs) {
      await setImmediate()
      signal?.throwIfAborted()
      sinceMs = performance.now()
    }
    yield item
  }
}
