import type { Units } from '../../kernel/money.ts'
import { balanceMax, type Credit, type CreditResult, type ListTransactions } from '../store.ts'
import type { AccountRecord, ChatBreakdown, TransactionRecord } from '../records.ts'
import type { Op, Posting, Reads, Tx } from './command.ts'
import { readDeepPage } from './deep-page.ts'
import { eventIdOf, recordEvent } from './events/event-rows.ts'
import { columns, statement, type Dialect } from './statement.ts'

// Accounts and their transactions.

type Row = Omit<TransactionRecord, 'breakdown'> & { seq: number; breakdown: string | null }

const row = columns('seq id userId type amount balanceAfter taskId sessionId turnId description breakdown createdAt')
const newest = (name: string, where: (dialect: Dialect) => string) =>
  statement<Row>(
    name,
    (dialect) => `SELECT ${row} FROM transactions WHERE ${where(dialect)} AND seq < :beforeSeq
      ORDER BY seq DESC LIMIT :limit OFFSET :offset`,
  )
// A partial index is used only where its condition stands in the query, and the user's must not take its place.
const ofPart =
  (column: string, name: string) =>
  ({ noIndex }: Dialect) =>
    `${noIndex}user_id = :userId AND ${column} = :${name} AND ${column} IS NOT NULL`

const getOne = statement<AccountRecord>(
  'account_get',
  `SELECT ${columns('userId email balance held blockedUntil')}
    FROM accounts JOIN users ON users.id = accounts.user_id WHERE user_id = :userId`,
)
const byIdempotencyKey = statement<Pick<TransactionRecord, 'id' | 'amount' | 'balanceAfter'>>(
  'account_by_idempotency_key',
  `SELECT id, amount, balance_after AS "balanceAfter" FROM transactions
    WHERE user_id = :userId AND idempotency_key = :idempotencyKey`,
)
const ofUser = newest('account_newest', () => 'user_id = :userId')
const ofType = newest('account_newest_of_type', () => 'user_id = :userId AND type = :type')
const ofSession = newest('account_of_session', ofPart('session_id', 'sessionId'))
const countOfSession = statement<{ total: number }>(
  'account_count_of_session',
  (dialect) => `SELECT count(*) AS total FROM transactions WHERE ${ofPart('session_id', 'sessionId')(dialect)}`,
)
const whole = (name: string, where: (dialect: Dialect) => string) =>
  statement<Row>(name, (dialect) => `SELECT ${row} FROM transactions WHERE ${where(dialect)} ORDER BY seq DESC`)
const ofTask = whole('account_of_task', ofPart('task_id', 'taskId'))
const ofTurn = whole('account_of_turn', ofPart('turn_id', 'turnId'))
const counters = statement<{ part: string; count: number }>(
  'account_counters',
  `SELECT part, count FROM counters WHERE user_id = :userId AND kind = 'transaction'`,
)

export function* getAccount(on: Reads, userId: string): Op<AccountRecord | undefined> {
  return yield* on.get(getOne, { userId })
}

export function* credit(tx: Tx, { amount, description, idempotencyKey, userId }: Credit): Op<CreditResult> {
  const account = yield* tx.lockAccount({ userId })
  if (!account) return { outcome: 'refused', reason: 'unknown-user' }
  if (idempotencyKey !== null) {
    const earlier = yield* tx.get(byIdempotencyKey, { userId, idempotencyKey })
    if (earlier && earlier.amount !== amount) return { outcome: 'refused', reason: 'idempotency-conflict' }
    if (earlier) return { outcome: 'replayed', transactionId: earlier.id, balance: earlier.balanceAfter }
  }
  const after = account.balance + amount
  if (after < account.held || (amount > 0 && after > balanceMax)) return { outcome: 'refused', reason: 'balance' }
  const posting = { userId, amount, description, idempotencyKey, now: yield* tx.now() }
  const { balance, id } =
    amount < 0 ? yield* tx.post({ ...posting, type: 'adjustment' }) : yield* postCredit(tx, posting)
  return { outcome: 'credited', transactionId: id, balance }
}

/** Adds to the balance of an account that is locked, which is an event. */
export function* postCredit(tx: Tx, posting: Omit<Posting, 'type'>): Op<{ id: string; balance: Units }> {
  const { amount, now: at, userId } = posting
  const { balance, id } = yield* tx.post({ ...posting, type: 'credit' })
  const facts = { type: 'credit.added', transactionId: id, amount, balance } as const
  recordEvent(tx, { id: eventIdOf(id), userId, at, facts })
  return { id, balance }
}

export function* listTransactions(
  on: Reads,
  of: ListTransactions,
): Op<{ transactions: TransactionRecord[]; total: number }> {
  const { limit, offset, sessionId, taskId, turnId, type, userId } = of
  if (taskId !== undefined || turnId !== undefined) {
    // A task has at most a charge and a refund, a turn at most a charge, so these are read whole.
    const found = yield* taskId === undefined
      ? on.all(ofTurn, { userId, turnId: turnId! })
      : on.all(ofTask, { userId, taskId })
    const all = found.filter(
      (one) =>
        (type === undefined || one.type === type) &&
        (sessionId === undefined || one.sessionId === sessionId) &&
        (turnId === undefined || one.turnId === turnId),
    )
    return { transactions: all.slice(offset, offset + limit).map(toRecord), total: all.length }
  }
  const beforeOf = (after: Row | undefined) => after?.seq ?? Number.MAX_SAFE_INTEGER
  if (sessionId !== undefined) {
    if (type !== undefined && type !== 'chat_charge') return { transactions: [], total: 0 }
    const counted = on.get(countOfSession, { userId, sessionId })
    const rows = yield* readDeepPage<Row>(on, of, ({ after, ...piece }) =>
      on.all(ofSession, { userId, sessionId, beforeSeq: beforeOf(after), ...piece }),
    )
    return { transactions: rows.map(toRecord), total: (yield* counted)!.total }
  }
  const counts = on.all(counters, { userId })
  const rows = yield* readDeepPage<Row>(on, of, ({ after, ...piece }) => {
    const values = { userId, beforeSeq: beforeOf(after), ...piece }
    return type === undefined ? on.all(ofUser, values) : on.all(ofType, { ...values, type })
  })
  let total = 0
  for (const { count, part } of yield* counts) if (type === undefined || part === type) total += count
  return { transactions: rows.map(toRecord), total }
}

function toRecord({ breakdown, seq: _, ...transaction }: Row): TransactionRecord {
  return { ...transaction, breakdown: breakdown === null ? null : (JSON.parse(breakdown) as ChatBreakdown) }
}
