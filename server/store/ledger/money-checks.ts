import type { Dialect } from '../commands/statement.ts'
import { billionthsPerUnit } from '../sessions/carried-cost.ts'
import type { LedgerCheck } from './check-parts.ts'

/**
 * Returns SQL that reads a decimal from a receipt as an integer, by removing the decimal point. Nine decimals result
 * in billionths of a USD, and four decimals in units.
 */
const digitsOf = (field: Dialect['field'], name: string) =>
  `CAST(replace(${field('breakdown', name)}, '.', '') AS numeric)`

// Except for JSON access, the SQL of these checks is the same on both engines.
export const moneyChecks = ({ entries, field }: Dialect): readonly LedgerCheck[] => [
  {
    what: 'the balance is the sum of the transactions',
    isMoney: true,
    sql: `SELECT a.user_id AS "userId", NULL AS "taskId", coalesce(sum(t.amount), 0) AS expected, a.balance AS actual
          FROM accounts a LEFT JOIN transactions t ON t.user_id = a.user_id
          GROUP BY a.user_id HAVING coalesce(sum(t.amount), 0) <> a.balance`,
  },
  {
    what: 'what platform keys credited and did not take back is the sum of their transactions, and not below zero',
    isMoney: true,
    sql: `SELECT a.user_id AS "userId", NULL AS "taskId", coalesce(t.amount, 0) AS expected, a.platform_credited AS actual
          FROM accounts a LEFT JOIN (SELECT user_id, sum(amount) AS amount FROM transactions
            WHERE counted_in IS NOT NULL GROUP BY user_id) AS t ON t.user_id = a.user_id
          WHERE coalesce(t.amount, 0) <> a.platform_credited OR a.platform_credited < 0`,
  },
  {
    what: 'every transaction has an account',
    isMoney: true,
    sql: `SELECT t.user_id AS "userId", t.task_id AS "taskId", 0 AS expected, t.amount AS actual
          FROM transactions t LEFT JOIN accounts a ON a.user_id = t.user_id WHERE a.user_id IS NULL`,
  },
  {
    what: 'balanceAfterUsd is the running sum',
    isMoney: true,
    sql: `SELECT "userId", NULL AS "taskId", expected, actual FROM (
            SELECT user_id AS "userId", balance_after AS actual,
                   sum(amount) OVER (PARTITION BY user_id ORDER BY seq) AS expected FROM transactions) AS t
          WHERE expected <> actual`,
  },
  {
    what: 'a task has one charge equal to its cost and what was given back of it',
    isMoney: true,
    sql: `SELECT k.user_id AS "userId", k.id AS "taskId", -k.cost - k.given_back AS expected, coalesce(t.amount, 0) AS actual
          FROM tasks k LEFT JOIN transactions t ON t.task_id = k.id AND t.task_id IS NOT NULL AND t.type = 'task_charge'
          WHERE t.amount IS NULL OR t.amount <> -k.cost - k.given_back OR t.user_id <> k.user_id`,
  },
  {
    what: 'a failed task has one refund equal to its cost, and no other task has one',
    isMoney: true,
    sql: `SELECT k.user_id AS "userId", k.id AS "taskId",
                 CASE k.status WHEN 'failed' THEN k.cost ELSE 0 END AS expected, coalesce(t.amount, 0) AS actual
          FROM tasks k LEFT JOIN transactions t ON t.task_id = k.id AND t.task_id IS NOT NULL AND t.type = 'task_refund'
          WHERE (k.status = 'failed') <> (t.id IS NOT NULL)
             OR t.amount IS NOT NULL AND (t.amount <> k.cost OR t.user_id <> k.user_id)`,
  },
  {
    what: 'what was given back of a task is one adjustment, and no other adjustment belongs to a task',
    isMoney: true,
    sql: `SELECT k.user_id AS "userId", k.id AS "taskId", k.given_back AS expected, coalesce(t.amount, 0) AS actual
          FROM tasks k LEFT JOIN transactions t ON t.task_id = k.id AND t.task_id IS NOT NULL AND t.type = 'adjustment'
          WHERE coalesce(t.amount, 0) <> k.given_back OR t.user_id <> k.user_id`,
  },
  {
    what: 'a metered task that is completed costs the events that it used, at the prices that it was admitted with',
    isMoney: true,
    sql: `SELECT "userId", "taskId", expected, actual FROM (
            SELECT user_id AS "userId", id AS "taskId", cost AS actual,
                   (SELECT coalesce(sum(CAST(u.value AS bigint) * CAST(m.value AS bigint)), 0)
                    FROM ${entries('usage')} AS u LEFT JOIN ${entries('meters')} AS m ON m.key = u.key) AS expected
            FROM tasks WHERE meters IS NOT NULL AND status = 'completed') AS k
          WHERE expected <> actual`,
  },
  {
    what: 'a token-priced task that is completed costs its tokens, rounded up, and at most its charge',
    isMoney: true,
    sql: `SELECT "userId", "taskId", CASE WHEN exact < charge THEN exact ELSE charge END AS expected, actual FROM (
            SELECT user_id AS "userId", id AS "taskId", cost AS actual, cost + given_back AS charge,
                   CAST((CAST(replace(${field('usage', 'exactUsd')}, '.', '') AS bigint) + ${billionthsPerUnit - 1})
                     / ${billionthsPerUnit} AS bigint) AS exact
            FROM tasks WHERE rates IS NOT NULL AND status = 'completed') AS k
          WHERE actual <> CASE WHEN exact < charge THEN exact ELSE charge END`,
  },
  {
    what: 'every charge and refund belongs to a task',
    isMoney: true,
    sql: `SELECT t.user_id AS "userId", t.task_id AS "taskId", 0 AS expected, t.amount AS actual
          FROM transactions t LEFT JOIN tasks k ON k.id = t.task_id
          WHERE (t.type IN ('task_charge', 'task_refund') OR t.task_id IS NOT NULL) AND k.id IS NULL`,
  },
  {
    what: 'a settled chat turn has one charge equal to its cost, unless it failed for nothing, and no other turn has one',
    isMoney: true,
    sql: `SELECT k.user_id AS "userId", NULL AS "taskId", -coalesce(k.cost, 0) AS expected, coalesce(t.amount, 0) AS actual
          FROM turns k LEFT JOIN transactions t ON t.turn_id = k.id AND t.turn_id IS NOT NULL
          WHERE coalesce(k.outcome IN ('finished', 'truncated') OR k.cost > 0, false) <> (t.id IS NOT NULL)
             OR t.amount IS NOT NULL AND (t.amount <> -k.cost OR t.user_id <> k.user_id OR t.type <> 'chat_charge')`,
  },
  {
    what: 'the exact cost of a chat with what was carried to it is charged, written off or carried on, in billionths of a USD',
    isMoney: false,
    sql: `SELECT "userId", NULL AS "taskId", expected, actual FROM (
            SELECT user_id AS "userId", ${digitsOf(field, 'carriedAfterUsd')} AS actual,
                   ${digitsOf(field, 'exactUsd')} + ${digitsOf(field, 'carriedBeforeUsd')}
                     + (amount - coalesce(${digitsOf(field, 'writtenOffUsd')}, 0)) * ${billionthsPerUnit} AS expected
            FROM transactions WHERE type = 'chat_charge' AND ${field('breakdown', 'exactUsd')} IS NOT NULL) AS t
          WHERE expected <> actual OR actual >= ${billionthsPerUnit}`,
  },
  {
    what: 'what is carried to a chat is what the chat before it left, in billionths of a USD',
    isMoney: false,
    sql: `SELECT "userId", NULL AS "taskId", expected, actual FROM (
            SELECT user_id AS "userId", ${digitsOf(field, 'carriedBeforeUsd')} AS actual,
                   coalesce(lag(${digitsOf(field, 'carriedAfterUsd')}) OVER (PARTITION BY user_id ORDER BY seq), 0) AS expected
            FROM transactions WHERE type = 'chat_charge') AS t
          WHERE expected <> actual`,
  },
  {
    what: 'an account carries what its last chat left, in billionths of a USD',
    isMoney: false,
    sql: `SELECT "userId", NULL AS "taskId", expected, actual FROM (
            SELECT a.user_id AS "userId", a.carried AS actual,
                   coalesce((SELECT ${digitsOf(field, 'carriedAfterUsd')} FROM transactions
                     WHERE user_id = a.user_id AND type = 'chat_charge' ORDER BY seq DESC LIMIT 1), 0) AS expected
            FROM accounts a) AS t
          WHERE expected <> actual`,
  },
  {
    what: 'every chat charge belongs to a turn, and to its session',
    isMoney: true,
    sql: `SELECT t.user_id AS "userId", NULL AS "taskId", 0 AS expected, t.amount AS actual
          FROM transactions t LEFT JOIN turns k ON k.id = t.turn_id AND k.session_id = t.session_id
          WHERE t.type = 'chat_charge' AND k.id IS NULL`,
  },
  {
    what: 'no chat turn holds or costs more than its cap',
    isMoney: true,
    sql: `SELECT user_id AS "userId", NULL AS "taskId", max_cost AS expected, coalesce(cost, held) AS actual
          FROM turns WHERE coalesce(cost, held) > max_cost`,
  },
  {
    // Charges of a deleted session still contain its id, so check only existing sessions.
    what: 'what a session has spent is the sum of its charges',
    isMoney: true,
    sql: `SELECT s.user_id AS "userId", NULL AS "taskId", coalesce(-sum(t.amount), 0) AS expected, s.spent AS actual
          FROM sessions s LEFT JOIN transactions t
            ON t.session_id = s.id AND t.session_id IS NOT NULL AND t.user_id = s.user_id
          GROUP BY s.id, s.user_id, s.spent HAVING coalesce(-sum(t.amount), 0) <> s.spent`,
  },
  {
    what: 'what a session has spent and its open turn holds is within its cap',
    isMoney: true,
    sql: `SELECT s.user_id AS "userId", NULL AS "taskId", s.max_cost AS expected,
                 s.spent + coalesce(sum(k.held), 0) AS actual
          FROM sessions s LEFT JOIN turns k
            ON k.user_id = s.user_id AND k.settled_at IS NULL AND k.session_id = s.id
          WHERE s.max_cost IS NOT NULL
          GROUP BY s.id, s.user_id, s.max_cost, s.spent HAVING s.spent + coalesce(sum(k.held), 0) > s.max_cost`,
  },
  {
    what: 'what an account holds is what its open turns hold',
    isMoney: true,
    sql: `SELECT a.user_id AS "userId", NULL AS "taskId", coalesce(sum(k.held), 0) AS expected, a.held AS actual
          FROM accounts a LEFT JOIN turns k ON k.user_id = a.user_id AND k.settled_at IS NULL
          GROUP BY a.user_id HAVING coalesce(sum(k.held), 0) <> a.held`,
  },
  {
    // Skips windows that a task or turn refers to but that were already deleted.
    what: 'what is charged in a spend window is the sum of what its tasks and turns cost',
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
    // When the reset period of a limit changes, the hold of an open turn is carried over too.
    what: 'what is carried over to a spend window was spent by executions of its period that count in other windows',
    isMoney: true,
    sql: `SELECT w.user_id AS "userId", NULL AS "taskId", 0 AS expected, w.carried AS actual
          FROM spend_windows w
          WHERE w.carried < 0 OR w.carried > 0 AND NOT EXISTS (
            SELECT 1 FROM tasks k WHERE k.user_id = w.user_id AND k.created_at >= w.starts_at AND k.counted_in IS NOT NULL
            UNION ALL SELECT 1 FROM turns k
            WHERE k.user_id = w.user_id AND k.created_at >= w.starts_at AND k.counted_in IS NOT NULL)`,
  },
  {
    what: 'what is held in a spend window is what its open turns hold',
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
    what: 'what is charged and held in a spend window is within its limit',
    isMoney: true,
    sql: `SELECT user_id AS "userId", NULL AS "taskId", spend_limit AS expected, charged + held AS actual
          FROM spend_windows WHERE charged + held > spend_limit`,
  },
  {
    what: 'no client token has spent more than its cap',
    isMoney: true,
    sql: `SELECT w.user_id AS "userId", NULL AS "taskId", t.max_cost AS expected, w.charged + w.held AS actual
          FROM client_tokens t JOIN spend_windows w ON w.owner_id = t.id
          WHERE w.charged + w.held > t.max_cost OR w.user_id <> t.user_id`,
  },
  {
    // Debt is the part of a refunded or disputed top-up that the balance could not cover. Money that becomes
    // available pays debt first.
    what: 'what is owed is what was taken back of top-ups and not paid',
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
    what: 'nobody owes who has something free',
    isMoney: true,
    sql: `SELECT user_id AS "userId", NULL AS "taskId", held AS expected, balance AS actual
          FROM accounts WHERE owed > 0 AND balance > held`,
  },
  {
    what: 'a paid top-up has one credit equal to its amount, and no other top-up has one',
    isMoney: true,
    sql: `SELECT k.user_id AS "userId", NULL AS "taskId", CASE k.status WHEN 'paid' THEN k.amount ELSE 0 END AS expected,
                 coalesce(t.amount, 0) AS actual
          FROM topups k LEFT JOIN transactions t ON t.topup_id = k.id AND t.topup_id IS NOT NULL AND t.type = 'credit'
          WHERE (k.status = 'paid') <> (t.id IS NOT NULL)
             OR t.amount IS NOT NULL AND (t.amount <> k.amount OR t.user_id <> k.user_id)`,
  },
  {
    what: 'refunds and disputes of a top-up together are at most its amount',
    isMoney: true,
    sql: `SELECT user_id AS "userId", NULL AS "taskId", amount AS expected, refunded + disputed AS actual
          FROM topups WHERE refunded + disputed > amount`,
  },
  {
    what: 'every transaction of a top-up belongs to one that is paid, and to its user',
    isMoney: true,
    sql: `SELECT t.user_id AS "userId", NULL AS "taskId", 0 AS expected, t.amount AS actual
          FROM transactions t LEFT JOIN topups k ON k.id = t.topup_id AND k.user_id = t.user_id AND k.status = 'paid'
          WHERE t.topup_id IS NOT NULL AND (k.id IS NULL OR t.type NOT IN ('credit', 'topup_reversal'))`,
  },
  {
    what: "the total of a user's tasks by agent and status is counted right",
    isMoney: false,
    sql: `SELECT "userId", NULL AS "taskId", sum(n) AS expected, sum(c) AS actual FROM (
            SELECT user_id AS "userId", agent_id AS part, status, count(*) AS n, 0 AS c FROM tasks GROUP BY 1, 2, 3
            UNION ALL SELECT user_id, part, status, 0, count FROM counters WHERE kind = 'task') AS c
          GROUP BY "userId", part, status HAVING sum(n) <> sum(c)`,
  },
  {
    what: "the total of a user's transactions by type is counted right",
    isMoney: false,
    sql: `SELECT "userId", NULL AS "taskId", sum(n) AS expected, sum(c) AS actual FROM (
            SELECT user_id AS "userId", type AS part, count(*) AS n, 0 AS c FROM transactions GROUP BY 1, 2
            UNION ALL SELECT user_id, part, 0, count FROM counters WHERE kind = 'transaction') AS c
          GROUP BY "userId", part HAVING sum(n) <> sum(c)`,
  },
]
