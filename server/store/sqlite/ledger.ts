import { must } from '../../kernel/assert.ts'
import { newId } from '../../kernel/ids.ts'
import type { Units } from '../../kernel/money.ts'
import type { Posting } from '../commands/command.ts'
import { transactionTypes, type TransactionType } from '../records.ts'
import type { PostedTotals } from '../store.ts'
import { eq, sql } from './drizzle.ts'
import type { Counters } from './counters.ts'
import type { Connection } from './database.ts'
import { accounts, transactions } from './schema.ts'

/** The only writer of balances: each change of one is a transaction row in the same database transaction. */
export class Ledger {
  readonly #statements
  readonly #counters: Counters
  #ofCommand: Posted[] = []
  #ofBatch: Posted[] = []
  readonly #posted: PostedTotals = Object.fromEntries(
    transactionTypes.map((type) => [type, { count: 0, units: 0 }]),
  ) as PostedTotals

  constructor(connection: Connection, counters: Counters) {
    this.#statements = prepare(connection)
    this.#counters = counters
  }

  /** The balance's CHECK throws, and so undoes the command, if the amount would take it below what is held. */
  post(posting: Posting): { id: string; balance: Units } {
    const { amount, breakdown, description, idempotencyKey, now, sessionId, taskId, turnId, type, userId } = posting
    const { balance } = must(this.#statements.move.get({ userId, amount }), 'a transaction has an account')
    const id = newId('txn', now)
    this.#statements.insert.run({
      id,
      userId,
      type,
      amount,
      balanceAfter: balance,
      taskId: taskId ?? null,
      sessionId: sessionId ?? null,
      turnId: turnId ?? null,
      description,
      breakdown: breakdown === undefined ? null : JSON.stringify(breakdown),
      idempotencyKey: idempotencyKey ?? null,
      now,
    })
    this.#counters.count({ userId, kind: 'transaction', part: type, status: '', by: 1 })
    this.#ofCommand.push({ type, amount })
    return { id, balance }
  }

  /** Holds more of a balance, or less. The account's CHECK throws if more would be held than there is. */
  hold(userId: string, by: Units): void {
    this.#statements.hold.run({ userId, by })
  }

  /** What this process has committed, for those who watch it. */
  get posted(): PostedTotals {
    return this.#posted
  }

  keep(): void {
    this.#ofBatch.push(...this.#ofCommand)
    this.#ofCommand = []
  }

  drop(): void {
    this.#ofCommand = []
  }

  committed(): void {
    for (const { amount, type } of this.#ofBatch) {
      this.#posted[type].count++
      this.#posted[type].units += Math.abs(amount)
    }
    this.#ofBatch = []
  }

  clear(): void {
    this.#ofCommand = []
    this.#ofBatch = []
  }
}

type Posted = { type: TransactionType; amount: Units }

function prepare({ orm }: Connection) {
  const byUser = eq(accounts.userId, sql.placeholder('userId'))
  return {
    hold: orm
      .update(accounts)
      .set({ held: sql`${accounts.held} + ${sql.placeholder('by')}` })
      .where(byUser)
      .prepare(),
    move: orm
      .update(accounts)
      .set({ balance: sql`${accounts.balance} + ${sql.placeholder('amount')}` })
      .where(byUser)
      .returning({ balance: accounts.balance })
      .prepare(),
    insert: orm
      .insert(transactions)
      .values({
        id: sql.placeholder('id'),
        userId: sql.placeholder('userId'),
        type: sql.placeholder('type'),
        amount: sql.placeholder('amount'),
        balanceAfter: sql.placeholder('balanceAfter'),
        taskId: sql.placeholder('taskId'),
        sessionId: sql.placeholder('sessionId'),
        turnId: sql.placeholder('turnId'),
        breakdown: sql.placeholder('breakdown'),
        description: sql.placeholder('description'),
        idempotencyKey: sql.placeholder('idempotencyKey'),
        createdAt: sql.placeholder('now'),
      })
      .prepare(),
  }
}
