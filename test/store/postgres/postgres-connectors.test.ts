import { test } from 'vitest'
import { describeConnectors } from '../connector-contract.ts'
import { describeGrants } from '../contract-grants.ts'
import { describePostgres, postgresEngine } from '../postgres-engine.ts'
import type { ContractTest } from '../store-contract.ts'
import { noLimits, openWorld } from '../store-world.ts'

await describePostgres('connectors', (server) => {
  const engine = postgresEngine(server)
  const contractTest: ContractTest = (title, body, { limits = {} } = {}) => {
    test(`${engine.name}: ${title}`, async () => {
      const world = await openWorld(engine, { ...noLimits, ...limits })
      try {
        await body(world)
      } finally {
        await world.close()
      }
    })
  }
  describeConnectors(contractTest)
  describeGrants(contractTest)
})
