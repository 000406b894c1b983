import { afterAll, inject } from 'vitest'
import { postgresDatabases } from './postgres-databases.ts'
import { connectPostgres } from './postgres-server.ts'
import { useEngine } from './test-engine.ts'

// Every file of the project that runs on PostgreSQL begins with this: its services keep what they know there.

const server = connectPostgres(inject('postgresUrl'))
const databases = postgresDatabases(server)
useEngine(databases)
afterAll(async () => {
  await databases.removeAll()
  await server.stop()
})
