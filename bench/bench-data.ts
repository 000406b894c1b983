import { scopes } from '../server/store/access/key-types.ts'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { draftKey } from '../server/auth/keys/manage-keys.ts'
import { resolveLimits } from '../server/app/config.ts'
import { SystemClock, type Clock } from '../server/kernel/clock.ts'
import { newId } from '../server/kernel/ids.ts'
import { openSqliteStore } from '../server/store/sqlite/sqlite-store.ts'

export type BenchUser = { userId: string; key: string }
export type BenchData = { template: string; users: (BenchUser & { limitedKey: string })[] }

/** Creates a data directory with users, each with a key and a balance. Every server gets a copy of it. */
export async function prepareData(
  userCount: number,
  { balance = 10_000_000, clock }: { balance?: number; clock?: Clock } = {},
): Promise<BenchData> {
  const template = mkdtempSync(join(tmpdir(), 'errand-bench-template-'))
  const store = openBenchStore(template, clock)
  const users = await Promise.all(
    Array.from({ length: userCount }, async (_, index) => {
      const created = await store.createUser({
        email: `bench-${index}@example.com`,
        passwordHash: null,
        isAdmin: false,
      })
      if (created.outcome === 'refused') throw new Error('a bench user exists already')
      const { userId } = created
      const { token, key } = draftKey({ userId, name: 'bench', scopes: [...scopes], expiresAt: null })
      const limited = draftKey({ userId, name: 'limited', scopes: [...scopes], expiresAt: null })
      await Promise.all([
        store.credit({ userId, amount: balance, description: 'Benchmark', idempotencyKey: null }),
        store.createKey(key),
        store.createKey({ ...limited.key, spendLimit: 10_000_000, spendReset: 'month', rateLimit: 1000 }),
      ])
      return { userId, key: token, limitedKey: limited.token }
    }),
  )
  await store.close()
  return { template, users }
}

export function openBenchStore(dataDir: string, clock?: Clock) {
  return openSqliteStore({
    dataDir,
    limits: resolveLimits({}, {}),
    clock: (notBefore) => clock ?? new SystemClock(notBefore),
    onFatal: (cause) => {
      throw cause
    },
  })
}

export function insertTasks(
  dataDir: string,
  {
    users,
    count,
    status,
    tagsOf,
    cost = 0,
    countedIn = null,
  }: {
    users: readonly BenchUser[]
    count: number
    status: 'pending' | 'completed'
    tagsOf?: (index: number) => Record<string, string>
    cost?: number
    /** Spending windows that count every inserted task, as JSON. */
    countedIn?: string | null
  },
): { taskId: string; user: BenchUser }[] {
  const db = new Database(join(dataDir, 'errand.db'))
  const isDone = status === 'completed'
  const insertTask = db.prepare(
    `INSERT INTO tasks (id, user_id, agent_id, endpoint_id, status, queued, attempt, cost, counted_in, tags, request, response,
                        created_at, started_at, completed_at)
     VALUES (?, ?, 'bench', 'bench.noop', ?, ?, ?, ?, ?, ?, '{"n":1}', ?, ?, ?, ?)`,
  )
  const insertTransaction = db.prepare(
    `INSERT INTO transactions (id, user_id, type, amount, balance_after, task_id, description, created_at)
     VALUES (?, ?, 'task_charge', 0, 10000000, ?, 'Task bench.noop', ?)`,
  )
  const insertCounter = db.prepare(
    `INSERT INTO counters (user_id, kind, part, status, count) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  )
  // Older than the rate limit window, so that the tasks do not count toward the limit.
  const createdAt = Date.now() - 3_600_000
  const tasks = db.transaction(() =>
    Array.from({ length: count }, (_, index) => {
      const user = users[index % users.length]!
      const taskId = newId('task', createdAt + index)
      const at = createdAt + Math.floor(index / 1000)
      const tags = tagsOf ? JSON.stringify(tagsOf(index)) : null
      const response = isDone ? '{"ok":true}' : null
      const ended = isDone ? at : null
      insertTask.run(
        taskId,
        user.userId,
        status,
        isDone ? 0 : 1,
        isDone ? 1 : 0,
        cost,
        countedIn,
        tags,
        response,
        at,
        ended,
        ended,
      )
      insertTransaction.run(newId('txn', at), user.userId, taskId, at)
      return { taskId, user }
    }),
  )()
  db.transaction(() => {
    for (const [index, { userId }] of users.entries()) {
      const own = Math.floor(count / users.length) + (index < count % users.length ? 1 : 0)
      insertCounter.run(userId, 'task', 'bench', status, own)
      insertCounter.run(userId, 'transaction', 'task_charge', '', own)
    }
  })()
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  return tasks
}
