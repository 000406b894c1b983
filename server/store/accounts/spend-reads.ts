import type { ReadSpend, SpendPage } from './account-types.ts'
import type { Op, Reads } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'

const dayMs = 86_400_000
const isCharge = `type IN ('task_charge', 'chat_charge')`
const isRefund = `type = 'task_refund'`
/** Refunds of canceled and expired tasks are not failures. */
const isFailure = `${isRefund} AND coalesce(error_code, '') NOT IN ('CANCELED', 'EXPIRED')`
/** Condition for the unused part of a metered task's charge. It counts for the day of the charge. */
const isGivenBack = `type = 'adjustment' AND task_id IS NOT NULL`

type Row = SpendPage['days'][number] & { rows: number; oldestSeq: number; newestSeq: number; oldestDay: number }

const page = statement<Row>(
  'spend_page',
  `SELECT day, count(*) AS rows, min(seq) AS "oldestSeq", max(seq) AS "newestSeq", min(made_on) AS "oldestDay",
      CAST(coalesce(-sum(amount) FILTER (WHERE ${isCharge} OR ${isGivenBack}), 0) AS bigint) AS charged,
      CAST(coalesce(sum(amount) FILTER (WHERE ${isRefund}), 0) AS bigint) AS refunded,
      count(*) FILTER (WHERE ${isCharge}) AS executions,
      count(*) FILTER (WHERE ${isFailure}) AS failures
    FROM (SELECT seq, type, amount, task_id, created_at / ${dayMs} AS made_on,
          CASE WHEN ${isGivenBack}
            THEN coalesce((SELECT tasks.created_at FROM tasks WHERE tasks.id = task_id), created_at)
            ELSE created_at END / ${dayMs} AS day,
          CASE WHEN ${isRefund} THEN (SELECT tasks.error_code FROM tasks WHERE tasks.id = task_id) END AS error_code
        FROM transactions
        WHERE user_id = :userId AND seq > :afterSeq AND seq < :beforeSeq ORDER BY seq DESC LIMIT :limit) AS rows
    GROUP BY day ORDER BY day`,
)

/**
 * Sums transactions by day, a few thousand per read. Reading a busy account's month in one query would block every
 * other request.
 */
export function* readSpend(on: Reads, { afterSeq, beforeSeq, limit, userId }: ReadSpend): Op<SpendPage> {
  const read: SpendPage = { days: [], rows: 0, oldestSeq: null, newestSeq: null, oldestDay: null }
  for (const { newestSeq, oldestDay, oldestSeq, rows, ...day } of yield* on.all(page, {
    afterSeq,
    beforeSeq,
    limit,
    userId,
  })) {
    read.days.push(day)
    read.rows += rows
    read.oldestSeq = Math.min(read.oldestSeq ?? oldestSeq, oldestSeq)
    read.oldestDay = Math.min(read.oldestDay ?? oldestDay, oldestDay)
    read.newestSeq = Math.max(read.newestSeq ?? newestSeq, newestSeq)
  }
  return read
}
