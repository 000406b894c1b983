let last: Promise<void> = Promise.resolve()

/**
 * Resolves in a turn of the event loop that no other has got from here. A piece of work that takes some of the hundred
 * milliseconds for which the loop may stop waits for it first, or as many as arrive together would stop it for their sum.
 */
export function ownTurn(): Promise<void> {
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)))
  return last
}
