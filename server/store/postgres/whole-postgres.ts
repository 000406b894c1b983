import { assert } from '../../kernel/assert.ts'
import { lastMigration } from '../applied-migrations.ts'
import type { CarriedRow, CarriedTable } from '../transfer/carried-tables.ts'
import { carriedTables } from '../transfer/carried-tables.ts'
import type { WholeDatabase } from '../transfer/whole-database.ts'
import { connectTo, openPool } from './connection/database.ts'
import type { PgClient } from './connection/driver.ts'
import { migrationsFolder, SchemaHold, takeAlone } from './connection/schema-hold.ts'
import { checkLedger } from './verify-ledger.ts'

const fetchRows = 500
/** Connection name that distinguishes an export or import from nodes. */
const ownName = 'errand export'
const settings = ['idle_in_transaction_session_timeout = 0', 'lock_timeout = 0', 'enable_seqscan = on']

/**
 * Imported tasks and turns in progress get an expired lease, because their process no longer exists. The first node
 * that polls settles them.
 */
const expiredLease: Record<string, string> = {
  tasks: `CASE WHEN status = 'processing' AND queued = 0 THEN 0 END`,
  turns: 'CASE WHEN settled_at IS NULL THEN 0 END',
}

/**
 * Opens a database for exclusive access. Throws if a node is using it. Creates the tables in an empty database unless
 * `mustExist` is set.
 */
export async function openWholePostgres(databaseUrl: string, mustExist: boolean): Promise<WholeDatabase> {
  const change = mustExist ? 'none' : 'create'
  await (await SchemaHold.open({ databaseUrl, change, mayBeExported: true })).close()
  const pool = openPool(databaseUrl, 1, { name: ownName })
  let client: PgClient | undefined
  const close = async () => {
    client?.release(true)
    await pool.end()
  }
  try {
    client = await connectTo(pool)
    for (const setting of settings) await client.query(`SET ${setting}`)
    await client.query('BEGIN')
    await takeAlone(client)
    return wholeOf(client, close)
  } catch (error) {
    await close()
    throw error
  }
}

function wholeOf(client: PgClient, close: () => Promise<void>): WholeDatabase {
  return {
    engine: 'postgres',
    schema: lastMigration(migrationsFolder),
    read: (table) => readRows(client, table),
    insert: async (table, rows) => {
      const values = table.columns.map((_, at) => rows.map((row) => row[at]))
      const { rowCount } = await client.query({ name: `import_${table.name}`, text: insertInto(table), values })
      assert(rowCount === rows.length, `every row of ${table.name} was inserted`)
    },
    query: async (text) => (await client.query({ text, rowMode: 'array' })).rows as CarriedRow[],
    continueSequences: async () => {
      for (const { hasSeq, name } of carriedTables) {
        if (!hasSeq) continue
        const sequence = `pg_get_serial_sequence('"${name}"', 'seq')`
        await client.query(`SELECT setval(${sequence}, max(seq)) FROM "${name}" HAVING max(seq) IS NOT NULL`)
      }
      await client.query('ANALYZE')
    },
    verifyLedger: () => checkLedger(client),
    commit: async () => {
      await client.query('COMMIT')
      return true
    },
    close,
  }
}

async function* readRows(client: PgClient, { columns, key, name }: CarriedTable): AsyncGenerator<CarriedRow> {
  const fields = columns.map((column) => `"${column.name}"`).join(', ')
  // Sort as SQLite does, regardless of the database's collation.
  const order = key.map((column) => `"${column.name}"${column.isText ? ' COLLATE "C"' : ''}`).join(', ')
  await client.query(`DECLARE carried NO SCROLL CURSOR FOR SELECT ${fields} FROM "${name}" ORDER BY ${order}`)
  for (;;) {
    const { rows } = await client.query({ text: `FETCH ${fetchRows} FROM carried`, rowMode: 'array' })
    yield* rows as CarriedRow[]
    if (rows.length < fetchRows) break
  }
  await client.query('CLOSE carried')
}

function insertInto({ columns, name }: CarriedTable): string {
  const fields = columns.map((column) => `"${column.name}"`).join(', ')
  const arrays = columns.map(({ isText }, at) => `$${at + 1}::${isText ? 'text' : 'bigint'}[]`).join(', ')
  const lease = expiredLease[name]
  const [into, from] = lease === undefined ? ['', ''] : [', lease_until', `, ${lease}`]
  return `INSERT INTO "${name}" (${fields}${into}) OVERRIDING SYSTEM VALUE
    SELECT ${fields}${from} FROM unnest(${arrays}) AS carried (${fields})`
}
