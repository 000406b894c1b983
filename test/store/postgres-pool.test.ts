import { expect, test } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import { openPostgresStore } from '../../server/store/postgres/postgres-store.ts'
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
})
