import type { AccountRecord, ChatBreakdown, TransactionRecord } from '../records.ts'
import { balanceMax, type Credit, type CreditResult, type ListTransactions } from '../store.ts'
import type { Connection } from './pooled-connection.ts'
import { and, desc, eq, sql, type SQL } from './drizzle.ts'
import type { Ledger } from './ledger.ts'
import { accounts, counters, transactions, users } from './schema.ts'
import { statementsOf } from './statements.ts'
import type { Transaction } from './transaction.ts'

/** Accounts and their transactions. */
export class AccountRows {
  readonly #ledger: Ledger

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  getAccount(connection: Connection, userId: string): Promise<AccountRecord | undefined> {
    return statements(connection).account.get({ userId })
  }

  async credit(tx: Transaction, input: Credit): Promise<CreditResult> {
    const { amount, description, idempotencyKey, userId } = input
    const account = await tx.lockAccount({ userId })
    if (!account) return { outcome: 'refused', reason: 'unknown-user' }
    if (idempotencyKey !== null) {
      const earlier = await statements(tx).byIdempotencyKey.get({ userId, idempotencyKey })
      if (earlier && earlier.amount !== amount) return { outcome: 'refused', reason: 'idempotency-conflict' }
      if (earlier) return { outcome: 'replayed', transactionId: earlier.id, balance: earlier.balanceAfter }
    }
    const after = account.balance + amount
    if (after < account.held || (amount > 0 && after > balanceMax)) return { outcome: 'refused', reason: 'balance' }
    const type = amount < 0 ? 'adjustment' : 'credit'
    const now = await tx.now()
    const { id, balance } = this.#ledger.post(tx, { type, amount, description, idempotencyKey, now })
    return { outcome: 'credited', transactionId: id, balance }
  }

  async listTransactions(
    connection: Connection,
    of: ListTransactions,
  ): Promise<{ transactions: TransactionRecord[]; total: number }> {
    const { userId, type, taskId, sessionId, turnId, limit, offset } = of
    const s = statements(connection)
    if (taskId !== undefined || turnId !== undefined) {
      // A task has at most a charge and a refund, a turn at most a charge, so these are read whole.
      const found = await (taskId === undefined ? s.ofTurn.all({ userId, turnId }) : s.ofTask.all({ userId, taskId }))
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
      const [rows, counted] = await Promise.all([
        s.ofSession.all({ userId, sessionId, limit, offset }),
        s.countOfSession.get({ userId, sessionId }),
      ])
      return { transactions: rows.map(transactionRecord), total: counted!.total }
    }
    const query = type === undefined ? s.newest : s.newestOfType
    const [rows, counts] = await Promise.all([query.all({ userId, type, limit, offset }), s.counters.all({ userId })])
    let total = 0
    for (const counter of counts) {
      if (type === undefined || counter.part === type) total += counter.count
    }
    return { transactions: rows.map(transactionRecord), total }
  }
}

function transactionRecord<Row extends { breakdown: string | null }>(row: Row) {
  return { ...row, breakdown: row.breakdown === null ? null : (JSON.parse(row.breakdown) as ChatBreakdown) }
}

const statements = statementsOf('account', (orm) => {
  const userId = sql.placeholder('userId')
  const columns = {
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
  const ofSession = and(ofUser, eq(transactions.sessionId, sql.placeholder('sessionId')))
  const newest = (where: SQL | undefined) =>
    orm
      .select(columns)
      .from(transactions)
      .where(where)
      .orderBy(desc(transactions.seq))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
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
      .where(eq(accounts.userId, userId)),
    byIdempotencyKey: orm
      .select({ id: transactions.id, amount: transactions.amount, balanceAfter: transactions.balanceAfter })
      .from(transactions)
      .where(and(ofUser, eq(transactions.idempotencyKey, sql.placeholder('idempotencyKey')))),
    newest: newest(ofUser),
    newestOfType: newest(and(ofUser, eq(transactions.type, sql.placeholder('type')))),
    ofTask: orm
      .select(columns)
      .from(transactions)
      .where(and(ofUser, eq(transactions.taskId, sql.placeholder('taskId'))))
      .orderBy(desc(transactions.seq)),
    ofTurn: orm
      .select(columns)
      .from(transactions)
      .where(and(ofUser, eq(transactions.turnId, sql.placeholder('turnId')))),
    ofSession: newest(ofSession),
    countOfSession: orm
      .select({ total: sql<number>`count(*)`.mapWith(Number) })
      .from(transactions)
      .where(ofSession),
    counters: orm
      .select({ part: counters.part, count: counters.count })
      .from(counters)
      .where(and(eq(counters.userId, userId), eq(counters.kind, 'transaction'))),
  }
})
