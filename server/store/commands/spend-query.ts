import type { ReadSpend, SpendPage } from '../store.ts'
import type { Op, Reads } from './command.ts'
import { statement } from './statement.ts'

const dayMs = 86_400_000
const isCharge = `type IN ('task_charge', 'chat_charge')`
const isRefund = `type = 'task_refund'`

type Row = SpendPage['days'][number] & { rows: number; oldestSeq: number; newestSeq: number }

const page = statement<Row>(
  'spend_page',
  `SELECT day, count(*) AS rows, min(seq) AS "oldestSeq", max(seq) AS "newestSeq",
      CAST(coalesce(-sum(amount) FILTER (WHERE ${isCharge}), 0) AS bigint) AS charged,
      CAST(coalesce(sum(amount) FILTER (WHERE ${isRefund}), 0) AS bigint) AS refunded,
      count(*) FILTER (WHERE ${isCharge}) AS executions,
      count(*) FILTER (WHERE ${isRefund}) AS failures
    FROM (SELECT seq, type, amount, created_at / ${dayMs} AS day FROM transactions
      WHERE user_id = :userId AND seq > :afterSeq AND seq < :beforeSeq ORDER BY seq DESC LIMIT :limit) AS rows
    GROUP BY day ORDER BY day`,
)

/** Sums transactions by day, some thousands at a time: a whole month of a busy account would hold every other request. */
export function* readSpend(on: Reads, { afterSeq, beforeSeq, limit, userId }: ReadSpend): Op<SpendPage> {
  const read: SpendPage = { days: [], rows: 0, oldestSeq: null, newestSeq: null }
  for (const { newestSeq, oldestSeq, rows, ...day } of yield* on.all(page, { afterSeq, beforeSeq, limit, userId })) {
    read.days.push(day)
    read.rows += rows
    read.oldestSeq = Math.min(read.oldestSeq ?? oldestSeq, oldestSeq)
    read.newestSeq = Math.max(read.newestSeq ?? newestSeq, newestSeq)
  }
  return read
}
