import type { EpochMs } from '../../kernel/clock.ts'
import type { RateState } from '../records.ts'
import { rateWindowMs, type StoreLimits } from '../store.ts'
import { and, desc, eq, gt, lte, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import { tasks } from './schema.ts'

const knownUsersMax = 50_000

/**
 * An exact sliding window, read from the accepted executions themselves, so that it survives restarts and needs no
 * rows of its own. At most `limit` entries of one index are read, once per user: this process is the only one that
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

  constructor({ orm }: Connection, { executionsPerMinute }: StoreLimits) {
    this.#limit = executionsPerMinute
    // The rows themselves: an aggregate over the limited rows runs as a co-routine, which takes twice as long.
    this.#newest = orm
      .select({ createdAt: tasks.createdAt })
      .from(tasks)
      .where(
        and(
          eq(tasks.userId, sql.placeholder('userId')),
          gt(tasks.createdAt, sql.placeholder('after')),
          lte(tasks.createdAt, sql.placeholder('now')),
        ),
      )
      .orderBy(desc(tasks.createdAt))
      .limit(sql.placeholder('limit'))
      .prepare()
  }

  read(userId: string, now: EpochMs): RateState {
    const limit = this.#limit
    if (limit === 0) return { limit, used: 0, oldestAt: null, now }
    const after = now - rateWindowMs
    let times = this.#known.get(userId)
    if (!times) {
      times = (this.#newest.values({ userId, after, now, limit }) as [EpochMs][]).map(([createdAt]) => createdAt)
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
