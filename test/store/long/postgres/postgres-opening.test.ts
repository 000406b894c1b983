import { expect, test } from 'vitest'
import { asNextVersion } from '../../../support/next-version.ts'
import { StoreOpenError } from '../../../../server/store/store-open-error.ts'
import type { PgPool } from '../../../../server/store/postgres/connection/driver.ts'
import { openPostgresStore, openPostgresStoreBeside } from '../../../../server/store/postgres/postgres-store.ts'
import { withPool, type PostgresServer } from '../../../support/postgres-server.ts'
import { describePostgres } from '../../postgres-engine.ts'
import { agentError, noLimits } from '../../store-world.ts'

await describePostgres('opening', describeOpening)

async function appliedCount(pool: PgPool): Promise<number> {
  return (await pool.query('SELECT hash FROM drizzle.__drizzle_migrations')).rows.length
}

const holders = `SELECT a.pid FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
  WHERE a.datname = current_database() AND l.locktype = 'advisory' AND l.mode = 'ShareLock' AND l.granted`

async function holdersOf(pool: PgPool): Promise<number[]> {
  return ((await pool.query(holders)).rows as { pid: number }[]).map(({ pid }) => pid)
}

async function cutHolders(pool: PgPool): Promise<number[]> {
  const { rows } = await pool.query(`SELECT pid, pg_terminate_backend(pid) FROM (${holders}) AS holders`)
  return (rows as { pid: number }[]).map(({ pid }) => pid)
}

