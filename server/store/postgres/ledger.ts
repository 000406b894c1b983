import { newId } from '../../kernel/ids.ts'
import type { Units } from '../../kernel/money.ts'
import type { Posting } from '../commands/command.ts'
import { PostedCount } from '../ledger/posted-totals.ts'
import type { Transaction } from './connection/transaction.ts'

// A single statement writes the balance and `balance_after`, so they cannot differ.
const postText = (andSet = '') => `
    WITH moved AS (UPDATE accounts SET balance = balance + $4${andSet} WHERE user_id = $2 RETURNING balance)
    INSERT INTO transactions (id, user_id, type, amount, balance_after, task_id, session_id, turn_id, topup_id,
      description, breakdown, idempotency_key, counted_in, created_at)
    SELECT $1, $2, $3, $4, moved.balance, $5, $6, $7, $8, $9, $10, $11, $12, $13 FROM moved`
const post = { name: 'ledger_post', text: postText() }
const settle = { name: 'ledger_settle', text: postText(', held = held - $14, carried = $15') }

/**
 * The only class that changes balances. Each change is also recorded in `transactions` in the same database
 * transaction.
 */
export class Ledger {
  readonly posted = new PostedCount()

  /**
   * Posts to the locked account without waiting for the answer. If the balance would fall below the amount on hold, a
   * CHECK rolls the command back.
   */
  post(tx: Transaction, posting: Omit<Posting, 'userId'>): { id: string; balance: Units } {
    const { amount, breakdown, countedIn, description, idempotencyKey, now } = posting
    const { sessionId, settles, taskId, topupId, turnId, type } = posting
    const { account } = tx
    const id = newId('txn', now)
    const about = [taskId ?? null, sessionId ?? null, turnId ?? null, topupId ?? null, description]
    const written = breakdown === undefined ? null : JSON.stringify(breakdown)
    const rest = [written, idempotencyKey ?? null, countedIn ?? null, now]
    const values = [id, account.userId, type, amount, ...about, ...rest]
    void tx.write(settles ? { ...settle, values: [...values, settles.held, settles.carried] } : { ...post, values })
    account.balance += amount
    if (settles) {
      account.held -= settles.held
      account.carried = settles.carried
    }
    tx.changes.push({ userId: account.userId, kind: 'transaction', part: type, status: '', by: 1 })
    tx.posted.push({ type, amount })
    tx.made({ table: 'transactions', id })
    return { id, balance: account.balance }
  }

  /** A CHECK rejects a hold that exceeds the balance. */
  hold(tx: Transaction, by: Units): void {
    const { account } = tx
    void tx.write({ ...holdMore, values: [account.userId, by] })
    account.held += by
  }

  /** A CHECK rejects a negative debt. */
  owe(tx: Transaction, by: Units): void {
    const { account } = tx
    void tx.write({ ...oweMore, values: [account.userId, by] })
    account.owed += by
  }
}

const oweMore = {
  name: 'ledger_owe',
  text: 'UPDATE accounts SET owed = owed + $2 WHERE user_id = $1',
}
const holdMore = {
  name: 'ledger_hold',
  text: 'UPDATE accounts SET held = held + $2 WHERE user_id = $1',
}
