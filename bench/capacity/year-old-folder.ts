import { hash } from 'node:crypto'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { newId } from '../../server/kernel/ids.ts'
import { prepareData, type BenchUser } from '../bench-data.ts'

export const dayMs = 86_400_000
const yearMs = 365 * dayMs
const userCount = 1000
const balance = 1_000_000_000
const price = 100
const perTransaction = 50_000
/** The first user has this share of the tasks. */
const heavyShare = 10
/** Every n-th task failed and was refunded, and every n-th has a tag. */
const failedShare = 50
const taggedShare = 1000
/** About 400 bytes of content per task. */
const request = JSON.stringify({
  text: 'A short text that a user wants summarized, in about a hundred bytes. '.repeat(2),
})
const response = JSON.stringify({ summary: 'A summary of the text, with what matters to the user. '.repeat(5) })

export type YearOldFolder = { dataDir: string; users: readonly BenchUser[]; count: number }

/**
 * Creates a data directory that contains `count` tasks from the last year, with the same rows as if the service had run
 * them: charges and refunds with their running balances, counters, daily books, and the last day's idempotency keys.
 */
export async function yearOldFolder(count: number): Promise<YearOldFolder> {
  const until = Date.now() - 3_600_000
  const from = until - yearMs
  const { template: dataDir, users } = await prepareData(userCount, { balance, clock: { now: () => from } })
  const db = new Database(join(dataDir, 'errand.db'))
  // A failed run leaves a broken file, which is deleted with the directory.
  db.pragma('journal_mode = DELETE')
  db.pragma('journal_mode = OFF')
  db.pragma('synchronous = OFF')
  db.pragma('foreign_keys = OFF')
  db.pragma('cache_size = -1000000')
  const insert = insertsInto(db)
  const accounts = users.map(({ userId }) => ({ userId, balance, completed: 0, failed: 0 }))
  const books = new Map<string, { executions: number; failures: number }>()
  let bookDay = 0
  const closeBookDay = () => {
    for (const [userId, { executions, failures }] of books)
      insert.book.run(userId, bookDay, executions, failures, executions * price, failures * price)
    books.clear()
  }
  const insertTask = (index: number) => {
    const account = accounts[index % heavyShare === 0 ? 0 : 1 + ((index * 7919) % (users.length - 1))]!
    const { userId } = account
    const createdAt = from + Math.floor((index / count) * yearMs)
    const completedAt = createdAt + 1500
    const isFailed = index % failedShare === failedShare - 1
    const taskId = newId('task', createdAt)
    insert.task.run(
      taskId,
      userId,
      isFailed ? 'failed' : 'completed',
      price,
      index % taggedShare === 0 ? '{"kind":"rare"}' : null,
      request,
      isFailed ? null : response,
      isFailed ? 'AGENT_ERROR' : null,
      isFailed ? 'The agent failed.' : null,
      isFailed ? '' : null,
      createdAt,
      createdAt + 200,
      completedAt,
    )
    const post = (type: string, amount: number, at: number) => {
      account.balance += amount
      insert.transaction.run(newId('txn', at), userId, type, amount, account.balance, taskId, at)
    }
    post('task_charge', -price, createdAt)
    if (isFailed) post('task_refund', price, completedAt)
    if (createdAt > until - dayMs) insert.key.run(userId, `order-${index}`, hash('sha256', request), taskId, createdAt)
    account[isFailed ? 'failed' : 'completed']++
    const day = Math.floor(completedAt / dayMs)
    if (day !== bookDay) closeBookDay()
    bookDay = day
    const book = books.get(userId) ?? { executions: 0, failures: 0 }
    book.executions++
    if (isFailed) book.failures++
    books.set(userId, book)
  }
  const insertSome = db.transaction((first: number) => {
    for (let index = first; index < Math.min(count, first + perTransaction); index++) insertTask(index)
  })
  for (let first = 0; first < count; first += perTransaction) insertSome(first)
  db.transaction(() => {
    closeBookDay()
    for (const { balance: left, completed, failed, userId } of accounts) {
      insert.balance.run(left, userId)
      const counts = { completed, failed }
      for (const [status, tasks] of Object.entries(counts)) insert.counter.run(userId, 'task', 'bench', status, tasks)
      insert.counter.run(userId, 'transaction', 'task_charge', '', completed + failed)
      insert.counter.run(userId, 'transaction', 'task_refund', '', failed)
    }
  })()
  db.close()
  return { dataDir, users, count }
}

function insertsInto(db: Database.Database) {
  return {
    task: db.prepare(
      `INSERT INTO tasks (id, user_id, agent_id, endpoint_id, status, queued, attempt, cost, tags, request, response,
          error_code, error_message, error_details, has_event, created_at, started_at, completed_at)
        VALUES (?, ?, 'bench', 'bench.noop', ?, 0, 1, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`,
    ),
    transaction: db.prepare(
      `INSERT INTO transactions (id, user_id, type, amount, balance_after, task_id, description, created_at)
        VALUES (?, ?, ?, ?, ?, ?, 'Task bench.noop', ?)`,
    ),
    key: db.prepare(
      `INSERT INTO idempotency_keys (user_id, operation, key, body_hash, resource_id, created_at)
        VALUES (?, 'createTask', ?, ?, ?, ?)`,
    ),
    book: db.prepare(
      `INSERT INTO book_days (user_id, day, agent_id, endpoint_id, model, plan, key_id, executions, failures, charged,
          refunded, written_off, provider_cost)
        VALUES (?, ?, 'bench', 'bench.noop', '', '', '', ?, ?, ?, ?, 0, 0)`,
    ),
    balance: db.prepare('UPDATE accounts SET balance = ? WHERE user_id = ?'),
    counter: db.prepare('INSERT INTO counters (user_id, kind, part, status, count) VALUES (?, ?, ?, ?, ?)'),
  }
}
