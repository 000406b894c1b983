import { getTableColumns, getTableName } from 'drizzle-orm'
import { accountSums, type CarriedRow } from '../../carried-rows.ts'
import type { PgClient } from '../connection/driver.ts'
import * as schema from '../schema.ts'

// Tables to copy into a database, and to read back to verify that the copy is exact.

type Columns = ReturnType<typeof getTableColumns<typeof schema.users>>
type Column = Columns[keyof Columns]

/** `columns` are those copied from the source. */
export type ImportTable = { name: string; columns: readonly string[]; hasSeq: boolean }

/** Ordered so that the parent of each row is copied before the row. */
const tables = [
  schema.users,
  schema.accounts,
  schema.apiKeys,
  schema.identities,
  schema.logins,
  schema.loginAttempts,
  schema.invitations,
  schema.connectors,
  schema.sessions,
  schema.messages,
  schema.turns,
  schema.tasks,
  schema.transactions,
  schema.counters,
  schema.idempotencyKeys,
  schema.wireRequests,
  schema.payloads,
  schema.abuseFailures,
  schema.webhooks,
  schema.events,
  schema.deliveries,
  schema.spendWindows,
  schema.keyRates,
  schema.platformKeys,
  schema.clientTokens,
  schema.topups,
  schema.paymentAccounts,
  schema.turnEvents,
  schema.connectorGrants,
  schema.connectorSignIns,
]

/** Column needed only by nodes of a shared database. */
const leaseColumn = 'lease_until'

const columnsOf = new Map<string, Column[]>(
  tables.map((table) => {
    const columns = Object.values(getTableColumns(table)) as Column[]
    return [getTableName(table), columns.filter(({ name }) => name !== leaseColumn)]
  }),
)

export const importTables: readonly ImportTable[] = Array.from(columnsOf, ([name, columns]) => {
  const names = columns.map((column) => column.name)
  return { name, columns: names, hasSeq: names.includes('seq') }
})

const isNumber = (column: Column) => column.getSQLType() === 'bigint'

/**
 * The process that ran this work has ended. An expired lease indicates that, and the first node that polls settles the
 * work.
 */
const passedLease: Record<string, string> = {
  tasks: `CASE WHEN status = 'processing' AND queued = 0 THEN 0 END`,
  turns: 'CASE WHEN settled_at IS NULL THEN 0 END',
}

const statements = new Map<string, string>(
  Array.from(columnsOf, ([name, columns]) => {
    const names = columns.map((column) => `"${column.name}"`).join(', ')
    const arrays = columns.map((column, at) => `$${at + 1}::${column.getSQLType()}[]`).join(', ')
    const lease = passedLease[name]
    const [into, from] = lease === undefined ? ['', ''] : [`, ${leaseColumn}`, `, ${lease}`]
    return [
      name,
      `INSERT INTO "${name}" (${names}${into}) OVERRIDING SYSTEM VALUE
        SELECT ${names}${from} FROM unnest(${arrays}) AS carried (${names})`,
    ]
  }),
)

export async function insertRows(client: PgClient, name: string, rows: readonly CarriedRow[]): Promise<void> {
  const values = columnsOf.get(name)!.map((_, at) => rows.map((row) => row[at]!))
  await client.query({ name: `import_${name}`, text: statements.get(name)!, values })
}

export async function continueSequences(client: PgClient): Promise<void> {
  for (const { hasSeq, name } of importTables) {
    if (!hasSeq) continue
    const sequence = `pg_get_serial_sequence('"${name}"', 'seq')`
    await client.query(`SELECT setval(${sequence}, max(seq)) FROM "${name}" HAVING max(seq) IS NOT NULL`)
  }
}

const fetchRows = 2000

/** Yields all rows of a table as they were copied, in no particular order. Call within a transaction. */
export async function* readRows(client: PgClient, name: string): AsyncGenerator<CarriedRow> {
  const columns = columnsOf.get(name)!
  const fields = columns.map((column) => `"${column.name}"`).join(', ')
  for await (const row of fetched(client, `SELECT ${fields} FROM "${name}"`)) {
    yield columns.map((column, at) => {
      const value = row[at]!
      if (value === null) return null
      return isNumber(column) ? Number(value) : value
    })
  }
}

/** See `InstallationAtRest.accountSums`. Call within a transaction. */
export async function* readAccountSums(client: PgClient): AsyncGenerator<CarriedRow> {
  for await (const [userId, ...sums] of fetched(client, accountSums)) yield [userId!, ...sums.map(Number)]
}

async function* fetched(client: PgClient, select: string): AsyncGenerator<(string | null)[]> {
  await client.query(`DECLARE import_rows NO SCROLL CURSOR FOR ${select}`)
  for (;;) {
    const { rows } = await client.query({ text: `FETCH ${fetchRows} FROM import_rows`, rowMode: 'array' })
    yield* rows as (string | null)[][]
    if (rows.length < fetchRows) break
  }
  await client.query('CLOSE import_rows')
}
