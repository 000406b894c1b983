import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { resolveLimits } from '../server/app/config.ts'
import { SystemClock } from '../server/kernel/clock.ts'
import { openPool } from '../server/store/postgres/connection/database.ts'
import { openPostgresStore } from '../server/store/postgres/postgres-store.ts'
import { openSqliteStore } from '../server/store/sqlite/sqlite-store.ts'
import type { Store } from '../server/store/store.ts'
import { startDatabase } from './bench-database.ts'
import { atLeast, type Measure, type Row } from './bench-table.ts'
import { median, medianRatio } from './paired-rates.ts'

const slots = 16
const userCounts = [1, 10, 10_000]

/** Returns up to `limit` ids of tasks to claim. `claiming` contains the tasks with a claim in progress. */
type Next = (limit: number, claiming: ReadonlySet<string>) => Promise<readonly string[]>

type Side = {
  engine: string
  store: Store
  run: (sql: string) => Promise<unknown>
  /** Baseline for `store.takeTasks`: takes the oldest tasks first, regardless of their user. */
  inOrder: () => Next
  close: () => Promise<void>
}

/**
 * Compares claims of queued tasks that alternate between users with claims of the oldest tasks. Both run in paired
 * rounds on the same tables.
 */
export const measureClaims: Measure = async ({ isQuick }) => {
  const rows: Row[] = []
  for (const open of [onSqlite, onPostgres]) {
    for (const users of userCounts) {
      const side = await open()
      try {
        rows.push(await measureOne(side, { users, isQuick }))
      } finally {
        await side.close()
      }
    }
  }
  return rows
}

async function measureOne(side: Side, { isQuick, users }: { users: number; isQuick: boolean }): Promise<Row> {
  const rounds = isQuick ? 6 : 20
  const perRound = side.engine === 'SQLite' ? 2000 : 500
  await writeWaiting(side.run, { users, tasks: Math.max(users, (rounds + 1) * 2 * perRound + users) })
  const rates: Record<'fair' | 'inOrder', number[]> = { fair: [], inOrder: [] }
  const sides = { fair: fair(side.store), inOrder: side.inOrder() }
  for (let round = 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? (['fair', 'inOrder'] as const) : (['inOrder', 'fair'] as const)) {
      const rate = await claimRate(side.store, sides[name], perRound)
      // Do not count the warm-up round.
      if (round > 0) rates[name].push(rate)
    }
  }
  const what = `claims on ${side.engine}, ${users.toLocaleString('en')} users waiting`
  const ratio = medianRatio(rates.fair, rates.inOrder)
  return atLeast({ what, value: median(rates.fair), unit: '/s', against: 'the oldest first', ratio }, 0.95)
}

/** Claims tasks like a runner: looks for as many tasks as there are free slots, with one query at a time. */
async function claimRate(store: Store, next: Next, count: number): Promise<number> {
  const claiming = new Set<string>()
  let left = count
  const startedAt = performance.now()
  await new Promise<void>((resolve, reject) => {
    let isAsking = false
    const claimOne = async (id: string) => {
      claiming.add(id)
      await store.claimTask(id)
      claiming.delete(id)
      if (left === 0 && claiming.size === 0) resolve()
      void fill().catch(reject)
    }
    const fill = async () => {
      if (isAsking) return
      isAsking = true
      while (left > 0 && claiming.size < slots) {
        const ids = await next(Math.min(left, slots - claiming.size), claiming)
        left -= ids.length
        for (const id of ids) void claimOne(id).catch(reject)
      }
      isAsking = false
    }
    void fill().catch(reject)
  })
  return count / ((performance.now() - startedAt) / 1000)
}

function fair(store: Store): Next {
  let after = ''
  return async (limit, claiming) => {
    const taken = await store.takeTasks({ after, limit, claiming, passOver: new Set() })
    after = taken.after
    return taken.tasks.map(({ id }) => id)
  }
}

/** Inserts queued tasks of alternating users, so that both strategies claim tasks of the same number of users. */
async function writeWaiting(run: Side['run'], { tasks, users }: { users: number; tasks: number }): Promise<void> {
  const numbers = (count: number) =>
    `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`
  const user = (n: string) => `'user_' || (${n} * 7919 % 1000003)`
  await run(`${numbers(users)} INSERT INTO users (id, email, is_admin, created_at)
    SELECT ${user('n')}, n || '@example.com', 0, 1 FROM numbers`)
  await run(`INSERT INTO accounts (user_id, balance, held) SELECT id, 0, 0 FROM users`)
  await run(`${numbers(tasks)}
    INSERT INTO tasks (id, user_id, agent_id, endpoint_id, status, queued, attempt, cost, request, created_at)
    SELECT 'task_' || (n * 7919 % 1000003), ${user(`((n - 1) % ${users} + 1)`)}, 'bench', 'bench.noop', 'pending', 1, 0, 0, '{}', 1
    FROM numbers`)
  await run(`INSERT INTO counters (user_id, kind, part, status, count)
    SELECT user_id, 'task', 'bench', 'pending', count(*) FROM tasks GROUP BY user_id`)
  await run('ANALYZE')
}

async function onSqlite(): Promise<Side> {
  const dataDir = mkdtempSync(join(tmpdir(), 'errand-bench-claims-'))
  const clock = (notBefore: number) => new SystemClock(notBefore)
  const onFatal = (cause: unknown) => {
    throw cause
  }
  const store = openSqliteStore({ dataDir, limits: resolveLimits({}, {}), clock, onFatal })
  const db = new Database(join(dataDir, 'errand.db'))
  // Baseline that does not alternate between users. Reads a batch of the oldest tasks into memory, and reads the next
  // batch once half of them are claimed.
  const oldest = db
    .prepare<[], string>(
      `SELECT id FROM tasks WHERE completed_at IS NULL AND queued = 1 ORDER BY seq LIMIT ${slots * 8}`,
    )
    .pluck()
  return {
    engine: 'SQLite',
    store,
    run: async (sql) => db.exec(sql),
    inOrder: () => {
      let known: string[] = []
      return async (limit, claiming) => {
        if (known.length < slots * 4) known = oldest.all().filter((id) => !claiming.has(id))
        return known.splice(0, limit)
      }
    },
    close: async () => {
      db.close()
      await store.close()
      rmSync(dataDir, { recursive: true })
    },
  }
}

async function onPostgres(): Promise<Side> {
  const database = await startDatabase()
  const databaseUrl = await database.newDatabase([])
  const store = await openPostgresStore({ databaseUrl, limits: resolveLimits({}, {}) })
  const pool = openPool(databaseUrl, 1)
  // The service also writes leases without waiting for the disk.
  await pool.query('SET synchronous_commit = off')
  const oldest = `UPDATE tasks SET lease_until = floor(extract(epoch FROM clock_timestamp()) * 1000) + 30000
    WHERE seq IN (SELECT seq FROM tasks WHERE completed_at IS NULL AND queued = 1 AND lease_until IS NULL
      ORDER BY seq LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING id`
  return {
    engine: 'PostgreSQL',
    store,
    run: (sql) => pool.query(sql),
    inOrder: () => async (limit) => {
      const { rows } = await pool.query({ name: 'oldest', text: oldest, values: [limit] })
      return (rows as { id: string }[]).map(({ id }) => id)
    },
    close: async () => {
      await pool.end()
      await store.close()
      await database.stop()
    },
  }
}
