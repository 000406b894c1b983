import type { EpochMs } from '../../../kernel/clock.ts'
import type { RateRead } from '../../commands/command.ts'
import { rateWindowMs } from '../../limits/account-limits.ts'
import type { Connection } from '../connection/pooled-connection.ts'

// Reads up to `limit` of the newest rows from each table. Both index scans are short, however long the window is.
const newest = (table: string) =>
  `(SELECT created_at FROM ${table} WHERE user_id = $1 ORDER BY created_at DESC LIMIT $2)`
const read = {
  name: 'rate_newest',
  rowMode: 'array' as const,
  text: `SELECT created_at::float8 FROM (${newest('tasks')} UNION ALL ${newest('turns')}) AS newest
    ORDER BY 1 DESC LIMIT $2`,
}

/**
 * Computes an exact sliding window from the accepted executions. Every admission reads the rows again, because another
 * node may have accepted the previous execution. The account lock prevents concurrent admissions.
 */
export async function readRate({ client }: Connection, userId: string, limitMax: number): Promise<RateRead> {
  const rows = limitMax === 0 ? [] : (await client.query({ ...read, values: [userId, limitMax] })).rows
  const newestFirst = (rows as [EpochMs][]).map(([createdAt]) => createdAt)
  return {
    limitMax,
    at: (limit, now) => {
      const counted = newestFirst.slice(0, limit).filter((createdAt) => createdAt > now - rateWindowMs)
      return { limit, used: counted.length, oldestAt: counted.at(-1) ?? null, now }
    },
  }
}
