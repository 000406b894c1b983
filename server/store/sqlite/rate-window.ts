import { and, desc, eq, gt, lte, sql } from 'drizzle-orm'
import type { EpochMs } from '../../kernel/clock.ts'
import type { RateState } from '../records.ts'
import type { StoreLimits } from '../store.ts'
import type { Connection } from './database.ts'
import { tasks } from './schema.ts'

export const rateWindowMs = 60_000

/**
 * An exact sliding window, read from the accepted executions themselves, so that it survives restarts and needs no
 * rows of its own. At most `limit` entries of one index are read:
 *
 *   ──┬──────┬───┬─┬──────────┬──▶ time
 *     │      └ oldest counted └ now: an execution leaves 60 s after it was accepted
 *     └ outside
 */
export class RateWindow {
  readonly #newest
  readonly #limit: number

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
    const rows = this.#newest.values({ userId, after: now - rateWindowMs, now, limit }) as [EpochMs][]
    return { limit, used: rows.length, oldestAt: rows.at(-1)?.[0] ?? null, now }
  }
}
