import type { Damage } from './damage-holdings.ts'

// Damage to rows that other rows reference or duplicate.

const openTurn = 'the open turn of a session is open, and an open turn is that of its session'
const recharge = 'the recharge in progress of a user is an unpaid top-up of theirs, and no other automatic one is open'
const idempotent = 'an idempotency key names what its user created with it'
const tagged = 'a task is listed under its tags, and under no others'
const counted = 'every failure that counts toward a block is of a task that failed'

export const recordDamages: Damage[] = [
  {
    title: 'a changed act of the audit log',
    named: 'each row of the audit log is unchanged and follows the row before it',
    by: ({ userId }) => [`UPDATE audit_log SET action = 'key.created' WHERE user_id = '${userId}'`],
  },
  {
    title: 'an audit log without its end',
    named: 'the audit log ends with its newest row',
    isOfNobody: true,
    by: () => ['DELETE FROM audit_log WHERE seq = (SELECT max(seq) FROM audit_log)'],
  },
  {
    title: 'a shortened block',
    named: 'every block of an account lasts as long as it was set for',
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
    named: 'an account counts at least the payloads that are there of its day',
    by: ({ completedId, userId }) => [
      `INSERT INTO payloads (id, task_id, created_at, bytes, sha256)
        VALUES ('pay_of_${userId}', '${completedId}', 1000, 10, 'sha')`,
      `UPDATE accounts SET payload_bytes = 9, payloads_since = 1000 WHERE user_id = '${userId}'`,
    ],
  },
  {
    title: 'a missing message',
    named: 'a session has as many messages as it counts',
    by: ({ idleSessionId }) => [`DELETE FROM messages WHERE session_id = '${idleSessionId}' AND role = 'user'`],
  },
  {
    title: 'a session with a message count that is too high',
    named: 'a session has as many messages as it counts',
    by: ({ idleSessionId }) => [`UPDATE sessions SET message_count = message_count + 1 WHERE id = '${idleSessionId}'`],
  },
  {
    title: 'messages of a missing session',
    named: 'every message belongs to a session',
    by: ({ idleSessionId }) => [`DELETE FROM sessions WHERE id = '${idleSessionId}'`],
  },
  {
    title: 'a message that replaces a turn of another session',
    named: 'a replaced turn has earlier messages in the session',
    by: ({ idleSessionId, openId }) => [
      `UPDATE messages SET replaces = '${openId}' WHERE session_id = '${idleSessionId}' AND role = 'user'`,
    ],
  },
  {
    title: 'a session that continues a session of another agent',
    named: 'a session continues a session of the same user and agent',
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
    named: "the total of a user's sessions by agent is counted right",
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
    named: 'no quote has admitted both a task and a turn',
    by: ({ namedId, settledId }) => [
      `UPDATE turns SET quote_id = (SELECT quote_id FROM tasks WHERE id = '${namedId}') WHERE id = '${settledId}'`,
    ],
  },
]
