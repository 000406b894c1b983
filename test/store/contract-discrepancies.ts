import { expect } from 'vitest'
import { sqlite } from '../../server/store/commands/statement.ts'
import { ledgerChecks } from '../../server/store/ledger-checks.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'
import { openTopup, paid, tell } from './payment-drafts.ts'
import { draftSession } from './session-contract.ts'
import { begun, settle, spending } from './window-calls.ts'

// Everything that can be wrong with what is kept of a user's money, each injected into the account of a user who has some of
// everything, behind the store's back. The check that proves the opposite has to name that user, by its own words: so the
// test fails where a check is taken out, and where there is one that nothing is injected for.

/** What a user has: ids of it. */
type Holdings = {
  userId: string
  completedId: string
  failedId: string
  meteredId: string
  sessionId: string
  settledId: string
  openId: string
  keyId: string
  topupId: string
}
/** `by` are statements of which each has to change something. */
type Discrepancy = { title: string; named: string; by: (of: Holdings) => string[] }

const transaction = (type: string, of: string) => `WHERE type = '${type}' AND ${of}`
const ofTask = (id: string) => `task_id = '${id}'`
const eventOf = (id: string) => `WHERE id = 'evt' || substr('${id}', ${id.indexOf('_') + 1})`

const discrepancies: Discrepancy[] = [
  {
    title: 'a balance that no transaction explains',
    named: 'the balance is the sum of the transactions',
    by: ({ userId }) => [`UPDATE accounts SET balance = balance + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a credit that is in the ledger twice',
    named: 'the balance is the sum of the transactions',
    by: ({ userId }) => [
      `INSERT INTO transactions (id, user_id, type, amount, balance_after, description, created_at)
        SELECT id || '_again', user_id, type, amount, balance_after, description, created_at
        FROM transactions ${transaction('credit', `user_id = '${userId}' AND topup_id IS NULL`)}`,
    ],
  },
  {
    title: 'transactions of an account that is gone',
    named: 'every transaction has an account',
    by: ({ userId }) => [`DELETE FROM accounts WHERE user_id = '${userId}'`],
  },
  {
    title: 'a balance after a transaction that was another one',
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
    title: 'a charge of another amount than the cost of its task',
    named: 'a task has one charge equal to its cost and what was given back of it',
    by: ({ completedId }) => [`UPDATE tasks SET cost = cost + 1 WHERE id = '${completedId}'`],
  },
  {
    title: 'a failed task without its refund',
    named: 'a failed task has one refund equal to its cost, and no other task has one',
    by: ({ failedId }) => [`DELETE FROM transactions ${transaction('task_refund', ofTask(failedId))}`],
  },
  {
    title: 'a refund of a task that has completed',
    named: 'a failed task has one refund equal to its cost, and no other task has one',
    by: ({ completedId, failedId }) => [
      `UPDATE transactions SET task_id = '${completedId}' ${transaction('task_refund', ofTask(failedId))}`,
    ],
  },
  {
    title: 'a give-back that is missing in the ledger',
    named: 'what was given back of a task is one adjustment, and no other adjustment belongs to a task',
    by: ({ meteredId }) => [`DELETE FROM transactions ${transaction('adjustment', ofTask(meteredId))}`],
  },
  {
    title: 'a metered task that used more than it cost',
    named: 'a metered task that is completed costs the events that it used, at the prices that it was admitted with',
    by: ({ meteredId }) => [`UPDATE tasks SET usage = '{"page":5}' WHERE id = '${meteredId}'`],
  },
  {
    title: 'a charge whose task is gone',
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
    title: 'a turn that was charged while it is open',
    named:
      'a settled chat turn has one charge equal to its cost, unless it failed for nothing, and no other turn has one',
    by: ({ openId, settledId }) => [`UPDATE transactions SET turn_id = '${openId}' WHERE turn_id = '${settledId}'`],
  },
  {
    title: 'a charge of a turn in another session',
    named: 'every chat charge belongs to a turn, and to its session',
    by: ({ settledId }) => [`UPDATE transactions SET session_id = 'ses_other' WHERE turn_id = '${settledId}'`],
  },
  {
    title: 'a turn beyond its cap',
    named: 'no chat turn holds or costs more than its cap',
    by: ({ openId }) => [`UPDATE turns SET max_cost = held - 1 WHERE id = '${openId}'`],
  },
  {
    title: 'a session that says that it has spent less than it has',
    named: 'what a session has spent is the sum of its charges',
    by: ({ sessionId }) => [`UPDATE sessions SET spent = spent - 1 WHERE id = '${sessionId}'`],
  },
  {
    title: 'a session beyond its cap',
    named: 'what a session has spent and its open turn holds is within its cap',
    by: ({ sessionId }) => [`UPDATE sessions SET max_cost = spent + 1 WHERE id = '${sessionId}'`],
  },
  {
    title: 'a hold that no open turn explains',
    named: 'what an account holds is what its open turns hold',
    by: ({ userId }) => [`UPDATE accounts SET held = held + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a window in which less is charged than its tasks and turns cost',
    named: 'what is charged in a spend window is the sum of what its tasks and turns cost',
    by: ({ keyId }) => [`UPDATE spend_windows SET charged = charged - 1 WHERE owner_id = '${keyId}'`],
  },
  {
    title: 'a task that says that it counts in no window',
    named: 'what is charged in a spend window is the sum of what its tasks and turns cost',
    by: ({ completedId }) => [`UPDATE tasks SET counted_in = NULL WHERE id = '${completedId}'`],
  },
  {
    title: 'a window that holds what no open turn does',
    named: 'what is held in a spend window is what its open turns hold',
    by: ({ keyId }) => [`UPDATE spend_windows SET held = held + 1 WHERE owner_id = '${keyId}'`],
  },
  {
    title: 'a window beyond its limit',
    named: 'what is charged and held in a spend window is within its limit',
    by: ({ keyId }) => [`UPDATE spend_windows SET spend_limit = charged WHERE owner_id = '${keyId}'`],
  },
  {
    title: 'a client token beyond its cap',
    named: 'no client token has spent more than its cap',
    by: ({ keyId, userId }) => [
      `INSERT INTO client_tokens (id, user_id, token_hash, scopes, max_cost, is_once, created_by, created_at, expires_at)
        VALUES ('${keyId}', '${userId}', '${keyId}', 'execute', 1, 0, 'key_a', 1, 2)`,
    ],
  },
  {
    title: 'a debt that nothing taken back explains',
    named: 'what is owed is what was taken back of top-ups and not paid',
    by: ({ userId }) => [`UPDATE accounts SET owed = owed + 1 WHERE user_id = '${userId}'`],
  },
  {
    title: 'a refund of a top-up of which nothing was taken from the balance',
    named: 'what is owed is what was taken back of top-ups and not paid',
    by: ({ topupId }) => [`UPDATE topups SET refunded = refunded + 1 WHERE id = '${topupId}'`],
  },
  {
    title: 'a debt of somebody who could pay',
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
    title: 'a credit of a top-up that was not paid',
    named: 'a paid top-up has one credit equal to its amount, and no other top-up has one',
    by: ({ topupId }) => [`UPDATE topups SET status = 'failed', paid_at = NULL WHERE id = '${topupId}'`],
  },
  {
    title: 'a top-up of which more was given back than was paid',
    named: 'no more was given back or disputed of a top-up than its amount',
    by: ({ topupId }) => [`UPDATE topups SET disputed = amount + 1 WHERE id = '${topupId}'`],
  },
  {
    title: 'a credit whose top-up is gone',
    named: 'every transaction of a top-up belongs to one that is paid, and to its user',
    by: ({ topupId }) => [`DELETE FROM topups WHERE id = '${topupId}'`],
  },
  {
    title: 'a total of tasks that is counted wrong',
    named: "the total of a user's tasks by agent and status is counted right",
    by: ({ userId }) => [
      `UPDATE counters SET count = count + 1 WHERE user_id = '${userId}' AND kind = 'task' AND status = 'failed'`,
    ],
  },
  {
    title: 'a total of transactions that is counted wrong',
    named: "the total of a user's transactions by type is counted right",
    by: ({ userId }) => [
      `UPDATE counters SET count = count - 1 WHERE user_id = '${userId}' AND kind = 'transaction' AND part = 'credit'`,
    ],
  },
  {
    title: 'a task whose event is missing',
    named: 'a task that has ended has its event',
    by: ({ failedId }) => [`DELETE FROM events ${eventOf(failedId)}`],
  },
  {
    title: 'a task whose event tells of another end',
    named: 'a task that has ended has its event',
    by: ({ failedId }) => [`UPDATE events SET type = 'task.completed' ${eventOf(failedId)}`],
  },
  {
    title: 'a turn whose event is missing',
    named: 'a settled chat turn has its event',
    by: ({ settledId }) => [`DELETE FROM events ${eventOf(settledId)}`],
  },
  {
    title: 'a credit whose event is missing',
    named: 'a credit has its event',
    by: ({ userId }) => [`DELETE FROM events WHERE user_id = '${userId}' AND type = 'credit.added'`],
  },
  {
    title: 'a limit of a key that was reached without a word',
    named: 'a spend window of a key that refused something has its event',
    by: ({ userId }) => [`DELETE FROM events WHERE user_id = '${userId}' AND type = 'key.limit_reached'`],
  },
  {
    title: 'a balance that fell low without a word',
    named: 'a balance that fell below what its owner wants to be told of has its event',
    by: ({ userId }) => [`DELETE FROM events WHERE user_id = '${userId}' AND type = 'balance.low'`],
  },
  {
    title: 'a top-up whose event is missing',
    named: 'a paid top-up has its event',
    by: ({ topupId }) => [`DELETE FROM events ${eventOf(topupId)}`],
  },
  {
    title: 'an event of a task that there never was',
    named: 'every event of a task, a chat turn, a credit or a payment is of one that took place',
    by: ({ completedId, userId }) => [
      `INSERT INTO events (id, user_id, type, body, created_at) SELECT 'evt_never' || id, '${userId}', type, body, created_at
        FROM events ${eventOf(completedId)}`,
    ],
  },
]

/** A user who has some of everything that a ledger is checked for. */
async function holdingsOf(world: StoreWorld, name: string): Promise<Holdings> {
  const { store } = world
  const userId = await world.createUser()
  const key = { name, hint: 'a1b2', scopes: ['execute' as const], expiresAt: null, tokenHash: name, spendLimit: 1000 }
  const { id: keyId } = await store.createKey({ ...key, userId })
  const limits = spending(keyId, key.spendLimit)
  // More than it ever has.
  await store.payments.setNotifyBelow({ userId, notifyBelow: 1_000_000_000 })
  const { id: completedId } = await world.completed(userId, { limits })
  const { id: failedId } = await world.failed(userId, { limits })
  const { attempt, id: meteredId } = await world.processing(userId, { cost: 100, meters: { page: 20 } })
  const response = { text: '{}', payloadId: null }
  await store.completeTask({ taskId: meteredId, attempt, response, usage: { page: 3 } })
  const session = { ...draftSession(world, userId), maxCost: 500 }
  await store.createSession(session)
  const { sessionId } = session
  const settledId = await begun(world, userId, { limits, sessionId })
  await settle(world, settledId, 30)
  const openId = await begun(world, userId, { limits, sessionId, maxCost: 50 })
  expect(await world.admit(userId, { cost: 1000, limits })).toMatchObject({ outcome: 'refused', reason: 'limit' })
  const topup = await openTopup(world, userId)
  await tell(world, topup, paid(100_000))
  await tell(world, topup, paid(100_000, { refunded: 10_000 }))
  return { userId, completedId, failedId, meteredId, sessionId, settledId, openId, keyId, topupId: topup.id }
}

export function describeDiscrepancies(contractTest: ContractTest): void {
  contractTest(
    `the ledger's check names each of ${discrepancies.length} kinds of discrepancies, and whose account has it`,
    async (world) => {
      expect(new Set(discrepancies.map(({ named }) => named))).toEqual(
        new Set(ledgerChecks(sqlite).map(({ what }) => what)),
      )
      const untouched = await holdingsOf(world, 'untouched')
      const damaged = await Promise.all(
        discrepancies.map(async (one, index) => ({ ...one, holdings: await holdingsOf(world, String(index)) })),
      )
      expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
      await world.damage(damaged.flatMap(({ by, holdings }) => by(holdings)))
      const { differences } = await world.verify()
      const isNamed = ({ holdings, named }: (typeof damaged)[0]) =>
        differences.some(({ userId, what }) => userId === holdings.userId && what === named)
      expect(damaged.filter((one) => !isNamed(one)).map(({ title }) => title)).toEqual([])
      expect(differences.filter(({ userId }) => userId === untouched.userId)).toEqual([])
    },
    { tampers: true },
  )
}
