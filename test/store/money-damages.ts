import type { Damage } from './damage-holdings.ts'

const transaction = (type: string, of: string) => `WHERE type = '${type}' AND ${of}`
const ofTask = (id: string) => `task_id = '${id}'`

export const moneyDamages: Damage[] = [
  {
    title: 'a platform key credit without a matching transaction',
    named: 'what platform keys credited and did not take back is the sum of their transactions, and not below zero',
    by: ({ userId }) => [`UPDATE accounts SET platform_credited = platform_credited + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a balance without matching transactions',
    named: 'the balance is the sum of the transactions',
    by: ({ userId }) => [`UPDATE accounts SET balance = balance + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a duplicate credit',
    named: 'the balance is the sum of the transactions',
    by: ({ userId }) => [
      `INSERT INTO transactions (id, user_id, type, amount, balance_after, description, created_at)
        SELECT id || '_again', user_id, type, amount, balance_after, description, created_at
        FROM transactions ${transaction('credit', `user_id = '${userId}' AND topup_id IS NULL`)}`,
    ],
  },
  {
    title: 'transactions of a missing account',
    named: 'every transaction has an account',
    by: ({ userId }) => [`DELETE FROM accounts WHERE user_id = '${userId}'`],
  },
  {
    title: 'a wrong balance after a transaction',
    named: 'balanceAfterUsd is the running sum',
    by: ({ completedId }) => [
      `UPDATE transactions SET balance_after = balance_after + 1 ${transaction('task_charge', ofTask(completedId))}`,
    ],
  },
  {
    title: 'a task without its charge',
    named: 'a task has one charge equal to its cost and what was given back of it',
    by: ({ completedId }) => [`DELETE FROM transactions ${transaction('task_charge', ofTask(completedId))}`],
  },
  {
    title: 'a charge that differs from the cost of its task',
    named: 'a task has one charge equal to its cost and what was given back of it',
    by: ({ completedId }) => [`UPDATE tasks SET cost = cost + 1 WHERE id = '${completedId}'`],
  },
  {
    title: 'a failed task without its refund',
    named: 'a failed task has one refund equal to its cost, and no other task has one',
    by: ({ failedId }) => [`DELETE FROM transactions ${transaction('task_refund', ofTask(failedId))}`],
  },
  {
    title: 'a refund of a completed task',
    named: 'a failed task has one refund equal to its cost, and no other task has one',
    by: ({ completedId, failedId }) => [
      `UPDATE transactions SET task_id = '${completedId}' ${transaction('task_refund', ofTask(failedId))}`,
    ],
  },
  {
    title: 'a missing adjustment for money given back',
    named: 'what was given back of a task is one adjustment, and no other adjustment belongs to a task',
    by: ({ meteredId }) => [`DELETE FROM transactions ${transaction('adjustment', ofTask(meteredId))}`],
  },
  {
    title: 'a metered task that used more than it cost',
    named: 'a metered task that is completed costs the events that it used, at the prices that it was admitted with',
    by: ({ meteredId }) => [`UPDATE tasks SET usage = '{"page":5}' WHERE id = '${meteredId}'`],
  },
  {
    title: 'a token-priced task that cost less than its tokens',
    named: 'a token-priced task that is completed costs its tokens, rounded up, and at most its charge',
    by: ({ pricedId }) => [
      `UPDATE tasks SET usage = replace(usage, '0.003012345', '0.003112345') WHERE id = '${pricedId}'`,
    ],
  },
  {
    title: 'a charge whose task is missing',
    named: 'every charge and refund belongs to a task',
    by: ({ completedId }) => [`DELETE FROM tasks WHERE id = '${completedId}'`],
  },
  {
    title: 'a settled turn without its charge',
    named:
      'a settled chat turn has one charge equal to its cost, unless it failed for nothing, and no other turn has one',
    by: ({ settledId }) => [`DELETE FROM transactions WHERE turn_id = '${settledId}'`],
  },
  {
    title: 'an open turn with a charge',
    named:
      'a settled chat turn has one charge equal to its cost, unless it failed for nothing, and no other turn has one',
    by: ({ openId, settledId }) => [`UPDATE transactions SET turn_id = '${openId}' WHERE turn_id = '${settledId}'`],
  },
  {
    title: 'a charge with a different session than its turn',
    named: 'every chat charge belongs to a turn, and to its session',
    by: ({ settledId }) => [`UPDATE transactions SET session_id = 'ses_other' WHERE turn_id = '${settledId}'`],
  },
  {
    title: 'a turn above its cap',
    named: 'no chat turn holds or costs more than its cap',
    by: ({ openId }) => [`UPDATE turns SET max_cost = held - 1 WHERE id = '${openId}'`],
  },
  {
    title: 'a session that records less spending than its charges',
    named: 'what a session has spent is the sum of its charges',
    by: ({ sessionId }) => [`UPDATE sessions SET spent = spent - 1 WHERE id = '${sessionId}'`],
  },
  {
    title: 'a session above its cap',
    named: 'what a session has spent and its open turn holds is within its cap',
    by: ({ sessionId }) => [`UPDATE sessions SET max_cost = spent + 1 WHERE id = '${sessionId}'`],
  },
  {
    title: 'a hold without a matching open turn',
    named: 'what an account holds is what its open turns hold',
    by: ({ userId }) => [`UPDATE accounts SET held = held + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a debt without a matching refund or dispute',
    named: 'what is owed is what was taken back of top-ups and not paid',
    by: ({ userId }) => [`UPDATE accounts SET owed = owed + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a top-up refund that was not deducted from the balance',
    named: 'what is owed is what was taken back of top-ups and not paid',
    by: ({ topupId }) => [`UPDATE topups SET refunded = refunded + 1 WHERE id = '${topupId}'`],
  },
  {
    title: 'a debt despite an available balance',
    named: 'nobody owes who has something free',
    by: ({ topupId, userId }) => [
      `UPDATE topups SET refunded = refunded + 1 WHERE id = '${topupId}'`,
      `UPDATE accounts SET owed = 1 WHERE user_id = '${userId}'`,
    ],
  },
  {
    title: 'a paid top-up without its credit',
    named: 'a paid top-up has one credit equal to its amount, and no other top-up has one',
    by: ({ topupId }) => [`DELETE FROM transactions ${transaction('credit', `topup_id = '${topupId}'`)}`],
  },
  {
    title: 'a credit for an unpaid top-up',
    named: 'a paid top-up has one credit equal to its amount, and no other top-up has one',
    by: ({ topupId }) => [`UPDATE topups SET status = 'failed', paid_at = NULL WHERE id = '${topupId}'`],
  },
  {
    title: 'a top-up with refunds and disputes above its amount',
    named: 'refunds and disputes of a top-up together are at most its amount',
    by: ({ topupId }) => [`UPDATE topups SET disputed = amount + 1 WHERE id = '${topupId}'`],
  },
  {
    title: 'a credit whose top-up is missing',
    named: 'every transaction of a top-up belongs to one that is paid, and to its user',
    by: ({ topupId }) => [`DELETE FROM topups WHERE id = '${topupId}'`],
  },
  {
    title: 'a wrong total of tasks',
    named: "the total of a user's tasks by agent and status is counted right",
    by: ({ userId }) => [
      `UPDATE counters SET count = count + 1 WHERE user_id = '${userId}' AND kind = 'task' AND status = 'failed'`,
    ],
  },
  {
    title: 'a wrong total of transactions',
    named: "the total of a user's transactions by type is counted right",
    by: ({ userId }) => [
      `UPDATE counters SET count = count - 1 WHERE user_id = '${userId}' AND kind = 'transaction' AND part = 'credit'`,
    ],
  },
  {
    title: 'a charge in the account of another user',
    named: 'a task has one charge equal to its cost and what was given back of it',
    by: ({ completedId }) => [
      `UPDATE transactions SET user_id = 'user_other' ${transaction('task_charge', ofTask(completedId))}`,
    ],
  },
  {
    title: 'a task that belongs to another user',
    named: "the total of a user's tasks by agent and status is counted right",
    by: ({ completedId }) => [`UPDATE tasks SET user_id = 'user_other' WHERE id = '${completedId}'`],
  },
  {
    title: 'a turn that belongs to another user',
    named: 'what is charged in a spend window is the sum of what its tasks and turns cost',
    by: ({ settledId }) => [`UPDATE turns SET user_id = 'user_other' WHERE id = '${settledId}'`],
  },
  {
    title: 'a missing settled turn',
    named: 'every chat charge belongs to a turn, and to its session',
    by: ({ settledId }) => [`DELETE FROM turns WHERE id = '${settledId}'`],
  },
  {
    title: 'a missing open turn',
    named: 'what an account holds is what its open turns hold',
    by: ({ openId }) => [`DELETE FROM turns WHERE id = '${openId}'`],
  },
  {
    title: 'a turn with a wrong hold',
    named: 'what an account holds is what its open turns hold',
    by: ({ openId }) => [`UPDATE turns SET held = held - 1 WHERE id = '${openId}'`],
  },
  {
    title: 'a credit changed to an adjustment',
    named: "the total of a user's transactions by type is counted right",
    by: ({ userId }) => [
      `UPDATE transactions SET type = 'adjustment' ${transaction('credit', `user_id = '${userId}' AND topup_id IS NULL`)}`,
    ],
  },
  {
    title: 'a paid top-up with a wrong amount',
    named: 'a paid top-up has one credit equal to its amount, and no other top-up has one',
    by: ({ topupId }) => [`UPDATE topups SET amount = amount + 1 WHERE id = '${topupId}'`],
  },
  {
    title: 'a top-up that belongs to another user',
    named: 'every transaction of a top-up belongs to one that is paid, and to its user',
    by: ({ topupId }) => [`UPDATE topups SET user_id = 'user_other' WHERE id = '${topupId}'`],
  },
  {
    title: 'a charge with a wrong time',
    named: 'a charge has the time of its task or turn',
    by: ({ completedId }) => [
      `UPDATE transactions SET created_at = created_at - 86400000 ${transaction('task_charge', ofTask(completedId))}`,
    ],
  },
  {
    title: 'a user whose account is missing',
    named: 'every user has an account, and every account a user',
    by: ({ userId }) => [`DELETE FROM accounts WHERE user_id = '${userId}'`],
  },
  {
    title: 'an account whose user is missing',
    named: 'every user has an account, and every account a user',
    by: ({ userId }) => [`DELETE FROM users WHERE id = '${userId}'`],
  },
  {
    title: 'a receipt whose parts do not add up to its charge',
    named:
      'the exact cost of a chat with what was carried to it is charged, written off or carried on, in billionths of a USD',
    by: ({ settledId }) => [
      `UPDATE transactions SET breakdown = replace(breakdown, '"exactUsd":"0.', '"exactUsd":"1.')
        WHERE turn_id = '${settledId}'`,
    ],
  },
  {
    title: 'a receipt that starts with more than the previous one carried over',
    named: 'what is carried to a chat is what the chat before it left, in billionths of a USD',
    by: ({ settledId }) => [
      `UPDATE transactions SET breakdown = replace(breakdown, '"carriedBeforeUsd":"0.0000', '"carriedBeforeUsd":"0.0001')
        WHERE turn_id = '${settledId}'`,
    ],
  },
  {
    title: 'an account that carries more than its last chat carried over',
    named: 'an account carries what its last chat left, in billionths of a USD',
    by: ({ userId }) => [`UPDATE accounts SET carried = carried + 1 WHERE user_id = '${userId}'`],
  },
]
