import { expect, test } from 'vitest'
import { describePostgres, postgresEngine } from './postgres-engine.ts'
import { describeSessions } from './session-contract.ts'
import { noLimits, openWorld } from './store-world.ts'

await describePostgres('sessions and chats', (server) => {
  const engine = postgresEngine(server)
  describeSessions((title, body, { limits = {} } = {}) => {
    test(`${engine.name}: ${title}`, async () => {
      const world = await openWorld(engine, { ...noLimits, ...limits })
      try {
        await body(world)
        expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
      } finally {
        await world.close()
      }
    })
  })
})
