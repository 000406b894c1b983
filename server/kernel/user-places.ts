import { assert } from './assert.ts'

type Waiting = { count: number; enter: () => void }

/**
 * Places for what users have under way: so many for each of them, and so many in all. Who finds none waits in a line of
 * the own user. Of a place that becomes free the users are offered one after another, so that who has many waiting comes
 * no sooner than who has one.
 */
export class UserPlaces {
  readonly perUserMax: number
  readonly #max: number
  readonly #taken = new Map<string, number>()
  #takenInAll = 0
  /** The users who wait; the first has gone longest without a turn. */
  readonly #lines = new Map<string, Waiting[]>()

  constructor({ max = Infinity, perUserMax }: { perUserMax: number; max?: number }) {
    this.perUserMax = Math.min(perUserMax, max)
    this.#max = max
  }

  /** Resolves with all of those places or, with the reason of the signal, rejects with none. Each is given back once. */
  async take(userId: string, { count = 1, signal }: { count?: number; signal: AbortSignal }): Promise<void> {
    assert(count <= this.perUserMax, 'nobody waits for more places than a user may have')
    signal.throwIfAborted()
    const line = this.#lines.get(userId) ?? []
    if (line.length === 0 && this.#fits(userId, count)) return this.#enter(userId, count)
    const { promise, reject, resolve } = Promise.withResolvers<void>()
    const waiting: Waiting = { count, enter: resolve }
    const leave = () => {
      const at = line.indexOf(waiting)
      // It may have entered in the same moment.
      if (at < 0) return
      line.splice(at, 1)
      if (line.length === 0) this.#lines.delete(userId)
      reject(signal.reason)
      this.#admit()
    }
    line.push(waiting)
    this.#lines.set(userId, line)
    signal.addEventListener('abort', leave, { once: true })
    await promise.finally(() => signal.removeEventListener('abort', leave))
  }

  /** Does something in one place. */
  async within<Result>(userId: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    await this.take(userId, { signal })
    try {
      return await work()
    } finally {
      this.give(userId)
    }
  }

  /** How many stand in the user's line. */
  waiting(userId: string): number {
    return this.#lines.get(userId)?.length ?? 0
  }

  give(userId: string): void {
    const left = (this.#taken.get(userId) ?? 0) - 1
    assert(left >= 0, 'a place is given back once')
    if (left === 0) this.#taken.delete(userId)
    else this.#taken.set(userId, left)
    this.#takenInAll--
    this.#admit()
  }

  /**
   * One of each user at a time, until nobody fits. Whoever is first in a line holds up those behind of the same user, so
   * that these do not overtake for ever, and nobody else.
   */
  #admit(): void {
    for (const [userId, line] of this.#lines) {
      if (this.#takenInAll === this.#max) return
      const { count, enter } = line[0]!
      if (!this.#fits(userId, count)) continue
      line.shift()
      // The turn is over: whoever has more that wait comes again at the end, also of this loop.
      this.#lines.delete(userId)
      if (line.length > 0) this.#lines.set(userId, line)
      this.#enter(userId, count)
      enter()
    }
  }

  #fits(userId: string, count: number): boolean {
    return (this.#taken.get(userId) ?? 0) + count <= this.perUserMax && this.#takenInAll + count <= this.#max
  }

  #enter(userId: string, count: number): void {
    this.#taken.set(userId, (this.#taken.get(userId) ?? 0) + count)
    this.#takenInAll += count
  }
}
