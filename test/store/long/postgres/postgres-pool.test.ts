import { expect, test } from 'vitest'
import { newId } from '../../../../server/kernel/ids.ts'
import { openPool } from '../../../../server/store/postgres/connection/database.ts'
import { openPostgresStore } from '../../../../server/store/postgres/postgres-store.ts'
import { withPool } from '../../../support/postgres-server.ts'
import { describePostgres } from '../../postgres-engine.ts'
import { noLimits } from '../../store-world.ts'

const connectionsMax = 3

await describePostgres('connections of a node', (server) => {
  test('first admissions on all connections of a node need no further connection', async () => {
    const url = await server.newDatabase()
    const store = await openPostgresStore({ databaseUrl: url, limits: noLimits, connectionsMax })
    try {
      const admitted = await Promise.all(
        Array.from({ length: connectionsMax }, async (_, index) => {
          const email = `${index}@example.com`
          const user = await store.createUser({ email, passwordHash: null, isAdmin: false })
          if (user.outcome === 'refused') throw new Error('the user is new')
          return user.userId
        }),
      ).then((userIds) =>
        Promise.all(
          userIds.map((userId) =>
            store.admitTask({
              taskId: newId('task', Date.now()),
              userId,
              agentId: 'text',
              endpointId: 'text.echo',
              cost: 0,
              request: { text: '{}', payloadId: null },
              connectorIds: null,
              idempotency: null,
            }),
          ),
        ),
      )
      expect(admitted.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted', 'accepted'])
      expect(await store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
    } finally {
      await store.close()
      await server.dropDatabase(url)
    }
  })

  /** Opens a store, creates users, and locks a table from another connection until `unlock` is called. */
  async function behindLock(statementMsMax: number, table = 'sessions') {
    const url = await server.newDatabase()
    const store = await openPostgresStore({ databaseUrl: url, limits: noLimits, statementMsMax })
    const userIds = await Promise.all(
      ['busy', 'other', 'second', 'third', 'fourth'].map(async (name) => {
        const email = `${name}@example.com`
        const user = await store.createUser({ email, passwordHash: null, isAdmin: false })
        if (user.outcome === 'refused') throw new Error('the user is new')
        return user.userId
      }),
    )
    const pool = openPool(url, 1)
    const client = await pool.connect()
    // Otherwise the server would end this idle transaction, which must keep its lock.
    await client.query(
      `SET idle_in_transaction_session_timeout = 0; BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`,
    )
    const close = async () => {
      await store.close()
      client.release(true)
      await pool.end()
      await server.dropDatabase(url)
    }
    return { store, userIds: userIds as [string, string, ...string[]], unlock: () => client.query('ROLLBACK'), close }
  }

  const page = { limit: 10, offset: 0 }

  test("one user's slow lists leave connections for other users, and excess lists are rejected", async () => {
    const { close, store, unlock, userIds } = await behindLock(60_000)
    const [busy, other] = userIds
    let ended = 0
    const lists = Array.from({ length: 200 }, () => {
      const list = store.listSessions({ userId: busy, ...page })
      return list
        .then(() => 'read')
        .catch((error: { code: string }) => error.code)
        .finally(() => ended++)
    })
    await expect.poll(() => ended, { timeout: 20_000 }).toBe(200 - 3 - 100)
    for (let read = 0; read < 20; read++) {
      expect(await store.getAccount(other)).toMatchObject({ userId: other })
      expect(await store.listTasks({ userId: other, ...page })).toEqual({ tasks: [], total: 0 })
      expect(await store.getAccount(busy)).toMatchObject({ userId: busy })
    }
    expect(ended).toBe(97)
    await unlock()
    const outcomes = await Promise.all(lists)
    expect(outcomes.filter((outcome) => outcome === 'read')).toHaveLength(103)
    expect(outcomes.filter((outcome) => outcome === 'SERVICE_UNAVAILABLE')).toHaveLength(97)
    expect(await store.listSessions({ userId: busy, ...page })).toEqual({ sessions: [], total: 0 })
    await close()
  })

  test('slow lists of four users leave connections for other lists and writes', async () => {
    const { close, store, unlock, userIds } = await behindLock(60_000)
    const [busy, other, ...more] = userIds
    const lists = [busy, ...more].flatMap((userId) =>
      Array.from({ length: 20 }, () => store.listSessions({ userId, ...page })),
    )
    for (let n = 0; n < 20; n++) {
      expect(await store.listTasks({ userId: other, ...page })).toEqual({ tasks: [], total: 0 })
      const credit = { userId: other, amount: 1, description: '', idempotencyKey: null }
      expect(await store.credit(credit)).toMatchObject({ outcome: 'credited' })
    }
    await unlock()
    for (const { total } of await Promise.all(lists)) expect(total).toBe(0)
    await close()
  })

  test('the server cancels long statements, except checks of whole tables', async () => {
    const { close, store, unlock, userIds } = await behindLock(300, 'transactions')
    const list = () => store.listTransactions({ userId: userIds[0], ...page })
    const report = store.verifyLedger()
    for (let tries = 0; tries < 2; tries++) {
      await expect(list()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 1 })
    }
    await unlock()
    expect(await report).toMatchObject({ ok: true })
    expect(await list()).toMatchObject({ total: 0 })
    await close()
  })

  test('each connection sets its limits without startup parameters that a pooler rejects', async () => {
    await withPool(server.url, async (pool) => {
      const limits = `SELECT name, setting, source FROM pg_settings
        WHERE name IN ('enable_seqscan', 'idle_in_transaction_session_timeout', 'lock_timeout') ORDER BY name`
      expect((await pool.query(limits)).rows).toEqual([
        // If this were set as a startup parameter, the source would be "client".
        { name: 'enable_seqscan', setting: 'off', source: 'session' },
        { name: 'idle_in_transaction_session_timeout', setting: '5000', source: 'session' },
        { name: 'lock_timeout', setting: '10000', source: 'session' },
      ])
    })
  })

  test('the error for lost prepared statements names the pooler mode and the fix', async () => {
    await withPool(server.url, async (pool) => {
      const statement = { name: 'one', text: 'SELECT 1 AS one' }
      await pool.query(statement)
      await pool.query('DEALLOCATE ALL')
      await expect(pool.query(statement)).rejects.toThrow(
        'prepared statement "one" does not exist. A pooler in transaction mode is the likely cause. Set ERRAND_DATABASE_URL to a direct connection or a pooler in session mode.',
      )
    })
  })
})
