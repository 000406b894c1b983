import type { Clock } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'

const windowMs = 60_000

/**
 * Counts what users change that is no execution, which the rate window of the store bounds: each change is a write to
 * the disk, free of charge. By whole minutes and in memory, so every node counts for itself.
 */
export class WriteRate {
  readonly #clock: Clock
  readonly #perMinute: number
  readonly #counts = new Map<string, number>()
  #endsAt = 0

  /** With `perMinute` 0 nothing is counted. */
  constructor({ clock, perMinute }: { clock: Clock; perMinute: number }) {
    this.#clock = clock
    this.#perMinute = perMinute
  }

  /** Throws RATE_LIMIT_EXCEEDED when the user has changed as much as may be in this minute. */
  count(userId: string): void {
    if (this.#perMinute === 0) return
    const now = this.#clock.now()
    if (now >= this.#endsAt) {
      this.#counts.clear()
      this.#endsAt = now + windowMs
    }
    const count = this.#counts.get(userId) ?? 0
    if (count >= this.#perMinute) {
      const message = `At most ${this.#perMinute} changes of an account's sessions, keys and connectors per minute are allowed.`
      throw new ErrandError('RATE_LIMIT_EXCEEDED', message, {
        isOtherRate: true,
        retryAfterSeconds: Math.max(1, Math.ceil((this.#endsAt - now) / 1000)),
      })
    }
    this.#counts.set(userId, count + 1)
  }
}
