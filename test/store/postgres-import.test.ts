import { expect, test } from 'vitest'
import { importTables } from '../../server/store/postgres/import/import-tables.ts'
import { withPool } from '../support/postgres-server.ts'
import { describePostgres } from './postgres-engine.ts'

/** Tables specific to SQLite's files or to an installation, or filled by triggers. */
const ownTables = new Set(['payload_parts', 'probes', 'settings', 'session_totals'])
/** Needed only if nodes share a database. */
const ownColumns = new Set(['lease_until'])

await describePostgres('what an installation takes along', (server) => {
  test('every table and column of an installation is taken along', async () => {
    const url = await server.newDatabase()
    const columns = await withPool(url, async (pool) => {
      const query = `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
        WHERE table_schema = 'public'`
      return (await pool.query(query)).rows as { table: string; column: string }[]
    })
    const there = columns.filter(({ column, table }) => !ownTables.has(table) && !ownColumns.has(column))
    const taken = importTables.flatMap(({ columns: names, name }) => names.map((column) => `${name}.${column}`))
    expect(taken.toSorted()).toEqual(there.map(({ column, table }) => `${table}.${column}`).toSorted())
    expect(taken.length).toBeGreaterThan(100)
    await server.dropDatabase(url)
  })
})
