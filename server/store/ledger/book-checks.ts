import type { Dialect } from '../commands/statement.ts'
import type { LedgerCheck } from './check-parts.ts'

type Measure = {
  sum: string
  /** SQL for the amount that each ended task or turn adds to the sum. */
  ofTask: string
  ofTurn: string
}

const isFailure = `status = 'failed' AND error_code NOT IN ('CANCELED', 'EXPIRED')`
const measures: readonly Measure[] = [
  { sum: 'executions', ofTask: '1', ofTurn: '1' },
  {
    sum: 'failures',
    ofTask: `CASE WHEN ${isFailure} THEN 1 ELSE 0 END`,
    ofTurn: `CASE outcome WHEN 'failed' THEN 1 ELSE 0 END`,
  },
  { sum: 'charged', ofTask: 'cost', ofTurn: 'cost' },
  { sum: 'refunded', ofTask: `CASE status WHEN 'failed' THEN cost ELSE 0 END`, ofTurn: '0' },
  { sum: 'provider_cost', ofTask: 'coalesce(provider_cost, 0)', ofTurn: 'coalesce(provider_cost, 0)' },
]

const each = (sql: (measure: Measure) => string, separator = ', ') => measures.map(sql).join(separator)

/** Sum of all measures, so that one comparison reveals any difference. */
const all = ['executions', 'failures', 'charged', 'refunded', 'written_off', 'provider_cost'].join(' + ')

export const bookChecks = ({ noIndex }: Dialect): readonly LedgerCheck[] => [
  {
    // One check of all measures, because most of its time is spent on sorting the tasks by user.
    what: 'the executions, failures, charges, refunds and provider costs of each user equal the sums of the daily books',
    isMoney: false,
    sql: `WITH parts AS (
              SELECT user_id, ${each(({ ofTask, sum }) => `sum(${ofTask}) AS ${sum}, 0 AS book_${sum}`)}
                FROM tasks WHERE completed_at IS NOT NULL GROUP BY ${noIndex}user_id
              UNION ALL SELECT user_id, ${each(({ ofTurn }) => `sum(${ofTurn}), 0`)}
                FROM turns WHERE settled_at IS NOT NULL GROUP BY ${noIndex}user_id
              UNION ALL SELECT user_id, ${each(({ sum }) => `0, sum(${sum})`)} FROM book_days GROUP BY user_id),
            sums AS (SELECT user_id, ${each(({ sum }) => `sum(${sum}) AS ${sum}, sum(book_${sum}) AS book_${sum}`)}
              FROM parts GROUP BY user_id)
          ${each(
            ({ sum }) => `SELECT user_id AS "userId", NULL AS "taskId", ${sum} AS expected, book_${sum} AS actual
              FROM sums WHERE ${sum} <> book_${sum}`,
            ' UNION ALL ',
          )}`,
  },
  {
    what: 'the totals of closed days and months equal the sums of their days',
    isMoney: false,
    sql: `SELECT NULL AS "userId", NULL AS "taskId", expected, actual FROM (
            SELECT sum(${all}) AS actual, (SELECT coalesce(sum(${all}), 0) FROM book_days
              WHERE day < (SELECT max(to_day) FROM book_totals AS t WHERE t.grouping = k.grouping)) AS expected
            FROM book_totals AS k GROUP BY k.grouping) AS t
          WHERE expected <> actual`,
  },
  {
    what: 'the written-off amount equals the sum of the daily books',
    isMoney: false,
    sql: `SELECT "userId", NULL AS "taskId", sum(expected) AS expected, sum(actual) AS actual FROM (
            SELECT user_id AS "userId", count AS expected, 0 AS actual FROM counters WHERE kind = 'written-off'
            UNION ALL SELECT user_id, 0, sum(written_off) FROM book_days GROUP BY user_id) AS s
          GROUP BY "userId" HAVING sum(expected) <> sum(actual)`,
  },
]
