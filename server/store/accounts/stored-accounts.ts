import type { ChatBreakdown } from '../sessions/session-types.ts'
import type {
  AccountRecord,
  ExportedTransactions,
  ExportTransactions,
  TransactionRecord,
  TransactionWork,
} from './account-types.ts'
import type { Units } from '../../kernel/money.ts'
import { balanceMax, type Credit, type CreditResult, type ListTransactions } from '../store.ts'
import { isTimed, type Listed, type ListRange, type Page } from '../list-place.ts'
import type { Op, Posting, Reads, Tx } from '../commands/command.ts'
import { compare, pieceOf, readDeepPage, readFilteredPage, toPage, type Piece } from '../commands/deep-page.ts'
import { eventIdOf, recordEvent } from '../events/event-commands.ts'
import { findActingUser } from '../platform/external-users.ts'
import { takeCredit } from '../platform/stored-platform-keys.ts'
import { payDebt, rearm, spend } from '../payments/debt.ts'
import { columns, statement, type Dialect } from '../commands/statement.ts'

export type TransactionRow = Omit<TransactionRecord, 'breakdown'> & { seq: number; breakdown: string | null }
type WorkRow = Omit<TransactionWork, 'tags'> & { tags: string | null }

export const transactionColumns = columns(
  'seq id userId type amount balanceAfter taskId sessionId turnId topupId description breakdown createdAt',
)
const newest = (name: string, where: (dialect: Dialect) => string) => {
  const page = (dialect: Dialect) =>
    `SELECT ${transactionColumns} FROM transactions WHERE ${where(dialect)} AND seq < :seq AND seq >= :untilSeq
      ORDER BY seq DESC LIMIT :limit OFFSET :offset`
  return {
    list: statement<TransactionRow>(`account_newest${name}`, page),
    withWork: statement<TransactionRow & WorkRow>(
      `account_with_work${name}`,
      (dialect) => `SELECT page.*, coalesce(tasks.agent_id, turns.agent_id) AS "agentId",
          tasks.endpoint_id AS "endpointId", coalesce(tasks.key_id, turns.key_id) AS "keyId",
          coalesce(tasks.tags, sessions.tags) AS tags
        FROM (${page(dialect)}) AS page
          LEFT JOIN tasks ON tasks.id = page."taskId"
          LEFT JOIN turns ON turns.id = page."turnId"
          LEFT JOIN sessions ON sessions.id = page."sessionId"
        ORDER BY page.seq DESC`,
    ),
    count: statement<{ count: number }>(
      `account_count${name}`,
      (dialect) => `SELECT count(*) AS count FROM transactions
        WHERE ${where(dialect)} AND seq < :seq AND seq >= :untilSeq`,
    ),
  }
}
// A user's transactions are ordered by both `seq` and time. A binary search therefore finds the first transaction at or
// after a given time in about thirty steps, without an index on times.
const middle = '(low + high) / 2'
const isEarlier = `coalesce((SELECT created_at < :time FROM transactions
    WHERE user_id = :userId AND seq <= ${middle} ORDER BY seq DESC LIMIT 1), true)`
const firstSince = statement<{ seq: number }>(
  'account_first_since',
  `WITH RECURSIVE cut (low, high) AS (
      SELECT CAST(0 AS bigint), coalesce((SELECT max(seq) FROM transactions WHERE user_id = :userId), 0) + 1
      UNION ALL
      SELECT CASE WHEN ${isEarlier} THEN ${middle} + 1 ELSE low END, CASE WHEN ${isEarlier} THEN high ELSE ${middle} END
        FROM cut WHERE low < high
    )
    SELECT max(low) AS seq FROM cut`,
)
// The planner uses the partial index only if the query repeats its condition. `noIndex` keeps the planner from choosing
// the index on the user instead.
const ofPart =
  (column: string, name: string) =>
  ({ noIndex }: Dialect) =>
    `${noIndex}user_id = :userId AND ${column} = :${name} AND ${column} IS NOT NULL`

