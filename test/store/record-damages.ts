import type { Damage } from './damage-holdings.ts'

// Damage to rows that other rows reference or duplicate.

const openTurn = "the open turn of each session is open, and each open turn is its session's"
const recharge = "each user's recharge in progress is the user's only open automatic top-up"
const idempotent = 'each idempotency key refers to a resource that its user created'
const tagged = 'each task is listed under exactly its tags'
const counted = 'each failure counted toward a block belongs to a failed task'

export const recordDamages: Damage[] = [
  {
    title: 'a changed act of the audit log',
    named: 'each row of the audit log is unchanged and follows the row before it',
    by: ({ userId }) => [`UPDATE audit_log SET action = 'key.created' WHERE user_id = '${userId}'`],
  },
  {
    title: 'an audit log without its end',
    named: 'the newest row of the audit log is present',
    isOfNobody: true,
    by: () => ['DELETE FROM audit_log WHERE seq = (SELECT max(seq) FROM audit_log)'],
  },
  {
    title: 'a shortened block',
    named: 'each block of an account has its configured duration',
    by: ({ userId }) => [
      `UPDATE accounts SET blocked_at = 1000, block_seconds = 60, blocked_until = 60999 WHERE user_id = '${userId}'`,
    ],
  },
  {
    title: 'a failure counted twice',
    named: counted,
    by: ({ userId }) => [
      `INSERT INTO abuse_failures (user_id, failed_at)
        SELECT user_id, failed_at FROM abuse_failures WHERE user_id = '${userId}'`,
    ],
  },
  {
    title: 'a failure counted for another user',
    named: counted,
    by: ({ failedId, userId }) => [
      `UPDATE tasks SET status = 'completed', response = '{}', error_code = NULL
        WHERE id = '${failedId}' AND user_id = '${userId}'`,
    ],
  },
  {
    title: 'an uncounted payload',
    named: 'each account counts at least its stored payloads of the day',
    by: ({ completedId, userId }) => [
      `INSERT INTO payloads (id, task_id, created_at, bytes, sha256)
        VALUES ('pay_of_${userId}', '${completedId}', 1000, 10, 'sha')`,
      `UPDATE accounts SET payload_bytes = 9, payloads_since = 1000 WHERE user_id = '${userId}'`,
    ],
  },
  {
    title: 'a missing message',
    named: 'the message count of each session equals its number of messages',
    by: ({ idleSessionId }) => [`DELETE FROM messages WHERE session_id = '${idleSessionId}' AND role = 'user'`],
  },
  {
    title: 'a session with a message count that is too high',
    named: 'the message count of each session equals its number of messages',
    by: ({ idleSessionId }) => [`UPDATE sessions SET message_count = message_count + 1 WHERE id = '${idleSessionId}'`],
  },
  {
    title: 'messages of a missing session',
    named: 'each message belongs to a session',
    by: ({ idleSessionId }) => [`DELETE FROM sessions WHERE id = '${idleSessionId}'`],
  },
  {
    title: 'a message that replaces a turn of another session',
    named: 'each replaced turn has earlier messages in its session',
    by: ({ idleSessionId, openId }) => [
      `UPDATE messages SET replaces = '${openId}' WHERE session_id = '${idleSessionId}' AND role = 'user'`,
    ],
  },
  {
    title: 'a session that continues a session of another agent',
    named: 'each continued session has the same user and agent',
    by: ({ idleSessionId, sessionId }) => [
      `UPDATE sessions SET continues = '${idleSessionId}' WHERE id = '${sessionId}'`,
      `UPDATE sessions SET agent_id = 'other' WHERE id = '${sessionId}'`,
    ],
  },
  {
    title: 'a session that does not record its open turn',
    named: openTurn,
    by: ({ sessionId }) => [`UPDATE sessions SET open_turn_id = NULL WHERE id = '${sessionId}'`],
  },
  {
    title: 'a session whose open turn is settled',
    named: openTurn,
    by: ({ sessionId, settledId }) => [`UPDATE sessions SET open_turn_id = '${settledId}' WHERE id = '${sessionId}'`],
  },
  {
    title: 'a wrong total of sessions',
    named: 'the counted sessions of each user by agent are correct',
    by: ({ userId }) => [`UPDATE session_totals SET open = open + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a task that is not listed under its tag',
    named: tagged,
    by: ({ userId }) => [`DELETE FROM task_tags WHERE user_id = '${userId}'`],
  },
  {
    title: 'a task listed under a tag that it does not have',
    named: tagged,
    by: ({ userId }) => [`UPDATE task_tags SET tag = 'other:tag' WHERE user_id = '${userId}'`],
  },
  {
    title: 'a tag listed at a wrong time',
    named: tagged,
    by: ({ userId }) => [`UPDATE task_tags SET task_created_at = task_created_at + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a missing recharge in progress',
    named: recharge,
    by: ({ rechargeId }) => [`DELETE FROM topups WHERE id = '${rechargeId}'`],
  },
  {
    title: 'a recharge in progress that its user does not record',
    named: recharge,
    by: ({ userId }) => [`UPDATE payment_accounts SET recharge_topup_id = NULL WHERE user_id = '${userId}'`],
  },
  {
    title: 'an idempotency key of another task',
    named: idempotent,
    by: ({ completedId, userId }) => [
      `UPDATE idempotency_keys SET resource_id = '${completedId}x' WHERE user_id = '${userId}'`,
    ],
  },
  {
    title: 'an idempotency key with a wrong time',
    named: idempotent,
    by: ({ userId }) => [`UPDATE idempotency_keys SET created_at = created_at + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a quote that admitted a task and a turn',
    named: 'no quote was used for both a task and a turn',
    by: ({ namedId, settledId }) => [
      `UPDATE turns SET quote_id = (SELECT quote_id FROM tasks WHERE id = '${namedId}') WHERE id = '${settledId}'`,
    ],
  },
]
