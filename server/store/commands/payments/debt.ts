import type { EpochMs } from '../../../kernel/clock.ts'
import { newId } from '../../../kernel/ids.ts'
import type { Units } from '../../../kernel/money.ts'
import type { AccountRow } from '../../tables/account-tables.ts'
import { must } from '../../../kernel/assert.ts'
import type { Op, Posting, Tx } from '../command.ts'
import { recordEvent } from '../events/event-rows.ts'
import { statement } from '../statement.ts'

// What was taken back of a top-up and the balance did not have is owed. Nobody owes and has something free at the same time:
// whatever comes into a balance, or is no longer held of it, pays what is owed before the command ends. So balance and debt
// do not depend on the order in which payments, refunds and charges came.

const low = statement('account_low', 'UPDATE accounts SET low_at = :lowAt WHERE user_id = :userId')

/** Of an account that is locked, in a command that has something to take or to give. */
type Change = { userId: string; amount: Units; topupId?: string; description: string; now: EpochMs }

/** Takes what is free; the rest is owed. */
export function* takeBack(tx: Tx, { amount, userId, ...rest }: Change): Op<void> {
  if (amount <= 0) return
  tx.owe(userId, amount)
  yield* pay(tx, { userId, ...rest })
}

/** Gives again what was taken: of what is owed first. */
export function* giveAgain(tx: Tx, { amount, userId, ...rest }: Change): Op<void> {
  if (amount <= 0) return
  const { owed } = must(yield* tx.account(userId), 'a top-up has an account')
  const forgiven = Math.min(owed, amount)
  if (forgiven > 0) tx.owe(userId, -forgiven)
  if (amount > forgiven) {
    yield* tx.post({ ...rest, userId, type: 'topup_reversal', amount: amount - forgiven })
    yield* rearm(tx, userId)
  }
}

/** After something came into the balance, or was released: the balance then. */
export function* payDebt(tx: Tx, { now, userId }: { userId: string; now: EpochMs }): Op<Units> {
  return yield* pay(tx, { userId, description: 'Paid of what is owed', now })
}

function* pay(tx: Tx, change: Omit<Change, 'amount'>): Op<Units> {
  const { userId } = change
  const account = must(yield* tx.account(userId), 'what is owed is owed by an account')
  const { balance, held, owed } = account
  const paid = Math.min(owed, balance - held)
  if (paid <= 0) return balance
  tx.owe(userId, -paid)
  return (yield* spend(tx, account, { ...change, type: 'topup_reversal', amount: -paid })).balance
}

/**
 * Posts what lessens a balance. The first that takes it below what its owner wants to be told of is an event; the next is
 * only after a credit has lifted it. Of an account without a threshold this is the posting and nothing else.
 */
export function* spend(tx: Tx, account: AccountRow, posting: Posting): Op<{ id: string; balance: Units }> {
  // The account as it was read may be the one that the posting changes.
  const { lowAt, notifyBelow, userId } = account
  const posted = yield* tx.post(posting)
  if (notifyBelow !== null && lowAt === null && posted.balance < notifyBelow) {
    const { now } = posting
    markLow(tx, account, now)
    const facts = { type: 'balance.low', balance: posted.balance, threshold: notifyBelow } as const
    recordEvent(tx, { id: newId('evt', now), userId, at: now, facts })
  }
  return posted
}

/** After a credit: the next time that the balance falls is told again. */
export function* rearm(tx: Tx, userId: string): Op<void> {
  const account = must(yield* tx.account(userId), 'a credit has an account')
  const { balance, lowAt, notifyBelow } = account
  if (lowAt !== null && balance >= (notifyBelow ?? 0)) markLow(tx, account, null)
}

function markLow(tx: Tx, account: AccountRow, lowAt: EpochMs | null): void {
  tx.send(low, { userId: account.userId, lowAt })
  // Where the command reads the account again from memory, as it has left it.
  account.lowAt = lowAt
}
