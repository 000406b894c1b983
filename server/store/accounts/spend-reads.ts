import type { ReadSpend, SpendPage } from './account-types.ts'
import type { Op, Reads } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'

const stepOf = 'CAST(:stepMs AS bigint)'
const isCharge = `type IN ('task_charge', 'chat_charge')`
const isRefund = `type = 'task_refund'`
/** Matches refunds of failed tasks. Canceled and expired tasks do not count as failures. */
const isFailure = `${isRefund} AND coalesce(error_code, '') NOT IN ('CANCELED', 'EXPIRED')`
/** Matches partial refunds of metered tasks. They count toward the period of the charge. */
const isGivenBack = `type = 'adjustment' AND task_id IS NOT NULL`

type Row = SpendPage['steps'][number] & { rows: number; oldestSeq: number; newestSeq: number; oldestStep: number }

const page = statement<Row>(
  'spend_page',
  `SELECT step, count(*) AS rows, min(seq) AS "oldestSeq", max(seq) AS "newestSeq", min(made_on) AS "oldestStep",
      CAST(coalesce(-sum(amount) FILTER (WHERE ${isCharge} OR ${isGivenBack}), 0) AS bigint) AS charged,
      CAST(coalesce(sum(amount) FILTER (WHERE ${isRefund}), 0) AS bigint) AS refunded,
      count(*) FILTER (WHERE ${isCharge}) AS executions,
      count(*) FILTER (WHERE ${isFailure}) AS failures
    FROM (SELECT seq, type, amount, task_id, created_at / ${stepOf} AS made_on,
          CASE WHEN ${isGivenBack}
            THEN coalesce((SELECT tasks.created_at FROM tasks WHERE tasks.id = task_id), created_at)
            ELSE created_at END / ${stepOf} AS step,
          CASE WHEN ${isRefund} THEN (SELECT tasks.error_code FROM tasks WHERE tasks.id = task_id) END AS error_code
        FROM transactions
        WHERE user_id = :userId AND seq > :afterSeq AND seq < :beforeSeq ORDER BY seq DESC LIMIT :limit) AS rows
    GROUP BY step ORDER BY step`,
)

/**
 * Sums up transactions by day or hour, a few thousand per call. Reading a busy account's month in one query would block
 * all other requests.
 */
export function* readSpend(on: Reads, { afterSeq, beforeSeq, limit, stepMs, userId }: ReadSpend): Op<SpendPage> {
  const read: SpendPage = { steps: [], rows: 0, oldestSeq: null, newestSeq: null, oldestStep: null }
  for (const { newestSeq, oldestSeq, oldestStep, rows, ...step } of yield* on.all(page, {
    afterSeq,
    beforeSeq,
    limit,
    stepMs,
    userId,
  })) {
    read.steps.push(step)
    read.rows += rows
    read.oldestSeq = Math.min(read.oldestSeq ?? oldestSeq, oldestSeq)
    read.oldestStep = Math.min(read.oldestStep ?? oldestStep, oldestStep)
    read.newestSeq = Math.max(read.newestSeq ?? newestSeq, newestSeq)
  }
  return read
}
