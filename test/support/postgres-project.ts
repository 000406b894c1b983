import { afterAll, inject } from 'vitest'
import { postgresDatabases } from './postgres-databases.ts'
import { connectPostgres } from './postgres-server.ts'
import { useEngine } from './test-engine.ts'

// Setup file of the PostgreSQL project. Its services store their data in PostgreSQL.

const server = connectPostgres(inject('postgresUrl'))
const databases = postgresDatabases(server)
useEngine(databases)
afterAll(async () => {
  await databases.removeAll()
  await server.stop()
})
