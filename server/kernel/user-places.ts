import { assert } from './assert.ts'

type Waiting = { userId: string; count: number; enter: () => void }

/** Places for what users have under way: so many for each of them, and so many in all. Who finds none waits in line. */
export class UserPlaces {
  readonly perUserMax: number
  readonly #max: number
  readonly #taken = new Map<string, number>()
  #takenInAll = 0
  #line: Waiting[] = []

  constructor({ max = Infinity, perUserMax }: { perUserMax: number; max?: number }) {
    this.perUserMax = Math.min(perUserMax, max)
    this.#max = max
  }

  /** Resolves with all of those places or, with the reason of the signal, rejects with none. Each is given back once. */
  async take(userId: string, { count = 1, signal }: { count?: number; signal: AbortSignal }): Promise<void> {
    assert(count <= this.perUserMax, 'nobody waits for more places than a user may have')
    signal.throwIfAborted()
    const isFirst = !this.#line.some((other) => other.userId === userId)
    if (isFirst && this.#fits(userId, count)) return this.#enter(userId, count)
    const { promise, reject, resolve } = Promise.withResolvers<void>()
    const waiting: Waiting = { userId, count, enter: resolve }
    const leave = () => {
      this.#line = this.#line.filter((other) => other !== waiting)
      reject(signal.reason)
      this.#admit()
    }
    this.#line.push(waiting)
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

  give(userId: string): void {
    const left = (this.#taken.get(userId) ?? 0) - 1
    assert(left >= 0, 'a place is given back once')
    if (left === 0) this.#taken.delete(userId)
    else this.#taken.set(userId, left)
    this.#takenInAll--
    this.#admit()
  }

  /** Whoever waits holds up those behind of the same user, so that these do not overtake for ever, and nobody else. */
  #admit(): void {
    const held = new Set<string>()
    this.#line = this.#line.filter(({ count, enter, userId }) => {
      if (held.has(userId) || !this.#fits(userId, count)) {
        held.add(userId)
        return true
      }
      this.#enter(userId, count)
      enter()
      return false
    })
  }

  #fits(userId: string, count: number): boolean {
    return (this.#taken.get(userId) ?? 0) + count <= this.perUserMax && this.#takenInAll + count <= this.#max
  }

  #enter(userId: string, count: number): void {
    this.#taken.set(userId, (this.#taken.get(userId) ?? 0) + count)
    this.#takenInAll += count
  }
}
