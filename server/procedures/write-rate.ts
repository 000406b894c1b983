import type { Clock } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'

const windowMs = { minute: 60_000, hour: 3_600_000 }

type Bound = { clock: Clock; max: number; per: keyof typeof windowMs; what: string }

/**
 * Rate limit for writes other than tasks and chats, which have their own limits. Each write costs a disk sync but is
 * free for the user. Writes are counted in fixed windows of a minute or an hour. The first write after the end of a
 * window starts the next one for all users. The counts are in memory, so each node counts separately.
 */
export class WriteRate {
  readonly #bound: Bound
  readonly #counts = new Map<string, number>()
  #endsAt = 0

  /** A `max` of 0 disables the limit. */
  constructor(bound: Bound) {
    this.#bound = bound
  }

  count(userId: string): void {
    const { clock, max, per, what } = this.#bound
    if (max === 0) return
    const now = clock.now()
    if (now >= this.#endsAt) {
      this.#counts.clear()
      this.#endsAt = now + windowMs[per]
    }
    const count = this.#counts.get(userId) ?? 0
    if (count >= max) {
      throw new ErrandError(
        'RATE_LIMIT_EXCEEDED',
        `At most ${max} ${what} per ${per} are allowed. Wait before you try again.`,
        {
          isOtherRate: true,
          retryAfterSeconds: Math.max(1, Math.ceil((this.#endsAt - now) / 1000)),
        },
      )
    }
    this.#counts.set(userId, count + 1)
  }
}
