import type { EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { Units } from '../../kernel/money.ts'
import type { AccountRow } from '../tables/account-tables.ts'
import { must } from '../../kernel/assert.ts'
import type { Op, Posting, Tx } from '../commands/command.ts'
import { recordEvent } from '../events/event-commands.ts'
import { statement } from '../commands/statement.ts'

// Debt is the part of a refunded or disputed top-up that the balance could not cover. Every credit and every released
// hold pays debt first, so an account never has both debt and available balance. The order of payments, refunds and
// charges therefore does not affect the result.

const low = statement('account_low', 'UPDATE accounts SET low_at = :lowAt WHERE user_id = :userId')

/** An amount to take from a locked account or to return to it. */
type Change = { userId: string; amount: Units; topupId?: string; description: string; now: EpochMs }

/** Takes an amount from the available balance. The part that the balance does not cover becomes debt. */
export function* takeBack(tx: Tx, { amount, userId, ...rest }: Change): Op<void> {
  if (amount <= 0) return
  tx.owe(userId, amount)
  yield* pay(tx, { userId, ...rest })
}

/** Gives back an amount that was taken earlier. Pays debt first. */
export function* returnAmount(tx: Tx, { amount, userId, ...rest }: Change): Op<void> {
  if (amount <= 0) return
  const { owed } = must(yield* tx.account(userId), 'a top-up has an account')
  const forgiven = Math.min(owed, amount)
  if (forgiven > 0) tx.owe(userId, -forgiven)
  if (amount > forgiven) {
    yield* tx.post({ ...rest, userId, type: 'topup_reversal', amount: amount - forgiven })
    yield* rearm(tx, userId)
  }
}

/** Pays debt after a credit or a released hold. Returns the new balance. */
export function* payDebt(tx: Tx, { now, userId }: { userId: string; now: EpochMs }): Op<Units> {
  return yield* pay(tx, { userId, description: 'Debt payment', now })
}

function* pay(tx: Tx, change: Omit<Change, 'amount'>): Op<Units> {
  const { userId } = change
  const account = must(yield* tx.account(userId), 'a debt has an account')
  const { balance, held, owed } = account
  const paid = Math.min(owed, balance - held)
  if (paid <= 0) return balance
  tx.owe(userId, -paid)
  return (yield* spend(tx, account, { ...change, type: 'topup_reversal', amount: -paid })).balance
}

/**
 * Posts a debit. Records an event if the balance falls below the user's notification threshold. Records no further
 * event until a credit has raised the balance to the threshold again.
 */
export function* spend(tx: Tx, account: AccountRow, posting: Posting): Op<{ id: string; balance: Units }> {
  // Read these fields first, because the posting may change this object.
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

/** Re-enables the low-balance event if a credit has raised the balance to the threshold. */
export function* rearm(tx: Tx, userId: string): Op<void> {
  const account = must(yield* tx.account(userId), 'a credit has an account')
  const { balance, lowAt, notifyBelow } = account
  if (lowAt !== null && balance >= (notifyBelow ?? 0)) markLow(tx, account, null)
}

function markLow(tx: Tx, account: AccountRow, lowAt: EpochMs | null): void {
  tx.send(low, { userId: account.userId, lowAt })
  // The command may read this object again and must see its own change.
  account.lowAt = lowAt
}
