import type { Database } from 'better-sqlite3'
import type { EpochMs } from '../../kernel/clock.ts'
import type { RateState } from '../records.ts'
import { rateWindowMs, type StoreLimits } from '../store.ts'

const knownUsersMax = 50_000

/**
 * An exact sliding window, read from the accepted executions themselves, so that it survives restarts and needs no
 * rows of its own. At most `limit` entries of two indexes are read, once per user: this process is the only one that
 * accepts executions on its database, so it can go on from there in memory. Reading them for every answer took an
 * eighth of its time.
 *
 *   ──┬──────┬───┬─┬──────────┬──▶ time
 *     │      └ oldest counted └ now: an execution leaves 60 s after it was accepted
 *     └ outside
 */
export class RateWindow {
  readonly #newest
  readonly #limit: number
  /** Times of a user's counted executions, newest first. */
  readonly #known = new Map<string, EpochMs[]>()

  constructor(db: Database, { executionsPerMinute }: StoreLimits) {
    this.#limit = executionsPerMinute
    // The rows themselves: an aggregate over the limited rows runs as a co-routine, which takes twice as long.
    const inWindow = (table: 'tasks' | 'turns') =>
      db
        .prepare<unknown[], EpochMs>(
          `SELECT created_at FROM ${table} WHERE user_id = :userId AND created_at > :after AND created_at <= :now
            ORDER BY created_at DESC LIMIT :limit`,
        )
        .pluck()
    this.#newest = [inWindow('tasks'), inWindow('turns')]
  }

  read(userId: string, now: EpochMs): RateState {
    const limit = this.#limit
    if (limit === 0) return { limit, used: 0, oldestAt: null, now }
    const after = now - rateWindowMs
    let times = this.#known.get(userId)
    if (!times) {
      const of = { userId, after, now, limit }
      times = this.#newest
        .flatMap((newest) => newest.all(of))
        .toSorted((a, b) => b - a)
        .slice(0, limit)
      if (this.#known.size >= knownUsersMax) this.#known.clear()
      this.#known.set(userId, times)
    }
    while (times.length > 0 && times.at(-1)! <= after) times.pop()
    return { limit, used: times.length, oldestAt: times.at(-1) ?? null, now }
  }

  /** An execution of a user whose state was just read is being accepted. */
  accepted(userId: string, at: EpochMs): void {
    const times = this.#known.get(userId)
    if (!times || this.#limit === 0) return
    times.unshift(at)
    if (times.length > this.#limit) times.pop()
  }

  /** A command was undone or a commit failed: what was accepted is to be read from the rows again. */
  clear(): void {
    this.#known.clear()
  }
}