function describeOpening({ dropDatabase, newDatabase }: PostgresServer): void {
  const open = (databaseUrl: string) => openPostgresStore({ databaseUrl, limits: noLimits, connectionsMax: 2 })

  const openNext = (url: string) => asNextVersion(() => open(url))

  test('reports a backlog if at least as many commands wait as connections exist', async () => {
    const url = await newDatabase()
    const store = await open(url)
    await Promise.all([store.readState(), store.readState()])
    const reads = Array.from({ length: 3 }, () => store.readState())
    expect(store.hasBacklog()).toBe(false)
    reads.push(...Array.from({ length: 3 }, () => store.readState()))
    expect(store.hasBacklog()).toBe(true)
    await Promise.all(reads)
    expect(store.hasBacklog()).toBe(false)
    await store.close()
    await dropDatabase(url)
  })

  test('ten nodes starting simultaneously on an empty database migrate it once', async () => {
    const url = await newDatabase({ isEmpty: true })
    const stores = await Promise.all(Array.from({ length: 10 }, () => open(url)))
    const users = await Promise.all(
      stores.map((store, n) => store.createUser({ email: `p${n}@example.com`, passwordHash: null, isAdmin: false })),
    )
    expect(users.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 10 }, () => 'created'))
    const applied = await withPool(url, (pool) => pool.query('SELECT hash FROM drizzle.__drizzle_migrations'))
    expect(new Set(applied.rows.map((row) => (row as { hash: string }).hash)).size).toBe(applied.rows.length)
    await Promise.all(stores.map((store) => store.close()))
    await dropDatabase(url)
  })

  test('rejects a database written by a newer version', async () => {
    const url = await newDatabase()
    const newer = `INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ('newer', 9999999999999)`
    await withPool(url, (pool) => pool.query(newer))
    await expect(open(url)).rejects.toThrow('newer version')
    await dropDatabase(url)
  })

  test('does not migrate a database that an older node still uses', async () => {
    const url = await newDatabase()
    const applied = await withPool(url, async (pool) => {
      const before = await appliedCount(pool)
      await expect(openNext(url)).rejects.toThrow(/older version of Errand is still using it.*pid \d+.*Stop every node/)
      expect(await appliedCount(pool)).toBe(before)
      return before
    })
    await (await openNext(url)).close()
    expect(await withPool(url, appliedCount)).toBe(applied + 1)
    await dropDatabase(url)
  })

  test('does not migrate a database with leased work and reports when it can', async () => {
    const url = await newDatabase()
    const leased = `INSERT INTO users (id, email, is_admin, created_at) VALUES ('user_1', 'ada@example.com', 0, 1000);
      INSERT INTO accounts (user_id, balance, held) VALUES ('user_1', 0, 0);
      INSERT INTO turns (id, user_id, session_id, agent_id, held, created_at, lease_until)
        VALUES ('turn_2', 'user_1', 'ses_1', 'text', 0, 1000, ${Date.now() + 30_000})`
    await withPool(url, (pool) => pool.query(leased))
    await expect(openNext(url)).rejects.toThrow(/leased to a node.* the leases expire in (30|29|28|27|26) s/)
    await withPool(url, (pool) => pool.query(`UPDATE turns SET lease_until = ${Date.now() - 1} WHERE id = 'turn_2'`))
    await (await openNext(url)).close()
    await dropDatabase(url)
  })

  test('ten nodes starting simultaneously on an older schema migrate it once', async () => {
    const url = await newDatabase()
    const stores = await asNextVersion(() => Promise.all(Array.from({ length: 10 }, () => open(url))))
    expect(await withPool(url, (pool) => pool.query('SELECT id FROM next_version'))).toMatchObject({ rows: [] })
    expect(await Promise.all(stores.map(async (store) => (await store.verifyLedger()).ok))).not.toContain(false)
    await Promise.all(stores.map((store) => store.close()))
    await dropDatabase(url)
  })

  test('a node that loses its lock retakes it, or stops if a newer version migrated', async () => {
    const url = await newDatabase()
    const causes: unknown[] = []
    const store = await openPostgresStore({
      databaseUrl: url,
      limits: noLimits,
      connectionsMax: 2,
      onFatal: (cause) => causes.push(cause),
    })
    await withPool(url, async (pool) => {
      const [first] = await cutHolders(pool)
      await expect.poll(async () => (await holdersOf(pool)).filter((pid) => pid !== first)).toHaveLength(1)
      expect(causes).toEqual([])
      await pool.query(`INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ('newer', 9999999999999)`)
      await cutHolders(pool)
      await expect.poll(() => causes.map(String)).toEqual([expect.stringContaining('newer version')])
    })
    await store.close()
    await dropDatabase(url)
  })

  test('the CLI initializes an empty database only if its caller allows it', async () => {
    const url = await newDatabase({ isEmpty: true })
    const beside = (mayCreate: boolean) => openPostgresStoreBeside({ databaseUrl: url, limits: noLimits, mayCreate })
    await expect(beside(false)).rejects.toThrow(StoreOpenError)
    await (await beside(true)).close()
    await (await beside(false)).close()
    await dropDatabase(url)
  })

  test('reports an unreachable server in one line and does not start', async () => {
    const opening = open('postgres://postgres:password@127.0.0.1:1/none')
    await expect(opening).rejects.toThrow(StoreOpenError)
    await expect(opening).rejects.toThrow(/^Could not reach the database \([^\n]+\)\. Check ERRAND_DATABASE_URL\.$/)
  })

  test('rejects a server that confirms commits before they are on disk', async () => {
    const url = await newDatabase()
    const name = new URL(url).pathname.slice(1)
    await withPool(url, (pool) => pool.query(`ALTER DATABASE ${name} SET synchronous_commit = off`))
    await expect(open(url)).rejects.toThrow('synchronous_commit')
    await dropDatabase(url)
  })

  test('the database itself protects transactions, the audit log, ended tasks and held balance from changes', async () => {
    const url = await newDatabase()
    const store = await open(url)
    const created = await store.createUser({ email: 'a@example.com', passwordHash: null, isAdmin: false })
    if (created.outcome === 'refused') throw new Error(created.reason)
    const { userId } = created
    await store.credit({ userId, amount: 100, description: '', idempotencyKey: null })
    const task = { taskId: 'task_1', userId, agentId: 'text', endpointId: 'text.a', cost: 10, connectorIds: null }
    await store.admitTask({ ...task, request: { text: '{}', payloadId: null }, idempotency: null })
    await store.claimTask('task_1')
    await store.failTask({ taskId: 'task_1', attempt: 1, error: agentError, countsAsAbuse: false })
    await withPool(url, async (pool) => {
      await expect(pool.query('UPDATE transactions SET amount = 1')).rejects.toThrow('append-only')
      await expect(pool.query('DELETE FROM transactions')).rejects.toThrow('append-only')
      await expect(pool.query('TRUNCATE transactions')).rejects.toThrow('append-only')
      await expect(pool.query("UPDATE audit_log SET change = '{}'")).rejects.toThrow('append-only')
      await expect(pool.query('DELETE FROM audit_log')).rejects.toThrow('append-only')
      await expect(pool.query('TRUNCATE audit_log')).rejects.toThrow('append-only')
      await expect(pool.query(`UPDATE tasks SET error_message = 'x'`)).rejects.toThrow('never changes')
      await expect(pool.query('UPDATE tasks SET pruned_at = 1, cost = 0')).rejects.toThrow('never changes')
      await expect(pool.query('UPDATE accounts SET held = 101')).rejects.toThrow('balance_covers_held')
      await expect(pool.query('UPDATE accounts SET balance = -1')).rejects.toThrow('balance_covers_held')
      const again = `INSERT INTO transactions (id, user_id, type, amount, balance_after, task_id, description, created_at)
        SELECT 'txn_again', user_id, type, amount, balance_after, task_id, '', 0 FROM transactions
        WHERE type = 'task_refund'`
      await expect(pool.query(again)).rejects.toThrow('transactions_task')
    })
    await store.close()
    await dropDatabase(url)
  })
}
