import type { ReadSpend, SpendPage } from '../store.ts'
import type { Connection } from './pooled-connection.ts'

const dayMs = 86_400_000

const page = {
  name: 'spend_page',
  text: `SELECT day::float8, count(*)::float8 AS rows, min(seq)::float8 AS "oldestSeq", max(seq)::float8 AS "newestSeq",
      coalesce(-sum(amount) FILTER (WHERE type IN ('task_charge', 'chat_charge')), 0)::float8 AS charged,
      coalesce(sum(amount) FILTER (WHERE type = 'task_refund'), 0)::float8 AS refunded,
      count(*) FILTER (WHERE type IN ('task_charge', 'chat_charge'))::float8 AS executions,
      count(*) FILTER (WHERE type = 'task_refund')::float8 AS failures
    FROM (SELECT seq, type, amount, created_at / ${dayMs} AS day FROM transactions
      WHERE user_id = $1 AND seq > $2 AND seq < $3 ORDER BY seq DESC LIMIT $4) AS newest
    GROUP BY day ORDER BY day`,
}

type Row = SpendPage['days'][number] & { rows: number; oldestSeq: number; newestSeq: number }

/** Sums transactions by day, some thousands at a time. */
export async function readSpend({ client }: Connection, of: ReadSpend): Promise<SpendPage> {
  const { afterSeq, beforeSeq, limit, userId } = of
  const { rows: found } = await client.query({ ...page, values: [userId, afterSeq, beforeSeq, limit] })
  const read: SpendPage = { days: [], rows: 0, oldestSeq: null, newestSeq: null }
  for (const { newestSeq, oldestSeq, rows, ...day } of found as Row[]) {
    read.days.push(day)
    read.rows += rows
    read.oldestSeq = Math.min(read.oldestSeq ?? oldestSeq, oldestSeq)
    read.newestSeq = Math.max(read.newestSeq ?? newestSeq, newestSeq)
  }
  return read
}
