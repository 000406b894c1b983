import { getTableName, is, Table } from 'drizzle-orm'
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'
import * as postgres from '../../server/store/postgres/schema.ts'
import * as sqlite from '../../server/store/sqlite/schema.ts'
import { carriedTables } from '../../server/store/transfer/carried-tables.ts'
import { lastMigration } from '../../server/store/applied-migrations.ts'
import { migrationsFolder as ofPostgres } from '../../server/store/postgres/connection/schema-hold.ts'
import { migrationsFolder as ofSqlite } from '../../server/store/sqlite/database.ts'
import { withPool } from '../support/postgres-server.ts'
import { describePostgres } from './postgres-engine.ts'

/**
 * Tables that an export does not copy as rows, because migrations, triggers or upkeep create their rows, or because
 * they contain payloads.
 */
const ownTables = new Set(['book_totals', 'payload_parts', 'probes', 'session_totals', 'task_tags'])
/** Columns needed only if nodes share a database. */
const ownColumns = new Set(['lease_until'])

const carried = carriedTables.flatMap(({ columns, name }) => columns.map((column) => `${name}.${column.name}`))

test('an export lists parent tables before child tables, and every table has a key', () => {
  const names = carriedTables.map(({ name }) => name)
  let references = 0
  for (const table of Object.values<unknown>(postgres)) {
    const { foreignKeys, name } = getTableConfig(table as PgTable)
    for (const foreignKey of foreignKeys) {
      const parent = getTableConfig(foreignKey.reference().foreignTable).name
      expect(names.indexOf(parent), `${parent} before ${name}`).toBeLessThan(names.indexOf(name))
      references++
    }
  }
  expect(references).toBeGreaterThan(10)
  for (const { key, name } of carriedTables) expect(key.length, name).toBeGreaterThan(0)
})

test('an export covers all tables of both engines, and their last migrations match', () => {
  for (const schema of [postgres, sqlite]) {
    const names = Object.values<unknown>(schema).flatMap((table) => (is(table, Table) ? getTableName(table) : []))
    expect(carriedTables.map(({ name }) => name).toSorted()).toEqual(
      names.filter((name) => !ownTables.has(name)).toSorted(),
    )
  }
  expect(lastMigration(ofSqlite)).toBe(lastMigration(ofPostgres))
})

await describePostgres('columns of an export', (server) => {
  test('an export covers every database column', async () => {
    const url = await server.newDatabase()
    const columns = await withPool(url, async (pool) => {
      const query = `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
        WHERE table_schema = 'public'`
      return (await pool.query(query)).rows as { table: string; column: string }[]
    })
    const there = columns.filter(({ column, table }) => !ownTables.has(table) && !ownColumns.has(column))
    expect(carried.toSorted()).toEqual(there.map(({ column, table }) => `${table}.${column}`).toSorted())
    expect(carried.length).toBeGreaterThan(100)
    await server.dropDatabase(url)
  })
})
