import { assert } from './assert.ts'

type Bounds = {
  total?: number
  /** Limit for one user while less than half of the total is taken. Defaults to half of the total. */
  perUser?: number
  /** Returns milliseconds of a monotonic clock. Set only by tests. */
  now?: () => number
}

/** Why a place cannot grow: its user has the maximum share (`share`), or the total is reached (`full`). */
export type Refusal = 'share' | 'full'

/** The amount of the resource that one operation holds. It can grow and shrink until it is released. */
export type Place = {
  readonly amount: number
  /** A refused call changes nothing. Shrinking is never refused. */
  hold(amount: number): Refusal | undefined
  /** Protects the place from being reclaimed for other users. */
  keep(): void
  /** Releases the entire amount permanently. Idempotent. */
  release(): void
}

type Held = { userId: string; amount: number; since: number; giveUp: (() => void) | undefined }
type Waiting = { count: number; enter: () => void }

/**
 * A limited resource that users share, such as slots, bytes or connections.
 *
 * - While less than half of the total is taken, a user may hold up to `perUser`. Beyond that, a user with more than
 *   an eighth of the total gets no more. A user's first place may exceed an eighth, so that a single large item fits.
 * - When the total is reached, a user with at most an eighth can still grow at the expense of users with more. To make
 *   room, the slowest-growing reclaimable place of the user with the largest amount is reclaimed.
 * - Waiting users are served round-robin, so one user's many requests do not delay another user's first request.
 */
export class FairPlaces {
  readonly perUser: number
  readonly #total: number
  readonly #share: number
  readonly #now: () => number
  readonly #amounts = new Map<string, number>()
  readonly #yielding = new Set<Held>()
  /** Waiting requests by user, in serving order. */
  readonly #lines = new Map<string, Waiting[]>()
  #taken = 0

  constructor({ total = Infinity, perUser = total / 2, now = () => performance.now() }: Bounds) {
    this.#total = total
    this.#share = total / 8
    this.perUser = Math.min(perUser, total)
    this.#now = now
  }

  get taken(): number {
    return this.#taken
  }

  waiting(userId: string): number {
    return this.#lines.get(userId)?.length ?? 0
  }

  /**
   * Opens an empty place. If `onReclaimed` is set, the place can be reclaimed for other users, and `onReclaimed` is
   * called when that happens.
   */
  open(userId: string, onReclaimed?: () => void): Place {
    const held: Held = { userId, amount: 0, since: this.#now(), giveUp: onReclaimed }
    let isReleased = false
    return {
      get amount() {
        return held.amount
      },
      hold: (amount) => {
        if (isReleased) return 'full'
        const refusal = amount > held.amount ? this.#refusal(userId, held.amount, amount) : undefined
        if (!refusal) this.#set(held, amount)
        return refusal
      },
      keep: () => {
        held.giveUp = undefined
        this.#yielding.delete(held)
      },
      release: () => {
        isReleased = true
        this.#set(held, 0)
      },
    }
  }

  /**
   * Waits for `count` slots. Call `give` to return each slot. Rejects with the abort reason if the signal aborts first.
   */
  async take(
    userId: string,
    { count = 1, signal }: { count?: number; signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    assert(count <= this.perUser, 'a request takes no more slots than one user may have')
    signal?.throwIfAborted()
    const line = this.#lines.get(userId) ?? []
    if (line.length === 0 && this.fits(userId, count)) return this.#add(userId, count)
    const { promise, reject, resolve } = Promise.withResolvers<void>()
    const waiting: Waiting = { count, enter: resolve }
    const leave = () => {
      const at = line.indexOf(waiting)
      // The request may have been admitted in the same tick.
      if (at < 0) return
      line.splice(at, 1)
      if (line.length === 0) this.#lines.delete(userId)
      reject(signal?.reason)
      this.#admit()
    }
    line.push(waiting)
    this.#lines.set(userId, line)
    signal?.addEventListener('abort', leave, { once: true })
    await promise.finally(() => signal?.removeEventListener('abort', leave))
  }

  give(userId: string): void {
    this.#add(userId, -1)
    this.#admit()
  }

  async within<Result>(userId: string, signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> {
    await this.take(userId, { signal })
    try {
      return await work()
    } finally {
      this.give(userId)
    }
  }

  #of(userId: string): number {
    return this.#amounts.get(userId) ?? 0
  }

  #add(userId: string, by: number): void {
    const amount = this.#of(userId) + by
    assert(amount >= 0, 'a user releases no more slots than were taken')
    if (amount > 0) this.#amounts.set(userId, amount)
    else this.#amounts.delete(userId)
    this.#taken += by
  }

  #set(held: Held, amount: number): void {
    const by = amount - held.amount
    held.amount = amount
    if (held.giveUp && amount > 0) this.#yielding.add(held)
    else this.#yielding.delete(held)
    this.#add(held.userId, by)
    if (by < 0) this.#admit()
  }

  /**
   * Returns why a user's place cannot grow from one amount to another, or undefined if it can. May reclaim other users'
   * places to stay within the total.
   */
  #refusal(userId: string, from: number, to: number): Refusal | undefined {
    const others = this.#of(userId) - from
    const isHalfTaken = this.#taken * 2 >= this.#total
    const own = others + to
    if (own > (isHalfTaken && others > 0 ? Math.min(this.perUser, this.#share) : this.perUser)) return 'share'
    while (this.#taken - from + to > this.#total) {
      const slowest = own <= this.#share ? this.#slowest() : undefined
      if (!slowest) return 'full'
      const { giveUp } = slowest
      this.#set(slowest, 0)
      giveUp!()
    }
    return undefined
  }

  /**
   * Finds the place to reclaim: among the places of the user with the largest amount, the one that has grown most
   * slowly since it was opened.
   */
  #slowest(): Held | undefined {
    const now = this.#now()
    const rate = ({ amount, since }: Held) => amount / Math.max(1, now - since)
    let found: Held | undefined
    for (const held of this.#yielding) {
      const amount = this.#of(held.userId)
      if (amount <= this.#share) continue
      const by = found && (amount - this.#of(found.userId) || rate(found) - rate(held) || held.amount - found.amount)
      if (by === undefined || by > 0) found = held
    }
    return found
  }

  fits(userId: string, count = 1): boolean {
    return this.#refusal(userId, 0, count) === undefined
  }

  /**
   * Admits one request per user in turn until none fits. A user's first request blocks the user's later ones, because
   * smaller requests could otherwise overtake it forever.
   */
  #admit(): void {
    for (const [userId, line] of this.#lines) {
      if (this.#taken >= this.#total) return
      const { count, enter } = line[0]!
      if (!this.fits(userId, count)) continue
      line.shift()
      // If the user has more waiting requests, move the user to the end of the map, so that this loop comes back to
      // them.
      this.#lines.delete(userId)
      if (line.length > 0) this.#lines.set(userId, line)
      this.#add(userId, count)
      enter()
    }
  }
}
