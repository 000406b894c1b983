import type { Dialect } from '../commands/statement.ts'
import { billionthsPerUnit } from '../sessions/carried-cost.ts'
import type { LedgerCheck } from './check-parts.ts'

/**
 * Returns SQL that reads a decimal from a receipt as an integer, by removing the decimal point. Nine decimals give
 * billionths of a USD, and four give units.
 */
const digitsOf = (field: Dialect['field'], name: string) =>
  `CAST(replace(${field('breakdown', name)}, '.', '') AS numeric)`

/**
 * `noIndex` makes SQLite sort rows by user instead of reading them in index order. If the file is larger than memory,
 * reading in index order would read the file many times.
 */
export const moneyChecks = ({ entries, field, noIndex }: Dialect): readonly LedgerCheck[] => [
  {
    what: 'the balance equals the sum of the transactions',
    isMoney: true,
    sql: `SELECT a.user_id AS "userId", NULL AS "taskId", coalesce(t.amount, 0) AS expected, a.balance AS actual
          FROM accounts a LEFT JOIN (SELECT user_id, sum(amount) AS amount FROM transactions
            GROUP BY ${noIndex}user_id) AS t ON t.user_id = a.user_id
          WHERE coalesce(t.amount, 0) <> a.balance`,
  },
  {
    what: 'the net credit from platform keys equals the sum of their transactions and is not negative',
    isMoney: true,
    sql: `SELECT a.user_id AS "userId", NULL AS "taskId", coalesce(t.amount, 0) AS expected, a.platform_credited AS actual
          FROM accounts a LEFT JOIN (SELECT user_id, sum(amount) AS amount FROM transactions
            WHERE counted_in IS NOT NULL GROUP BY ${noIndex}user_id) AS t ON t.user_id = a.user_id
          WHERE coalesce(t.amount, 0) <> a.platform_credited OR a.platform_credited < 0`,
  },
  {
    what: 'each transaction has an account',
    isMoney: true,
    sql: `SELECT t.user_id AS "userId", t.task_id AS "taskId", 0 AS expected, t.amount AS actual
          FROM transactions t LEFT JOIN accounts a ON a.user_id = t.user_id WHERE a.user_id IS NULL`,
  },
  {
    what: 'balanceAfterUsd equals the running sum of the transactions',
    isMoney: true,
    sql: `SELECT "userId", NULL AS "taskId", expected, actual FROM (
            SELECT user_id AS "userId", balance_after AS actual,
                   sum(amount) OVER (PARTITION BY ${noIndex}user_id ORDER BY seq) AS expected FROM transactions) AS t
          WHERE expected <> actual`,
  },
  {
    what: 'each task has one charge equal to its cost plus its returned part',
    isMoney: true,
    sql: `SELECT k.user_id AS "userId", k.id AS "taskId", -k.cost - k.given_back AS expected, coalesce(t.amount, 0) AS actual
          FROM tasks k LEFT JOIN transactions t ON t.task_id = k.id AND t.task_id IS NOT NULL AND t.type = 'task_charge'
          WHERE t.amount IS NULL OR t.amount <> -k.cost - k.given_back OR t.user_id <> k.user_id`,
  },
  {
    what: 'each failed task has one refund equal to its cost, and no other task has a refund',
    isMoney: true,
    sql: `SELECT k.user_id AS "userId", k.id AS "taskId",
                 CASE k.status WHEN 'failed' THEN k.cost ELSE 0 END AS expected, coalesce(t.amount, 0) AS actual
          FROM tasks k LEFT JOIN transactions t ON t.task_id = k.id AND t.task_id IS NOT NULL AND t.type = 'task_refund'
          WHERE (k.status = 'failed') <> (t.id IS NOT NULL)
             OR t.amount IS NOT NULL AND (t.amount <> k.cost OR t.user_id <> k.user_id)`,
  },
  {
    what: 'the returned part of each task is one adjustment, and no other adjustment belongs to a task',
    isMoney: true,
    sql: `SELECT k.user_id AS "userId", k.id AS "taskId", k.given_back AS expected, coalesce(t.amount, 0) AS actual
          FROM tasks k LEFT JOIN transactions t ON t.task_id = k.id AND t.task_id IS NOT NULL AND t.type = 'adjustment'
          WHERE coalesce(t.amount, 0) <> k.given_back OR t.user_id <> k.user_id`,
  },
  {
    what: 'the cost of each completed metered task equals its events at the prices of its admission',
    isMoney: true,
    sql: `SELECT "userId", "taskId", expected, actual FROM (
            SELECT user_id AS "userId", id AS "taskId", cost AS actual,
                   (SELECT coalesce(sum(CAST(u.value AS bigint) * CAST(m.value AS bigint)), 0)
                    FROM ${entries('usage')} AS u LEFT JOIN ${entries('meters')} AS m ON m.key = u.key) AS expected
            FROM tasks WHERE meters IS NOT NULL AND status = 'completed') AS k
          WHERE expected <> actual`,
  },
  {
    what: 'the cost of each completed token-priced task equals its tokens, rounded up, and is at most its charge',
    isMoney: true,
    sql: `SELECT "userId", "taskId", CASE WHEN exact < charge THEN exact ELSE charge END AS expected, actual FROM (
            SELECT user_id AS "userId", id AS "taskId", cost AS actual, cost + given_back AS charge,
                   CAST((CAST(replace(${field('usage', 'exactUsd')}, '.', '') AS bigint) + ${billionthsPerUnit - 1})
                     / ${billionthsPerUnit} AS bigint) AS exact
            FROM tasks WHERE rates IS NOT NULL AND status = 'completed') AS k
          WHERE actual <> CASE WHEN exact < charge THEN exact ELSE charge END`,
  },
  {
    what: 'each task charge and refund belongs to a task',
    isMoney: true,
    sql: `SELECT t.user_id AS "userId", t.task_id AS "taskId", 0 AS expected, t.amount AS actual
          FROM transactions t LEFT JOIN tasks k ON k.id = t.task_id
          WHERE (t.type IN ('task_charge', 'task_refund') OR t.task_id IS NOT NULL) AND k.id IS NULL`,
  },
  {
    what: 'each settled turn has one charge equal to its cost, unless it failed at no cost, and no other turn has a charge',
    isMoney: true,
    sql: `SELECT k.user_id AS "userId", NULL AS "taskId", -coalesce(k.cost, 0) AS expected, coalesce(t.amount, 0) AS actual
          FROM turns k LEFT JOIN transactions t ON t.turn_id = k.id AND t.turn_id IS NOT NULL
          WHERE coalesce(k.outcome IN ('finished', 'truncated') OR k.cost > 0, false) <> (t.id IS NOT NULL)
             OR t.amount IS NOT NULL AND (t.amount <> -k.cost OR t.user_id <> k.user_id OR t.type <> 'chat_charge')`,
  },
  {
    what: 'the exact cost of each turn plus the amount carried to it is charged, written off or carried on, in billionths of a USD',
    isMoney: false,
    sql: `SELECT "userId", NULL AS "taskId", expected, actual FROM (
            SELECT user_id AS "userId", ${digitsOf(field, 'carriedAfterUsd')} AS actual,
                   ${digitsOf(field, 'exactUsd')} + ${digitsOf(field, 'carriedBeforeUsd')}
                     + (amount - coalesce(${digitsOf(field, 'writtenOffUsd')}, 0)) * ${billionthsPerUnit} AS expected
            FROM transactions WHERE type = 'chat_charge' AND ${field('breakdown', 'exactUsd')} IS NOT NULL) AS t
          WHERE expected <> actual OR actual >= ${billionthsPerUnit}`,
  },
  {
    what: 'the amount carried to each turn equals the amount that the previous turn left, in billionths of a USD',
    isMoney: false,
    sql: `SELECT "userId", NULL AS "taskId", expected, actual FROM (
            SELECT user_id AS "userId", ${digitsOf(field, 'carriedBeforeUsd')} AS actual,
                   coalesce(lag(${digitsOf(field, 'carriedAfterUsd')}) OVER (PARTITION BY ${noIndex}user_id ORDER BY seq), 0) AS expected
            FROM transactions WHERE type = 'chat_charge') AS t
          WHERE expected <> actual`,
  },
  {
    what: 'the amount that each account carries equals the amount that its last turn left, in billionths of a USD',
    isMoney: false,
    sql: `SELECT "userId", NULL AS "taskId", expected, actual FROM (
            SELECT a.user_id AS "userId", a.carried AS actual,
                   coalesce((SELECT ${digitsOf(field, 'carriedAfterUsd')} FROM transactions
                     WHERE user_id = a.user_id AND type = 'chat_charge' ORDER BY seq DESC LIMIT 1), 0) AS expected
            FROM accounts a) AS t
          WHERE expected <> actual`,
  },
  {
    what: 'each turn charge belongs to a turn and to its session',
    isMoney: true,
    sql: `SELECT t.user_id AS "userId", NULL AS "taskId", 0 AS expected, t.amount AS actual
          FROM transactions t LEFT JOIN turns k ON k.id = t.turn_id AND k.session_id = t.session_id
          WHERE t.type = 'chat_charge' AND k.id IS NULL`,
  },
  {
    what: 'no turn holds or costs more than its cap',
    isMoney: true,
    sql: `SELECT user_id AS "userId", NULL AS "taskId", max_cost AS expected, coalesce(cost, held) AS actual
          FROM turns WHERE coalesce(cost, held) > max_cost`,
  },
  {
    // Charges for turns of a deleted session still contain its id, so check only existing sessions.
    what: 'the amount that each session has spent equals the sum of its charges',
    isMoney: true,
    sql: `SELECT s.user_id AS "userId", NULL AS "taskId", coalesce(-sum(t.amount), 0) AS expected, s.spent AS actual
          FROM sessions s LEFT JOIN transactions t
            ON t.session_id = s.id AND t.session_id IS NOT NULL AND t.user_id = s.user_id
          GROUP BY s.id, s.user_id, s.spent HAVING coalesce(-sum(t.amount), 0) <> s.spent`,
  },
  {
    what: 'the amount that each session has spent, plus the hold of its open turn, is within its cap',
    isMoney: true,
    sql: `SELECT s.user_id AS "userId", NULL AS "taskId", s.max_cost AS expected,
                 s.spent + coalesce(sum(k.held), 0) AS actual
          FROM sessions s LEFT JOIN turns k
            ON k.user_id = s.user_id AND k.settled_at IS NULL AND k.session_id = s.id
          WHERE s.max_cost IS NOT NULL
          GROUP BY s.id, s.user_id, s.max_cost, s.spent HAVING s.spent + coalesce(sum(k.held), 0) > s.max_cost`,
  },
  {
    what: 'the amount that each account holds equals the holds of its open turns',
    isMoney: true,
    sql: `SELECT a.user_id AS "userId", NULL AS "taskId", coalesce(sum(k.held), 0) AS expected, a.held AS actual
          FROM accounts a LEFT JOIN turns k ON k.user_id = a.user_id AND k.settled_at IS NULL
          GROUP BY a.user_id HAVING coalesce(sum(k.held), 0) <> a.held`,
  },
  {
    // Skips windows that were deleted although tasks or turns still refer to them.
    what: 'the amount charged in each spend window equals the cost of its tasks and turns',
    isMoney: true,
    sql: `SELECT w.user_id AS "userId", NULL AS "taskId", coalesce(sum(c.cost), 0) AS expected, w.charged AS actual
          FROM spend_windows w LEFT JOIN (
            SELECT k.user_id, n.key AS owner_id, CAST(n.value AS bigint) AS starts_at,
                   CASE k.status WHEN 'failed' THEN 0 ELSE k.cost END AS cost
            FROM tasks k, ${entries('k.counted_in')} AS n WHERE k.counted_in IS NOT NULL
            UNION ALL SELECT k.user_id, n.key, CAST(n.value AS bigint), coalesce(k.cost, 0)
            FROM turns k, ${entries('k.counted_in')} AS n WHERE k.counted_in IS NOT NULL) AS c
          ON c.owner_id = w.owner_id AND c.starts_at = w.starts_at AND c.user_id = w.user_id
          GROUP BY w.owner_id, w.starts_at, w.user_id, w.charged HAVING coalesce(sum(c.cost), 0) <> w.charged`,
  },
  {
    // When a limit's reset period changes, the hold of an open turn is carried over too.
    what: 'the amount carried over to each spend window was spent in its period by executions of other windows',
    isMoney: true,
    sql: `SELECT w.user_id AS "userId", NULL AS "taskId", 0 AS expected, w.carried AS actual
          FROM spend_windows w
          WHERE w.carried < 0 OR w.carried > 0 AND NOT EXISTS (
            SELECT 1 FROM tasks k WHERE k.user_id = w.user_id AND k.created_at >= w.starts_at AND k.counted_in IS NOT NULL
            UNION ALL SELECT 1 FROM turns k
            WHERE k.user_id = w.user_id AND k.created_at >= w.starts_at AND k.counted_in IS NOT NULL)`,
  },
  {
    what: 'the amount held in each spend window equals the holds of its open turns',
    isMoney: true,
    sql: `SELECT w.user_id AS "userId", NULL AS "taskId", coalesce(sum(c.held), 0) AS expected, w.held AS actual
          FROM spend_windows w LEFT JOIN (
            SELECT k.user_id, n.key AS owner_id, CAST(n.value AS bigint) AS starts_at, k.held
            FROM turns k, ${entries('k.counted_in')} AS n
            WHERE k.counted_in IS NOT NULL AND k.settled_at IS NULL) AS c
          ON c.owner_id = w.owner_id AND c.starts_at = w.starts_at AND c.user_id = w.user_id
          GROUP BY w.owner_id, w.starts_at, w.user_id, w.held HAVING coalesce(sum(c.held), 0) <> w.held`,
  },
  {
    what: 'the amount charged and held in each spend window is within its limit',
    isMoney: true,
    sql: `SELECT user_id AS "userId", NULL AS "taskId", spend_limit AS expected, charged + held AS actual
          FROM spend_windows WHERE charged + held > spend_limit`,
  },
  {
    what: 'no client token has exceeded its cap',
    isMoney: true,
    sql: `SELECT w.user_id AS "userId", NULL AS "taskId", t.max_cost AS expected, w.charged + w.held AS actual
          FROM client_tokens t JOIN spend_windows w ON w.owner_id = t.id
          WHERE w.charged + w.held > t.max_cost OR w.user_id <> t.user_id`,
  },
  {
    // Debt is the part of refunded or disputed top-ups that the balance could not cover. Money that becomes available
    // pays debt first.
    what: 'the owed amount equals the unpaid part of refunded and disputed top-ups',
    isMoney: true,
    sql: `SELECT a.user_id AS "userId", NULL AS "taskId", coalesce(k.taken, 0) + coalesce(t.paid, 0) AS expected,
                 a.owed AS actual
          FROM accounts a
          LEFT JOIN (SELECT user_id, sum(refunded + disputed) AS taken FROM topups WHERE status = 'paid'
            GROUP BY user_id) AS k ON k.user_id = a.user_id
          LEFT JOIN (SELECT user_id, sum(amount) AS paid FROM transactions WHERE type = 'topup_reversal'
            GROUP BY user_id) AS t ON t.user_id = a.user_id
          WHERE coalesce(k.taken, 0) + coalesce(t.paid, 0) <> a.owed`,
  },
  {
    what: 'no account with an available balance owes money',
    isMoney: true,
    sql: `SELECT user_id AS "userId", NULL AS "taskId", held AS expected, balance AS actual
          FROM accounts WHERE owed > 0 AND balance > held`,
  },
  {
    what: 'each paid top-up has one credit equal to its amount, and no other top-up has a credit',
    isMoney: true,
    sql: `SELECT k.user_id AS "userId", NULL AS "taskId", CASE k.status WHEN 'paid' THEN k.amount ELSE 0 END AS expected,
                 coalesce(t.amount, 0) AS actual
          FROM topups k LEFT JOIN transactions t ON t.topup_id = k.id AND t.topup_id IS NOT NULL AND t.type = 'credit'
          WHERE (k.status = 'paid') <> (t.id IS NOT NULL)
             OR t.amount IS NOT NULL AND (t.amount <> k.amount OR t.user_id <> k.user_id)`,
  },
  {
    what: 'the refunds and disputes of each top-up are together at most its amount',
    isMoney: true,
    sql: `SELECT user_id AS "userId", NULL AS "taskId", amount AS expected, refunded + disputed AS actual
          FROM topups WHERE refunded + disputed > amount`,
  },
  {
    what: 'each top-up transaction belongs to a paid top-up of its user',
    isMoney: true,
    sql: `SELECT t.user_id AS "userId", NULL AS "taskId", 0 AS expected, t.amount AS actual
          FROM transactions t LEFT JOIN topups k ON k.id = t.topup_id AND k.user_id = t.user_id AND k.status = 'paid'
          WHERE t.topup_id IS NOT NULL AND (k.id IS NULL OR t.type NOT IN ('credit', 'topup_reversal'))`,
  },
  {
    what: 'the counted tasks of each user by agent and status are correct',
    isMoney: false,
    sql: `SELECT "userId", NULL AS "taskId", sum(n) AS expected, sum(c) AS actual FROM (
            SELECT user_id AS "userId", agent_id AS part, status, count(*) AS n, 0 AS c FROM tasks GROUP BY 1, 2, 3
            UNION ALL SELECT user_id, part, status, 0, count FROM counters WHERE kind = 'task') AS c
          GROUP BY "userId", part, status HAVING sum(n) <> sum(c)`,
  },
  {
    what: 'the counted transactions of each user by type are correct',
    isMoney: false,
    sql: `SELECT "userId", NULL AS "taskId", sum(n) AS expected, sum(c) AS actual FROM (
            SELECT user_id AS "userId", type AS part, count(*) AS n, 0 AS c FROM transactions GROUP BY 1, 2
            UNION ALL SELECT user_id, part, 0, count FROM counters WHERE kind = 'transaction') AS c
          GROUP BY "userId", part HAVING sum(n) <> sum(c)`,
  },
]