const getOne = statement<AccountRecord>(
  'account_get',
  `SELECT ${columns('userId email balance held owed notifyBelow blockedUntil connectorsBlockedUntil')}
    FROM accounts JOIN users ON users.id = accounts.user_id WHERE user_id = :userId`,
)
const byIdempotencyKey = statement<Pick<TransactionRecord, 'id' | 'amount'> & { balanceAfter: Units }>(
  'account_by_idempotency_key',
  // If the credit paid debt, that payment is the account's next transaction. Return the balance after it.
  `SELECT id, amount, coalesce(
      (SELECT CASE WHEN n.type = 'topup_reversal' AND n.amount < 0 AND n.topup_id IS NULL THEN n.balance_after END
        FROM transactions n WHERE n.user_id = t.user_id AND n.seq > t.seq ORDER BY n.seq LIMIT 1),
      balance_after) AS "balanceAfter"
    FROM transactions t WHERE user_id = :userId AND idempotency_key = :idempotencyKey`,
)
const ofUser = newest('', () => 'user_id = :userId')
const ofType = newest('_of_type', () => 'user_id = :userId AND type = :type')
const ofSession = newest('_of_session', ofPart('session_id', 'sessionId'))
const whole = (name: string, where: (dialect: Dialect) => string) =>
  statement<TransactionRow>(
    name,
    (dialect) => `SELECT ${transactionColumns} FROM transactions WHERE ${where(dialect)} ORDER BY seq DESC`,
  )
const ofTask = whole('account_of_task', ofPart('task_id', 'taskId'))
const ofId = whole('account_of_id', () => 'user_id = :userId AND id = :transactionId')
const ofTurn = whole('account_of_turn', ofPart('turn_id', 'turnId'))
const counters = statement<{ part: string; count: number }>(
  'account_counters',
  `SELECT part, count FROM counters WHERE user_id = :userId AND kind = 'transaction'`,
)

const countPlatformCredit = statement(
  'account_platform_credit',
  'UPDATE accounts SET platform_credited = platform_credited + :amount WHERE user_id = :userId',
)

export function* getAccount(on: Reads, userId: string): Op<AccountRecord | undefined> {
  return yield* on.get(getOne, { userId })
}

export function* credit(tx: Tx, input: Credit): Op<CreditResult> {
  const { amount, description, idempotencyKey, platformKeyId, userId } = input
  const account = yield* tx.lockAccount({ userId })
  if (!account) return { outcome: 'refused', reason: 'unknown-user' }
  if (platformKeyId !== undefined && (yield* findActingUser(tx, { userId }))?.isAdmin !== false) {
    return { outcome: 'refused', reason: 'unknown-user' }
  }
  if (idempotencyKey !== null) {
    const earlier = yield* tx.get(byIdempotencyKey, { userId, idempotencyKey })
    if (earlier && earlier.amount !== amount) return { outcome: 'refused', reason: 'idempotency-conflict' }
    if (earlier) return { outcome: 'replayed', transactionId: earlier.id, balance: earlier.balanceAfter }
  }
  const { platformCredited } = account
  if (platformKeyId !== undefined && platformCredited + amount < 0) {
    return { outcome: 'refused', reason: 'not-credited', platformCredited }
  }
  const after = account.balance + amount
  if (after < account.held || (amount > 0 && after > balanceMax)) return { outcome: 'refused', reason: 'balance' }
  const now = yield* tx.now()
  const countedIn = platformKeyId && (yield* takeCredit(tx, { keyId: platformKeyId, amount, now }))
  if (platformKeyId !== undefined) {
    if (countedIn === undefined) return { outcome: 'refused', reason: 'limit' }
    yield* tx.run(countPlatformCredit, { userId, amount })
  }
  const posting = { userId, amount, description, idempotencyKey, countedIn, now }
  const { balance, id } =
    amount < 0 ? yield* spend(tx, account, { ...posting, type: 'adjustment' }) : yield* postCredit(tx, posting)
  return { outcome: 'credited', transactionId: id, balance }
}

/**
 * Posts a credit and its event, then pays debt from the credit. Returns the final balance. The caller must have locked
 * the account.
 */
export function* postCredit(tx: Tx, posting: Omit<Posting, 'type'>): Op<{ id: string; balance: Units }> {
  const { amount, now: at, userId } = posting
  const { balance, id } = yield* tx.post({ ...posting, type: 'credit' })
  const facts = { type: 'credit.added', transactionId: id, amount, balance } as const
  recordEvent(tx, { id: eventIdOf(id), userId, at, facts })
  const left = yield* payDebt(tx, { userId, now: at })
  yield* rearm(tx, userId)
  return { id, balance: left }
}

