import type { EpochMs } from '../../../kernel/clock.ts'
import type { RateState } from '../../records.ts'
import { rateWindowMs, type StoreLimits } from '../../store.ts'
import type { Connection } from '../connection/pooled-connection.ts'

// The newest of both tables, as many as are allowed of each: two short walks down two indexes, whatever the window.
const newest = (table: string) =>
  `(SELECT created_at FROM ${table} WHERE user_id = $1 ORDER BY created_at DESC LIMIT $2)`
const read = {
  name: 'rate_newest',
  rowMode: 'array' as const,
  text: `SELECT created_at::float8 FROM (${newest('tasks')} UNION ALL ${newest('turns')}) AS newest
    ORDER BY 1 DESC LIMIT $2`,
}

/**
 * An exact sliding window, read from the accepted executions themselves at every admission: another node may have
 * accepted the one before. Under the lock of the account no other can come between.
 */
export class RateWindow {
  readonly #limit: number

  constructor({ executionsPerMinute }: StoreLimits) {
    this.#limit = executionsPerMinute
  }

  /** Times of the user's newest executions, newest first, at most as many as are allowed. */
  async newest({ client }: Connection, userId: string): Promise<EpochMs[]> {
    if (this.#limit === 0) return []
    const { rows } = await client.query({ ...read, values: [userId, this.#limit] })
    return (rows as [EpochMs][]).map(([createdAt]) => createdAt)
  }

  at(newest: readonly EpochMs[], now: EpochMs): RateState {
    const counted = newest.filter((createdAt) => createdAt > now - rateWindowMs)
    return { limit: this.#limit, used: counted.length, oldestAt: counted.at(-1) ?? null, now }
  }
}
