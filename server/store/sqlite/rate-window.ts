import type { Database } from 'better-sqlite3'
import type { EpochMs } from '../../kernel/clock.ts'
import type { RateState } from '../records.ts'
import { rateWindowMs } from '../store.ts'

const knownUsersMax = 50_000
/** Times that left the window are removed once there are so many, and more than half: one by one took 30 µs each. */
const goneMin = 32

/** Times of a user's accepted executions, oldest first; those before `from` have left the window. */
type Known = { limit: number; times: EpochMs[]; from: number }

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
  readonly #known = new Map<string, Known>()

  constructor(db: Database) {
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

  read(userId: string, limit: number, now: EpochMs): RateState {
    if (limit === 0) return { limit, used: 0, oldestAt: null, now }
    const after = now - rateWindowMs
    let known = this.#known.get(userId)
    if (!known || known.limit < limit) {
      const of = { userId, after, now, limit }
      const times = this.#newest
        .flatMap((newest) => newest.all(of))
        .toSorted((a, b) => a - b)
        .slice(-limit)
      if (this.#known.size >= knownUsersMax) this.#known.clear()
      this.#known.set(userId, (known = { limit, times, from: 0 }))
    }
    const { times } = known
    while (known.from < times.length && times[known.from]! <= after) known.from++
    if (known.from >= goneMin && known.from * 2 > times.length) {
      times.splice(0, known.from)
      known.from = 0
    }
    const used = Math.min(times.length - known.from, limit)
    return { limit, used, oldestAt: used === 0 ? null : times[times.length - used]!, now }
  }

  /** An execution of a user whose state was just read is being accepted. */
  accepted(userId: string, at: EpochMs): void {
    const known = this.#known.get(userId)
    if (!known) return
    known.times.push(at)
    if (known.times.length - known.from > known.limit) known.from++
  }

  /** A command was undone or a commit failed: what was accepted is to be read from the rows again. */
  clear(): void {
    this.#known.clear()
  }
}