export function* listTransactions(on: Reads, of: ListTransactions): Op<{ transactions: TransactionRecord[] } & Listed> {
  const { sessionId, taskId, transactionId, turnId, type, userId } = of
  if ((transactionId ?? taskId ?? turnId) !== undefined) return yield* listOfOne(on, of)
  if (isNeverOf(of)) return { transactions: [], total: 0 }
  const { count, list } = statementsOf(of)
  const values = { userId, ...(sessionId === undefined ? type && { type } : { sessionId }) }
  const read = ({ after, limit, offset, until }: Piece & Page) =>
    on.all(list, { ...values, seq: after.seq, untilSeq: until.seq, limit, offset })
  const readAny = ({ after, limit, offset, until }: Piece & Page) =>
    on.all(ofUser.list, { userId, seq: after.seq, untilSeq: until.seq, limit, offset })
  const counted = ({ after, until }: Piece) => on.get(count, { ...values, seq: after.seq, untilSeq: until.seq })
  if (sessionId !== undefined || isTimed(of)) {
    const piece = yield* pieceOfTimes(on, of)
    const { rows, ...listed } = yield* readFilteredPage<TransactionRow>(on, of, {
      piece,
      skip: read,
      count: counted,
      read,
    })
    return { transactions: rows.map(toTransactionRecord), ...listed }
  }
  let total = 0
  for (const { count, part } of yield* on.all(counters, { userId })) {
    if (type === undefined || part === type) total += count
  }
  const { rows, ...next } =
    type === undefined || on.skippedPerTick === Infinity
      ? yield* readDeepPage<TransactionRow>(on, of, read)
      : yield* readFilteredPage<TransactionRow>(on, of, {
          piece: pieceOf({}),
          skip: readAny,
          count: counted,
          read,
          total,
        })
  return { transactions: rows.map(toTransactionRecord), ...next, total }
}

/** Reads the next transactions of an export, newest first. `beforeSeq` is the `next` of the previous call. */
export function* exportTransactions(on: Reads, of: ExportTransactions): Op<ExportedTransactions> {
  const { beforeSeq, limit, sessionId, type, userId } = of
  if (isNeverOf(of)) return { transactions: [] }
  const { after, until } = yield* pieceOfTimes(on, of)
  const rows = yield* on.all(statementsOf(of).withWork, {
    userId,
    ...(sessionId === undefined ? type && { type } : { sessionId }),
    seq: beforeSeq ?? after.seq,
    untilSeq: until.seq,
    limit,
    offset: 0,
  })
  return {
    transactions: rows.map(({ agentId, endpointId, keyId, tags, ...row }) => ({
      ...toTransactionRecord(row),
      agentId,
      endpointId,
      keyId,
      tags: tags === null ? null : (JSON.parse(tags) as Record<string, string>),
    })),
    ...(rows.length === limit && { next: rows.at(-1)!.seq }),
  }
}

/** All transactions of a session are charges, so no other type can match. */
function isNeverOf({ sessionId, type }: Pick<ListTransactions, 'sessionId' | 'type'>): boolean {
  return sessionId !== undefined && type !== undefined && type !== 'chat_charge'
}

function statementsOf({ sessionId, type }: Pick<ListTransactions, 'sessionId' | 'type'>) {
  if (sessionId !== undefined) return ofSession
  return type === undefined ? ofUser : ofType
}

/**
 * Reads one transaction, or all transactions of a task or turn, in one query. A task or turn has at most two: a charge
 * and a refund.
 */
function* listOfOne(on: Reads, of: ListTransactions): Op<{ transactions: TransactionRecord[] } & Listed> {
  const { after, limit, offset, sessionId, taskId, transactionId, turnId, type, userId } = of
  const found = yield* transactionId !== undefined
    ? on.all(ofId, { userId, transactionId })
    : taskId !== undefined
      ? on.all(ofTask, { userId, taskId })
      : on.all(ofTurn, { userId, turnId: turnId! })
  const { after: before, until } = pieceOf(of)
  const all = found.filter(
    (one) =>
      (type === undefined || one.type === type) &&
      (taskId === undefined || one.taskId === taskId) &&
      (sessionId === undefined || one.sessionId === sessionId) &&
      (turnId === undefined || one.turnId === turnId) &&
      compare(one, before) < 0 &&
      compare(one, until) >= 0,
  )
  const left = after ? all.filter((one) => compare(one, after) < 0) : all.slice(offset)
  const { rows, ...next } = toPage(left, limit)
  return { transactions: rows.map(toTransactionRecord), total: all.length, ...next }
}

function* pieceOfTimes(on: Reads, of: ListRange & { userId: string }): Op<Piece> {
  const { after, until } = pieceOf(of)
  const { createdAfter, createdBefore, userId } = of
  const first = createdAfter === undefined ? undefined : on.get(firstSince, { userId, time: until.createdAt })
  const end = createdBefore === undefined ? undefined : on.get(firstSince, { userId, time: after.createdAt })
  return {
    until: first ? { ...until, seq: (yield* first)!.seq } : until,
    after: end ? { ...after, seq: (yield* end)!.seq } : after,
  }
}

export function toTransactionRecord({ breakdown, seq: _, ...transaction }: TransactionRow): TransactionRecord {
  return { ...transaction, breakdown: breakdown === null ? null : (JSON.parse(breakdown) as ChatBreakdown) }
}
