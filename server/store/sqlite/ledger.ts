import type { Database, Statement } from 'better-sqlite3'
import { must } from '../../kernel/assert.ts'
import { newId } from '../../kernel/ids.ts'
import type { Units } from '../../kernel/money.ts'
import type { Posting } from '../commands/command.ts'
import { insertInto } from '../commands/statement.ts'
import { PostedCount, type Posted } from '../ledger/posted-totals.ts'
import type { Counters } from './counters.ts'

const columns =
  'id userId type amount balanceAfter taskId sessionId turnId topupId description breakdown idempotencyKey countedIn createdAt'

/**
 * The only class that changes balances. Each change is also recorded in `transactions` in the same database
 * transaction.
 */
export class Ledger {
  readonly posted = new PostedCount()
  readonly #hold: Statement
  readonly #owe: Statement
  readonly #move: Statement
  readonly #settle: Statement
  readonly #insert: Statement
  readonly #counters: Counters
  #ofCommand: Posted[] = []
  #ofBatch: Posted[] = []

  constructor(db: Database, counters: Counters) {
    this.#hold = db.prepare('UPDATE accounts SET held = held + :by WHERE user_id = :userId')
    this.#owe = db.prepare('UPDATE accounts SET owed = owed + :by WHERE user_id = :userId')
    this.#move = db
      .prepare('UPDATE accounts SET balance = balance + :amount WHERE user_id = :userId RETURNING balance')
      .pluck()
    this.#settle = db
      .prepare(
        `UPDATE accounts SET balance = balance + :amount, held = held - :held, carried = :carried
          WHERE user_id = :userId RETURNING balance`,
      )
      .pluck()
    this.#insert = db.prepare(insertInto('transactions', columns))
    this.#counters = counters
  }

  /** If the balance would fall below the amount on hold, a CHECK throws and the command is undone. */
  post({ breakdown, now, settles, ...posting }: Posting): { id: string; balance: Units } {
    const { amount, type, userId } = posting
    const moved = settles ? this.#settle.get({ userId, amount, ...settles }) : this.#move.get({ userId, amount })
    const balance = must(moved as Units | undefined, 'a transaction has an account')
    const id = newId('txn', now)
    this.#insert.run({
      taskId: null,
      sessionId: null,
      turnId: null,
      topupId: null,
      idempotencyKey: null,
      countedIn: null,
      ...posting,
      id,
      balanceAfter: balance,
      breakdown: breakdown === undefined ? null : JSON.stringify(breakdown),
      createdAt: now,
    })
    this.#counters.count({ userId, kind: 'transaction', part: type, status: '', by: 1 })
    this.#ofCommand.push({ type, amount })
    return { id, balance }
  }

  /** A CHECK throws if the hold would exceed the balance. */
  hold(userId: string, by: Units): void {
    this.#hold.run({ userId, by })
  }

  /** A CHECK throws if the debt would be negative. */
  owe(userId: string, by: Units): void {
    this.#owe.run({ userId, by })
  }

  keep(): void {
    this.#ofBatch.push(...this.#ofCommand)
    this.#ofCommand = []
  }

  drop(): void {
    this.#ofCommand = []
  }

  committed(): void {
    this.posted.add(this.#ofBatch)
    this.#ofBatch = []
  }

  clear(): void {
    this.#ofCommand = []
    this.#ofBatch = []
  }
}
