import type { Dialect } from '../commands/statement.ts'
import { eventsSince } from '../events/event-types.ts'
import { fields, isEventOf, timeOf, usd, type LedgerCheck } from './check-parts.ts'

/** Rows older than this may have no event, because events were not recorded yet or have expired. */
const since = timeOf(eventsSince)

/** An event was written only if a webhook was enabled when the task or turn ended. */
const hasEvent = (row: string) => `coalesce(${row}.has_event, 1) = 1`

const refunded = `CASE k.status WHEN 'failed' THEN k.cost ELSE k.given_back END`
/** Events without a digest were written before the field `refundedUsd` existed. */
const reportsTask = (dialect: Dialect) =>
  isEventOf(dialect, {
    row: 'k',
    type: `'task.' || k.status`,
    at: 'k.completed_at',
    data: `${fields({ taskId: 'k.id', agentId: 'k.agent_id', endpointId: 'k.endpoint_id', status: 'k.status', costUsd: usd('k.cost') })}
      || CASE WHEN e.digest IS NULL THEN '' ELSE ',"refundedUsd":"' || ${usd(refunded)} || '"' END
      || CASE WHEN k.error_code IS NULL THEN '' ELSE ',"errorCode":"' || k.error_code || '"' END`,
  })

const tellsOfTurn = (dialect: Dialect) =>
  isEventOf(dialect, {
    row: 'k',
    type: `'chat.settled'`,
    at: 'k.settled_at',
    data: fields({
      turnId: 'k.id',
      sessionId: 'k.session_id',
      agentId: 'k.agent_id',
      outcome: 'k.outcome',
      costUsd: usd('k.cost'),
    }),
  })

const tellsOfCredit = (dialect: Dialect) =>
  isEventOf(dialect, {
    row: 't',
    type: `'credit.added'`,
    at: 't.created_at',
    data: fields({ transactionId: 't.id', amountUsd: usd('t.amount'), balanceUsd: usd('t.balance_after') }),
  })

const tellsOfTopup = (dialect: Dialect) =>
  isEventOf(dialect, {
    row: 'k',
    type: `'payment.succeeded'`,
    at: 'k.paid_at',
    data: fields({ topupId: 'k.id', amountUsd: usd('k.amount') }),
  })

export const endChecks = (dialect: Dialect): readonly LedgerCheck[] => [
  {
    what: 'each ended task has its event',
    isMoney: false,
    sql: `SELECT k.user_id AS "userId", k.id AS "taskId", 1 AS expected, CASE WHEN e.id IS NULL THEN 0 ELSE 1 END AS actual
          FROM tasks k LEFT JOIN events e ON e.id = 'evt' || substr(k.id, 5)
          WHERE k.completed_at > ${since} AND ${hasEvent('k')} AND NOT ${reportsTask(dialect)}`,
  },
  {
    what: 'each settled turn has its event',
    isMoney: false,
    sql: `SELECT k.user_id AS "userId", NULL AS "taskId", 1 AS expected, CASE WHEN e.id IS NULL THEN 0 ELSE 1 END AS actual
          FROM turns k LEFT JOIN events e ON e.id = 'evt' || substr(k.id, 5)
          WHERE k.settled_at > ${since} AND ${hasEvent('k')} AND NOT ${tellsOfTurn(dialect)}`,
  },
  {
    what: 'each credit has its event',
    isMoney: false,
    sql: `SELECT t.user_id AS "userId", NULL AS "taskId", 1 AS expected, CASE WHEN e.id IS NULL THEN 0 ELSE 1 END AS actual
          FROM transactions t LEFT JOIN events e ON e.id = 'evt' || substr(t.id, 4)
          WHERE t.type = 'credit' AND t.created_at > ${since} AND NOT ${tellsOfCredit(dialect)}`,
  },
  {
    what: 'each spend window of a key that rejected a request has its event',
    isMoney: false,
    sql: `SELECT w.user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual FROM spend_windows w
          LEFT JOIN events e ON e.user_id = w.user_id AND e.created_at = w.reached_at AND e.type = 'key.limit_reached'
          WHERE w.reached_at > ${since} AND e.id IS NULL`,
  },
  {
    what: 'each fall of a balance below its threshold has its event',
    isMoney: false,
    sql: `SELECT a.user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual FROM accounts a
          LEFT JOIN events e ON e.user_id = a.user_id AND e.created_at = a.low_at AND e.type = 'balance.low'
            AND ${dialect.position}(e.body, '"notifyBelowUsd":"' || ${usd('a.notify_below')} || '"}}') > 0
          WHERE a.low_at > ${since} AND e.id IS NULL`,
  },
  {
    what: 'each paid top-up has its event',
    isMoney: false,
    sql: `SELECT k.user_id AS "userId", NULL AS "taskId", 1 AS expected, CASE WHEN e.id IS NULL THEN 0 ELSE 1 END AS actual
          FROM topups k LEFT JOIN events e ON e.id = 'evt' || substr(k.id, 4)
          WHERE k.paid_at > ${since} AND NOT ${tellsOfTopup(dialect)}`,
  },
  {
    what: 'each event of a task, turn, credit or payment matches a stored one',
    isMoney: false,
    sql: `SELECT e.user_id AS "userId", NULL AS "taskId", 0 AS expected, 1 AS actual
          FROM events e
          LEFT JOIN tasks k ON k.id = 'task' || substr(e.id, 4) AND e.type = 'task.' || k.status AND ${hasEvent('k')}
          LEFT JOIN turns u ON u.id = 'turn' || substr(e.id, 4) AND e.type = 'chat.settled' AND u.settled_at IS NOT NULL AND ${hasEvent('u')}
          LEFT JOIN transactions t ON t.id = 'txn' || substr(e.id, 4) AND e.type = 'credit.added' AND t.type = 'credit'
          LEFT JOIN topups p ON p.id = 'top' || substr(e.id, 4) AND e.type = 'payment.succeeded' AND p.status = 'paid'
          WHERE e.type IN ('task.completed', 'task.failed', 'chat.settled', 'credit.added', 'payment.succeeded')
            AND coalesce(k.user_id, u.user_id, t.user_id, p.user_id, '') <> e.user_id`,
  },
]
