import { expect, test } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import { openPostgresStore } from '../../server/store/postgres/postgres-store.ts'
import { withPool } from '../support/postgres-server.ts'
import { describePostgres } from './postgres-engine.ts'
import { noLimits } from './store-world.ts'

const connectionsMax = 3

await describePostgres('connections of a node', (server) => {
  test('the first admissions of a node, on all its connections at once, wait for no further connection', async () => {
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

  test('each has its limits, and starts with no parameter that a pooler refuses', async () => {
    await withPool(server.url, async (pool) => {
      const limits = `SELECT name, setting, source FROM pg_settings
        WHERE name IN ('enable_seqscan', 'idle_in_transaction_session_timeout', 'lock_timeout') ORDER BY name`
      expect((await pool.query(limits)).rows).toEqual([
        // A parameter of the start would have the source "client".
        { name: 'enable_seqscan', setting: 'off', source: 'session' },
        { name: 'idle_in_transaction_session_timeout', setting: '5000', source: 'session' },
        { name: 'lock_timeout', setting: '10000', source: 'session' },
      ])
    })
  })

  test('one that has lost its prepared statements says which poolers do that, and what to do', async () => {
    await withPool(server.url, async (pool) => {
      const statement = { name: 'one', text: 'SELECT 1 AS one' }
      await pool.query(statement)
      await pool.query('DEALLOCATE ALL')
      await expect(pool.query(statement)).rejects.toThrow(
        'prepared statement "one" does not exist, as behind a pooler in transaction mode; give ERRAND_DATABASE_URL a direct connection or a pooler in session mode.',
      )
    })
  })
})
