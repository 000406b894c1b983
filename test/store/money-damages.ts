import type { Damage } from './damage-holdings.ts'

const transaction = (type: string, of: string) => `WHERE type = '${type}' AND ${of}`
const ofTask = (id: string) => `task_id = '${id}'`

export const moneyDamages: Damage[] = [
  {
    title: 'a platform key credit without a matching transaction',
    named: 'the net credit from platform keys equals the sum of their transactions and is not negative',
    by: ({ userId }) => [`UPDATE accounts SET platform_credited = platform_credited + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a balance without matching transactions',
    named: 'the balance equals the sum of the transactions',
    by: ({ userId }) => [`UPDATE accounts SET balance = balance + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a duplicate credit',
    named: 'the balance equals the sum of the transactions',
    by: ({ userId }) => [
      `INSERT INTO transactions (id, user_id, type, amount, balance_after, description, created_at)
        SELECT id || '_again', user_id, type, amount, balance_after, description, created_at
        FROM transactions ${transaction('credit', `user_id = '${userId}' AND topup_id IS NULL`)}`,
    ],
  },
  {
    title: 'transactions of a missing account',
    named: 'each transaction has an account',
    by: ({ userId }) => [`DELETE FROM accounts WHERE user_id = '${userId}'`],
  },
  {
    title: 'a wrong balance after a transaction',
    named: 'balanceAfterUsd equals the running sum of the transactions',
    by: ({ completedId }) => [
      `UPDATE transactions SET balance_after = balance_after + 1 ${transaction('task_charge', ofTask(completedId))}`,
    ],
  },
  {
    title: 'a task without its charge',
    named: 'each task has one charge equal to its cost plus its returned part',
    by: ({ completedId }) => [`DELETE FROM transactions ${transaction('task_charge', ofTask(completedId))}`],
  },
  {
    title: 'a charge that differs from the cost of its task',
    named: 'each task has one charge equal to its cost plus its returned part',
    by: ({ completedId }) => [`UPDATE tasks SET cost = cost + 1 WHERE id = '${completedId}'`],
  },
  {
    title: 'a failed task without its refund',
    named: 'each failed task has one refund equal to its cost, and no other task has a refund',
    by: ({ failedId }) => [`DELETE FROM transactions ${transaction('task_refund', ofTask(failedId))}`],
  },
  {
    title: 'a refund of a completed task',
    named: 'each failed task has one refund equal to its cost, and no other task has a refund',
    by: ({ completedId, failedId }) => [
      `UPDATE transactions SET task_id = '${completedId}' ${transaction('task_refund', ofTask(failedId))}`,
    ],
  },
  {
    title: 'a missing adjustment for money given back',
    named: 'the returned part of each task is one adjustment, and no other adjustment belongs to a task',
    by: ({ meteredId }) => [`DELETE FROM transactions ${transaction('adjustment', ofTask(meteredId))}`],
  },
  {
    title: 'a metered task that used more than it cost',
    named: 'the cost of each completed metered task equals its events at the prices of its admission',
    by: ({ meteredId }) => [`UPDATE tasks SET usage = '{"page":5}' WHERE id = '${meteredId}'`],
  },
  {
    title: 'a token-priced task that cost less than its tokens',
    named: 'the cost of each completed token-priced task equals its tokens, rounded up, and is at most its charge',
    by: ({ pricedId }) => [
      `UPDATE tasks SET usage = replace(usage, '0.003012345', '0.003112345') WHERE id = '${pricedId}'`,
    ],
  },
  {
    title: 'a charge whose task is missing',
    named: 'each task charge and refund belongs to a task',
    by: ({ completedId }) => [`DELETE FROM tasks WHERE id = '${completedId}'`],
  },
  {
    title: 'a settled turn without its charge',
    named:
      'each settled turn has one charge equal to its cost, unless it failed at no cost, and no other turn has a charge',
    by: ({ settledId }) => [`DELETE FROM transactions WHERE turn_id = '${settledId}'`],
  },
  {
    title: 'an open turn with a charge',
    named:
      'each settled turn has one charge equal to its cost, unless it failed at no cost, and no other turn has a charge',
    by: ({ openId, settledId }) => [`UPDATE transactions SET turn_id = '${openId}' WHERE turn_id = '${settledId}'`],
  },
  {
    title: 'a charge with a different session than its turn',
    named: 'each turn charge belongs to a turn and to its session',
    by: ({ settledId }) => [`UPDATE transactions SET session_id = 'ses_other' WHERE turn_id = '${settledId}'`],
  },
  {
    title: 'a turn above its cap',
    named: 'no turn holds or costs more than its cap',
    by: ({ openId }) => [`UPDATE turns SET max_cost = held - 1 WHERE id = '${openId}'`],
  },
  {
    title: 'a session that records less spending than its charges',
    named: 'the amount that each session has spent equals the sum of its charges',
    by: ({ sessionId }) => [`UPDATE sessions SET spent = spent - 1 WHERE id = '${sessionId}'`],
  },
  {
    title: 'a session above its cap',
    named: 'the amount that each session has spent, plus the hold of its open turn, is within its cap',
    by: ({ sessionId }) => [`UPDATE sessions SET max_cost = spent + 1 WHERE id = '${sessionId}'`],
  },
  {
    title: 'a hold without a matching open turn',
    named: 'the amount that each account holds equals the holds of its open turns',
    by: ({ userId }) => [`UPDATE accounts SET held = held + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a debt without a matching refund or dispute',
    named: 'the owed amount equals the unpaid part of refunded and disputed top-ups',
    by: ({ userId }) => [`UPDATE accounts SET owed = owed + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a top-up refund that was not deducted from the balance',
    named: 'the owed amount equals the unpaid part of refunded and disputed top-ups',
    by: ({ topupId }) => [`UPDATE topups SET refunded = refunded + 1 WHERE id = '${topupId}'`],
  },
  {
    title: 'a debt despite an available balance',
    named: 'no account with an available balance owes money',
    by: ({ topupId, userId }) => [
      `UPDATE topups SET refunded = refunded + 1 WHERE id = '${topupId}'`,
      `UPDATE accounts SET owed = 1 WHERE user_id = '${userId}'`,
    ],
  },
  {
    title: 'a paid top-up without its credit',
    named: 'each paid top-up has one credit equal to its amount, and no other top-up has a credit',
    by: ({ topupId }) => [`DELETE FROM transactions ${transaction('credit', `topup_id = '${topupId}'`)}`],
  },
  {
    title: 'a credit for an unpaid top-up',
    named: 'each paid top-up has one credit equal to its amount, and no other top-up has a credit',
    by: ({ topupId }) => [`UPDATE topups SET status = 'failed', paid_at = NULL WHERE id = '${topupId}'`],
  },
  {
    title: 'a top-up with refunds and disputes above its amount',
    named: 'the refunds and disputes of each top-up are together at most its amount',
    by: ({ topupId }) => [`UPDATE topups SET disputed = amount + 1 WHERE id = '${topupId}'`],
  },
  {
    title: 'a credit whose top-up is missing',
    named: 'each top-up transaction belongs to a paid top-up of its user',
    by: ({ topupId }) => [`DELETE FROM topups WHERE id = '${topupId}'`],
  },
  {
    title: 'a wrong total of tasks',
    named: 'the counted tasks of each user by agent and status are correct',
    by: ({ userId }) => [
      `UPDATE counters SET count = count + 1 WHERE user_id = '${userId}' AND kind = 'task' AND status = 'failed'`,
    ],
  },
  {
    title: 'a wrong total of transactions',
    named: 'the counted transactions of each user by type are correct',
    by: ({ userId }) => [
      `UPDATE counters SET count = count - 1 WHERE user_id = '${userId}' AND kind = 'transaction' AND part = 'credit'`,
    ],
  },
  {
    title: 'a charge in the account of another user',
    named: 'each task has one charge equal to its cost plus its returned part',
    by: ({ completedId }) => [
      `UPDATE transactions SET user_id = 'user_other' ${transaction('task_charge', ofTask(completedId))}`,
    ],
  },
  {
    title: 'a task that belongs to another user',
    named: 'the counted tasks of each user by agent and status are correct',
    by: ({ completedId }) => [`UPDATE tasks SET user_id = 'user_other' WHERE id = '${completedId}'`],
  },
  {
    title: 'a turn that belongs to another user',
    named: 'the amount charged in each spend window equals the cost of its tasks and turns',
    by: ({ settledId }) => [`UPDATE turns SET user_id = 'user_other' WHERE id = '${settledId}'`],
  },
  {
    title: 'a missing settled turn',
    named: 'each turn charge belongs to a turn and to its session',
    by: ({ settledId }) => [`DELETE FROM turns WHERE id = '${settledId}'`],
  },
  {
    title: 'a missing open turn',
    named: 'the amount that each account holds equals the holds of its open turns',
    by: ({ openId }) => [`DELETE FROM turns WHERE id = '${openId}'`],
  },
  {
    title: 'a turn with a wrong hold',
    named: 'the amount that each account holds equals the holds of its open turns',
    by: ({ openId }) => [`UPDATE turns SET held = held - 1 WHERE id = '${openId}'`],
  },
  {
    title: 'a credit changed to an adjustment',
    named: 'the counted transactions of each user by type are correct',
    by: ({ userId }) => [
      `UPDATE transactions SET type = 'adjustment' ${transaction('credit', `user_id = '${userId}' AND topup_id IS NULL`)}`,
    ],
  },
  {
    title: 'a paid top-up with a wrong amount',
    named: 'each paid top-up has one credit equal to its amount, and no other top-up has a credit',
    by: ({ topupId }) => [`UPDATE topups SET amount = amount + 1 WHERE id = '${topupId}'`],
  },
  {
    title: 'a top-up that belongs to another user',
    named: 'each top-up transaction belongs to a paid top-up of its user',
    by: ({ topupId }) => [`UPDATE topups SET user_id = 'user_other' WHERE id = '${topupId}'`],
  },
  {
    title: 'a charge with a wrong time',
    named: 'each charge has the time of its task or turn',
    by: ({ completedId }) => [
      `UPDATE transactions SET created_at = created_at - 86400000 ${transaction('task_charge', ofTask(completedId))}`,
    ],
  },
  {
    title: 'a user whose account is missing',
    named: 'each user has an account, and each account has a user',
    by: ({ userId }) => [`DELETE FROM accounts WHERE user_id = '${userId}'`],
  },
  {
    title: 'an account whose user is missing',
    named: 'each user has an account, and each account has a user',
    by: ({ userId }) => [`DELETE FROM users WHERE id = '${userId}'`],
  },
  {
    title: 'a receipt whose parts do not add up to its charge',
    named:
      'the exact cost of each turn plus the amount carried to it is charged, written off or carried on, in billionths of a USD',
    by: ({ settledId }) => [
      `UPDATE transactions SET breakdown = replace(breakdown, '"exactUsd":"0.', '"exactUsd":"1.')
        WHERE turn_id = '${settledId}'`,
    ],
  },
  {
    title: 'a receipt that starts with more than the previous one carried over',
    named: 'the amount carried to each turn equals the amount that the previous turn left, in billionths of a USD',
    by: ({ settledId }) => [
      `UPDATE transactions SET breakdown = replace(breakdown, '"carriedBeforeUsd":"0.0000', '"carriedBeforeUsd":"0.0001')
        WHERE turn_id = '${settledId}'`,
    ],
  },
  {
    title: 'an account that carries more than its last chat carried over',
    named: 'the amount that each account carries equals the amount that its last turn left, in billionths of a USD',
    by: ({ userId }) => [`UPDATE accounts SET carried = carried + 1 WHERE user_id = '${userId}'`],
  },
]
