import type { Dialect } from '../commands/statement.ts'
import { unlimitedSpend } from '../limits/execution-limits.ts'
import { timeOf, windowsSince, type LedgerCheck } from './check-parts.ts'

/**
 * Maximum time from authentication to admission. After a limit changes, admissions can still use the old limit for this
 * long.
 */
const inFlightMsMax = 3_600_000

/** Owners of spend windows: the first key of a rotation chain, a client token, or a user. */
const owners = `SELECT coalesce(counts_as, id) AS id, user_id FROM api_keys
  UNION SELECT id, user_id FROM client_tokens UNION SELECT id, id FROM users`

export const limitChecks = ({ entries, field }: Dialect): readonly LedgerCheck[] => [
  {
    // Skips deleted windows. A window is deleted with its key or token, or long after its period.
    what: 'each spend window of a task or turn exists',
    isMoney: true,
    sql: `SELECT c.user_id AS "userId", NULL AS "taskId", sum(c.cost) AS expected, 0 AS actual FROM (
            SELECT k.user_id, n.key AS owner_id, CAST(n.value AS bigint) AS starts_at,
                   CASE k.status WHEN 'failed' THEN 0 ELSE k.cost END AS cost
            FROM tasks k, ${entries('k.counted_in')} AS n WHERE k.counted_in IS NOT NULL
            UNION ALL SELECT k.user_id, n.key, CAST(n.value AS bigint), coalesce(k.cost, k.held)
            FROM turns k, ${entries('k.counted_in')} AS n WHERE k.counted_in IS NOT NULL) AS c
          JOIN (${owners}) AS o ON o.id = c.owner_id
          LEFT JOIN spend_windows w
            ON w.owner_id = c.owner_id AND w.starts_at = c.starts_at AND w.user_id = c.user_id
          WHERE w.owner_id IS NULL AND (c.starts_at = 0 OR c.starts_at > ${timeOf(windowsSince)})
          GROUP BY c.user_id, c.owner_id, c.starts_at`,
  },
  {
    what: 'each spend window belongs to the account of its key, client token or user',
    isMoney: false,
    sql: `SELECT w.user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual
          FROM spend_windows w JOIN (${owners}) AS o ON o.id = w.owner_id WHERE o.user_id <> w.user_id`,
  },
  {
    // A window that began around a limit change may have the previous limit. If a key has already spent more than its
    // limit, its window's limit equals the spend.
    what: 'the limit of each spend window is that of its key, unless the key was changed since',
    isMoney: true,
    sql: `SELECT w.user_id AS "userId", NULL AS "taskId", k.spend_limit AS expected, w.spend_limit AS actual
          FROM api_keys k JOIN spend_windows w ON w.owner_id = coalesce(k.counts_as, k.id)
          WHERE k.replaced_by IS NULL AND w.spend_limit <> k.spend_limit
            AND coalesce(k.limited_at + ${inFlightMsMax} <= w.starts_at, true)`,
  },
  {
    what: "the limit of each client token's spend window is the token's cap",
    isMoney: true,
    sql: `SELECT w.user_id AS "userId", NULL AS "taskId", coalesce(t.max_cost, ${unlimitedSpend}) AS expected, w.spend_limit AS actual
          FROM client_tokens t JOIN spend_windows w ON w.owner_id = t.id
          WHERE w.spend_limit <> coalesce(t.max_cost, ${unlimitedSpend})`,
  },
  {
    what: "the limit of each user's spend window is at least the user's daily limit",
    isMoney: true,
    sql: `SELECT w.user_id AS "userId", NULL AS "taskId", a.per_day AS expected, w.spend_limit AS actual
          FROM (SELECT user_id, CAST(${field('limits', 'spendPerDay')} AS bigint) AS per_day
            FROM accounts WHERE limits IS NOT NULL) AS a
          JOIN spend_windows w ON w.owner_id = a.user_id WHERE w.spend_limit < a.per_day`,
  },
  {
    what: 'each rotated key counts as the key that it replaced',
    isMoney: false,
    sql: `SELECT k.user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual
          FROM api_keys k JOIN api_keys n ON n.id = k.replaced_by
          WHERE coalesce(n.counts_as <> coalesce(k.counts_as, k.id), true) OR n.user_id <> k.user_id`,
  },
  {
    what: 'each client token for one execution is marked as used if it has spent',
    isMoney: false,
    sql: `SELECT t.user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual
          FROM client_tokens t JOIN spend_windows w ON w.owner_id = t.id
          WHERE t.is_once = 1 AND t.used_at IS NULL AND w.charged + w.held > 0`,
  },
  {
    what: 'the amount that a platform key credited on its last day equals the sum of its credits',
    isMoney: true,
    sql: `SELECT NULL AS "userId", NULL AS "taskId", coalesce(sum(c.amount), 0) AS expected, k.credited AS actual
          FROM platform_keys k LEFT JOIN (
            SELECT n.key AS key_id, CAST(n.value AS bigint) AS day, t.amount AS amount
            FROM transactions t, ${entries('t.counted_in')} AS n WHERE t.counted_in IS NOT NULL AND t.amount > 0) AS c
          ON c.key_id = k.id AND c.day = k.credit_day
          WHERE k.credit_day > 0
          GROUP BY k.id, k.credited HAVING coalesce(sum(c.amount), 0) <> k.credited`,
  },
  {
    what: 'the amount that a platform key took back on its last day equals the sum of its adjustments',
    isMoney: true,
    sql: `SELECT NULL AS "userId", NULL AS "taskId", coalesce(sum(c.amount), 0) AS expected, k.taken AS actual
          FROM platform_keys k LEFT JOIN (
            SELECT n.key AS key_id, CAST(n.value AS bigint) AS day, -t.amount AS amount
            FROM transactions t, ${entries('t.counted_in')} AS n WHERE t.counted_in IS NOT NULL AND t.amount < 0) AS c
          ON c.key_id = k.id AND c.day = k.credit_day
          WHERE k.credit_day > 0
          GROUP BY k.id, k.taken HAVING coalesce(sum(c.amount), 0) <> k.taken`,
  },
  {
    what: 'each credit counted for a platform key belongs to an existing key and one of its days',
    isMoney: true,
    sql: `SELECT c.user_id AS "userId", NULL AS "taskId", 0 AS expected, c.amount AS actual FROM (
            SELECT t.user_id, n.key AS key_id, CAST(n.value AS bigint) AS day, t.amount
            FROM transactions t, ${entries('t.counted_in')} AS n WHERE t.counted_in IS NOT NULL) AS c
          LEFT JOIN platform_keys k ON k.id = c.key_id WHERE coalesce(c.day > k.credit_day, true)`,
  },
]
