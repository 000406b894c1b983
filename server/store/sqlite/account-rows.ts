import type { Clock } from '../../kernel/clock.ts'
import type { AccountRecord, ChatBreakdown, TransactionRecord } from '../records.ts'
import { balanceMax, type Credit, type CreditResult, type ListTransactions } from '../store.ts'
import { and, desc, eq, lt, sql, type SQL } from './drizzle.ts'
import type { Connection } from './database.ts'
import { readDeepPage } from './deep-page.ts'
import type { Ledger } from './ledger.ts'
import { accounts, counters, transactions, users } from './schema.ts'

/** Accounts and their transactions. */
export class AccountRows {
  readonly #statements
  readonly #clock: Clock
  readonly #ledger: Ledger

  constructor(connection: Connection, parts: { clock: Clock; ledger: Ledger }) {
    this.#statements = prepare(connection)
    this.#clock = parts.clock
    this.#ledger = parts.ledger
  }

  getAccount(userId: string): AccountRecord | undefined {
    return this.#statements.account.get({ userId })
  }

  credit({ userId, amount, description, idempotencyKey }: Credit): CreditResult {
    const account = this.#ledger.account(userId)
    if (!account) return { outcome: 'refused', reason: 'unknown-user' }
    if (idempotencyKey !== null) {
      const earlier = this.#statements.byIdempotencyKey.get({ userId, idempotencyKey })
      if (earlier && earlier.amount !== amount) return { outcome: 'refused', reason: 'idempotency-conflict' }
      if (earlier) return { outcome: 'replayed', transactionId: earlier.id, balance: earlier.balanceAfter }
    }
    const after = account.balance + amount
    if (after < account.held || (amount > 0 && after > balanceMax)) return { outcome: 'refused', reason: 'balance' }
    const type = amount < 0 ? 'adjustment' : 'credit'
    const now = this.#clock.now()
    const { id, balance } = this.#ledger.post({ userId, type, amount, description, idempotencyKey, now })
    return { outcome: 'credited', transactionId: id, balance }
  }

  async listTransactions(of: ListTransactions): Promise<{ transactions: TransactionRecord[]; total: number }> {
    const { userId, type, taskId, sessionId, turnId, limit, offset } = of
    if (taskId !== undefined || turnId !== undefined) {
      // A task has at most a charge and a refund, a turn at most a charge, so these are read whole.
      const found =
        taskId === undefined
          ? this.#statements.ofTurn.all({ userId, turnId })
          : this.#statements.ofTask.all({ userId, taskId })
      const all = found.filter(
        (row) =>
          (type === undefined || row.type === type) &&
          (sessionId === undefined || row.sessionId === sessionId) &&
          (turnId === undefined || row.turnId === turnId),
      )
      return { transactions: all.slice(offset, offset + limit).map(transactionRecord), total: all.length }
    }
    if (sessionId !== undefined) {
      if (type !== undefined && type !== 'chat_charge') return { transactions: [], total: 0 }
      const rows = await readDeepPage<TransactionRow>(of, ({ after, ...piece }) =>
        this.#statements.ofSession.all({
          userId,
          sessionId,
          beforeSeq: after?.seq ?? Number.MAX_SAFE_INTEGER,
          ...piece,
        }),
      )
      return {
        transactions: rows.map(transactionRecord),
        total: this.#statements.countOfSession.get({ userId, sessionId })!.total,
      }
    }
    const query = type === undefined ? this.#statements.transactions : this.#statements.transactionsOfType
    const rows = await readDeepPage<TransactionRow>(of, ({ after, ...piece }) =>
      query.all({ userId, type, beforeSeq: after?.seq ?? Number.MAX_SAFE_INTEGER, ...piece }),
    )
    let total = 0
    for (const counter of this.#statements.counters.all({ userId })) {
      if (type === undefined || counter.part === type) total += counter.count
    }
    return { transactions: rows.map(transactionRecord), total }
  }
}

type TransactionRow = Omit<TransactionRecord, 'breakdown'> & { seq: number; breakdown: string | null }

function transactionRecord({ seq: _, ...row }: TransactionRow): TransactionRecord {
  return { ...row, breakdown: row.breakdown === null ? null : (JSON.parse(row.breakdown) as ChatBreakdown) }
}

function prepare({ orm }: Connection) {
  const userId = sql.placeholder('userId')
  const columns = {
    seq: transactions.seq,
    id: transactions.id,
    userId: transactions.userId,
    type: transactions.type,
    amount: transactions.amount,
    balanceAfter: transactions.balanceAfter,
    taskId: transactions.taskId,
    sessionId: transactions.sessionId,
    turnId: transactions.turnId,
    description: transactions.description,
    breakdown: transactions.breakdown,
    createdAt: transactions.createdAt,
  }
  const ofUser = eq(transactions.userId, userId)
  // The plus keeps the planner on the index of the session.
  const ofSession = and(
    sql`+${transactions.userId} = ${userId}`,
    eq(transactions.sessionId, sql.placeholder('sessionId')),
    sql`session_id IS NOT NULL`,
  )
  const newest = (where: SQL | undefined) =>
    orm
      .select(columns)
      .from(transactions)
      .where(and(where, lt(transactions.seq, sql.placeholder('beforeSeq'))))
      .orderBy(desc(transactions.seq))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .prepare()
  const account = {
    userId: accounts.userId,
    email: users.email,
    balance: accounts.balance,
    held: accounts.held,
    blockedUntil: accounts.blockedUntil,
  }
  return {
    account: orm
      .select(account)
      .from(accounts)
      .innerJoin(users, eq(users.id, accounts.userId))
      .where(eq(accounts.userId, userId))
      .prepare(),
    byIdempotencyKey: orm
      .select({ id: transactions.id, amount: transactions.amount, balanceAfter: transactions.balanceAfter })
      .from(transactions)
      .where(and(ofUser, eq(transactions.idempotencyKey, sql.placeholder('idempotencyKey'))))
      .prepare(),
    transactions: newest(ofUser),
    transactionsOfType: newest(and(ofUser, eq(transactions.type, sql.placeholder('type')))),
    ofTask: orm
      .select(columns)
      .from(transactions)
      .where(
        // The plus keeps the planner from walking all transactions of the user.
        and(
          sql`+${transactions.userId} = ${userId}`,
          eq(transactions.taskId, sql.placeholder('taskId')),
          sql`task_id IS NOT NULL`,
        ),
      )
      .orderBy(desc(transactions.seq))
      .prepare(),
    ofTurn: orm
      .select(columns)
      .from(transactions)
      .where(
        and(
          sql`+${transactions.userId} = ${userId}`,
          eq(transactions.turnId, sql.placeholder('turnId')),
          sql`turn_id IS NOT NULL`,
        ),
      )
      .prepare(),
    ofSession: newest(ofSession),
    countOfSession: orm
      .select({ total: sql<number>`count(*)` })
      .from(transactions)
      .where(ofSession)
      .prepare(),
    counters: orm
      .select({ part: counters.part, count: counters.count })
      .from(counters)
      .where(and(eq(counters.userId, userId), eq(counters.kind, 'transaction')))
      .prepare(),
  }
}
