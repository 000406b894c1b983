import type { Dialect } from '../commands/statement.ts'
import type { LedgerCheck } from './check-parts.ts'

const dayMs = 86_400_000

export const recordChecks = ({ entries }: Dialect): readonly LedgerCheck[] => [
  {
    what: 'each user has an account, and each account has a user',
    isMoney: false,
    sql: `SELECT u.id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual
          FROM users u LEFT JOIN accounts a ON a.user_id = u.id WHERE a.user_id IS NULL
          UNION ALL SELECT a.user_id, NULL, 0, 1
          FROM accounts a LEFT JOIN users u ON u.id = a.user_id WHERE u.id IS NULL`,
  },
  {
    what: 'each charge has the time of its task or turn',
    isMoney: false,
    sql: `SELECT t.user_id AS "userId", k.id AS "taskId", coalesce(k.created_at, u.settled_at) AS expected,
                 t.created_at AS actual
          FROM transactions t LEFT JOIN tasks k ON k.id = t.task_id LEFT JOIN turns u ON u.id = t.turn_id
          WHERE t.type IN ('task_charge', 'chat_charge') AND t.created_at <> coalesce(k.created_at, u.settled_at)`,
  },
  {
    what: 'each block of an account has its configured duration',
    isMoney: false,
    sql: `SELECT user_id AS "userId", NULL AS "taskId", blocked_at + block_seconds * 1000 AS expected,
                 blocked_until AS actual
          FROM accounts WHERE blocked_until IS NOT NULL
            AND coalesce(blocked_until < blocked_at + block_seconds * 1000, true)`,
  },
  {
    what: 'each failure counted toward a block belongs to a failed task',
    isMoney: false,
    sql: `SELECT f.user_id AS "userId", NULL AS "taskId", coalesce(k.failed, 0) AS expected, f.counted AS actual
          FROM (SELECT user_id, count(*) AS counted, max(failed_at) AS failed_at
            FROM abuse_failures GROUP BY user_id) AS f
          LEFT JOIN (SELECT t.user_id, count(*) AS failed, max(t.completed_at) AS failed_at FROM tasks t
            JOIN (SELECT user_id, min(failed_at) AS since FROM abuse_failures GROUP BY user_id) AS s
              ON s.user_id = t.user_id AND t.completed_at >= s.since
            WHERE t.status = 'failed' GROUP BY t.user_id) AS k ON k.user_id = f.user_id
          WHERE f.counted > coalesce(k.failed, 0) OR f.failed_at > k.failed_at`,
  },
  {
    // The count can exceed the stored payloads, because deleting a session deletes its payloads. Payloads from versions
    // without this count are skipped.
    what: 'each account counts at least its stored payloads of the day',
    isMoney: false,
    sql: `SELECT a.user_id AS "userId", NULL AS "taskId", sum(p.bytes) AS expected, a.payload_bytes AS actual
          FROM accounts a
          JOIN (SELECT coalesce(k.user_id, u.user_id) AS user_id, q.created_at, q.bytes FROM payloads q
            LEFT JOIN tasks k ON k.id = q.task_id LEFT JOIN turns u ON u.id = q.task_id
            WHERE q.created_at >= (SELECT min(payloads_since) FROM accounts)) AS p
            ON p.user_id = a.user_id AND p.created_at >= a.payloads_since
              AND p.created_at < a.payloads_since - a.payloads_since % ${dayMs} + ${dayMs}
          GROUP BY a.user_id, a.payload_bytes HAVING sum(p.bytes) > a.payload_bytes`,
  },
  {
    what: 'the message count of each session equals its number of messages',
    isMoney: false,
    sql: `SELECT s.user_id AS "userId", NULL AS "taskId", coalesce(m.n, 0) AS expected, s.message_count AS actual
          FROM sessions s LEFT JOIN (SELECT session_id, count(*) AS n FROM messages GROUP BY session_id) AS m
            ON m.session_id = s.id
          WHERE s.message_count <> coalesce(m.n, 0)`,
  },
  {
    what: 'each message belongs to a session',
    isMoney: false,
    sql: `SELECT k.user_id AS "userId", NULL AS "taskId", 0 AS expected, 1 AS actual
          FROM messages m LEFT JOIN sessions s ON s.id = m.session_id LEFT JOIN turns k ON k.id = m.turn_id
          WHERE s.id IS NULL`,
  },
  {
    what: 'each replaced turn has earlier messages in its session',
    isMoney: false,
    sql: `SELECT s.user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual
          FROM messages m JOIN sessions s ON s.id = m.session_id
          WHERE m.replaces IS NOT NULL AND NOT EXISTS (SELECT 1 FROM messages e
            WHERE e.session_id = m.session_id AND e.seq < m.seq AND e.turn_id = m.replaces)`,
  },
  {
    what: 'each continued session has the same user and agent',
    isMoney: false,
    sql: `SELECT s.user_id AS "userId", NULL AS "taskId", 0 AS expected, 1 AS actual
          FROM sessions s JOIN sessions e ON e.id = s.continues
          WHERE e.user_id <> s.user_id OR e.agent_id <> s.agent_id`,
  },
  {
    what: "the open turn of each session is open, and each open turn is its session's",
    isMoney: false,
    sql: `SELECT s.user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual
          FROM sessions s LEFT JOIN turns k ON k.id = s.open_turn_id AND k.session_id = s.id AND k.settled_at IS NULL
          WHERE s.open_turn_id IS NOT NULL AND k.id IS NULL
          UNION ALL SELECT k.user_id, NULL, 1, 0 FROM turns k JOIN sessions s ON s.id = k.session_id
          WHERE k.settled_at IS NULL AND (coalesce(s.open_turn_id <> k.id, true) OR s.user_id <> k.user_id)`,
  },
  {
    what: 'the counted sessions of each user by agent are correct',
    isMoney: false,
    sql: `SELECT "userId", NULL AS "taskId", sum(n) AS expected, sum(c) AS actual FROM (
            SELECT user_id AS "userId", agent_id, is_completed, count(*) AS n, 0 AS c FROM sessions GROUP BY 1, 2, 3
            UNION ALL SELECT user_id, agent_id, 0, 0, open FROM session_totals
            UNION ALL SELECT user_id, agent_id, 1, 0, completed FROM session_totals) AS c
          GROUP BY "userId", agent_id, is_completed HAVING sum(n) <> sum(c)`,
  },
  {
    what: 'each task is listed under exactly its tags',
    isMoney: false,
    sql: `SELECT t.user_id AS "userId", t.id AS "taskId", 1 AS expected, 0 AS actual
          FROM tasks t CROSS JOIN ${entries('t.tags')} AS e
          LEFT JOIN task_tags g ON g.user_id = t.user_id AND g.tag = e.key || ':' || e.value
            AND g.task_created_at = t.created_at AND g.task_seq = t.seq
          WHERE t.tags IS NOT NULL AND g.tag IS NULL
          UNION ALL SELECT g.user_id, t.id, 0, 1 FROM task_tags g LEFT JOIN tasks t
            ON t.seq = g.task_seq AND t.user_id = g.user_id AND t.created_at = g.task_created_at
          WHERE t.tags IS NULL OR NOT EXISTS
            (SELECT 1 FROM ${entries('t.tags')} AS e WHERE e.key || ':' || e.value = g.tag)`,
  },
  {
    what: "each user's recharge in progress is the user's only open automatic top-up",
    isMoney: false,
    sql: `SELECT p.user_id AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual FROM payment_accounts p
          LEFT JOIN topups k ON k.id = p.recharge_topup_id AND k.user_id = p.user_id AND k.is_auto = 1
            AND k.status IN ('open', 'expired')
          WHERE p.recharge_topup_id IS NOT NULL AND k.id IS NULL
          UNION ALL SELECT k.user_id, NULL, 1, 0 FROM topups k
          LEFT JOIN payment_accounts p ON p.user_id = k.user_id
          WHERE k.is_auto = 1 AND k.status = 'open' AND coalesce(p.recharge_topup_id <> k.id, true)`,
  },
  {
    // Skips deleted sessions whose idempotency key is still stored.
    what: 'each idempotency key refers to a resource that its user created',
    isMoney: false,
    sql: `SELECT i.user_id AS "userId", k.id AS "taskId", 1 AS expected, 0 AS actual FROM idempotency_keys i
          LEFT JOIN tasks k ON k.id = i.resource_id LEFT JOIN turns u ON u.id = i.resource_id
          LEFT JOIN topups p ON p.id = i.resource_id LEFT JOIN sessions s ON s.id = i.resource_id
          WHERE CASE i.operation
            WHEN 'createTask' THEN coalesce(k.user_id <> i.user_id OR k.created_at <> i.created_at, true)
            WHEN 'chat' THEN coalesce(u.user_id <> i.user_id OR u.created_at <> i.created_at, true)
            WHEN 'createTopup' THEN coalesce(p.user_id <> i.user_id OR p.created_at <> i.created_at, true)
            WHEN 'createSession' THEN coalesce(s.user_id <> i.user_id OR s.created_at <> i.created_at, false)
            ELSE true END`,
  },
  {
    what: 'no quote was used for both a task and a turn',
    isMoney: false,
    sql: `SELECT k.user_id AS "userId", k.id AS "taskId", 1 AS expected, 2 AS actual
          FROM tasks k JOIN turns u ON u.quote_id = k.quote_id AND u.quote_id IS NOT NULL
          WHERE k.quote_id IS NOT NULL`,
  },
]
