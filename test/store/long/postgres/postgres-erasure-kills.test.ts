import { test } from 'vitest'
import { eraseWithKills } from '../../erasure-kills.ts'
import { describePostgres, openOn } from '../../postgres-engine.ts'

await describePostgres('a killed erasure', (server) => {
  test('PostgreSQL: an erasure that is killed repeatedly continues, and the ledger adds up after each kill', async () => {
    const databaseUrl = await server.newDatabase()
    const open = (options: Parameters<typeof openOn>[2]) => openOn(server, databaseUrl, options)
    await eraseWithKills({ place: { databaseUrl }, open, tasks: 1000, killMsMax: 300 })
    await server.dropDatabase(databaseUrl)
  }, 300_000)
})
