import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { EpochMs } from '../../../kernel/clock.ts'
import { messageOf } from '../../../kernel/thrown.ts'
import { StoreOpenError } from '../../store-open-error.ts'
import { schemaStateOf, type SchemaState } from '../../applied-migrations.ts'
import { explainPooler, keepFailures, newPool, type PgClient, type PgPool, sendTogether } from './driver.ts'

const require = createRequire(import.meta.url)
const migrationsFolder = fileURLToPath(new URL('../migrations', import.meta.url))
/** Any number that no other program takes a lock by in this database. */
const migrationLock = 7015
const connectionsMax = 10
/** What the connections of nodes and commands are called in pg_stat_activity. */
export const poolName = 'errand'

// Set by a statement, since poolers refuse to start a connection with them. Each statement has an index: a plan that is
// made while a table is empty reads all of it, and stays when it has grown.
const connectionSettings =
  "SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '10s'; SET enable_seqscan = off"

type PoolOptions = {
  name?: string
  /** After so long the server gives a statement up, which it would go on with for a client that has left. 0 for never. */
  statementMsMax?: number
}

/**
 * A pool of connections to the database. One that stays inside a transaction without a word is ended by the server, so
 * that the locks of a node that was cut off do not outlive it by long.
 */
export function openPool(
  databaseUrl: string,
  max = connectionsMax,
  { name = poolName, statementMsMax = 0 }: PoolOptions = {},
): PgPool {
  const pool = newPool({
    connectionString: databaseUrl,
    max,
    application_name: name,
    // Also how long a command waits for its turn while all of them are busy.
    connectionTimeoutMillis: 10_000,
    // A new one is slow at first: it plans each statement anew.
    idleTimeoutMillis: 600_000,
    keepAlive: true,
    // A network that drops idle connections without a word does so after minutes.
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
  })
  // A connection that is lost is replaced when the next one is needed, and what it was doing fails by itself. Without
  // listeners, of the pool for those that are idle and of each connection for the others, it would end the process.
  pool.on('error', ignore)
  pool.on('connect', (client) => {
    client.on('error', ignore)
    keepFailures(client)
    sendTogether(client)
    explainPooler(client)
    client.query(`${connectionSettings}; SET statement_timeout = ${statementMsMax}`).catch(ignore)
  })
  return pool
}

const ignore = () => {}

/** Makes the schema, or brings it up to date; a database that a newer version wrote is refused. */
export async function migrateSchema(pool: PgPool): Promise<void> {
  await withClient(pool, async (client) => {
    await assertDurable(client)
    if ((await schemaState(client)) === 'current') return
    // Nodes that start at once migrate one after the other, and the second finds nothing to do. The lock belongs to
    // the connection, so it ends with it however this ends. It may take longer than any other lock is waited for.
    await client.query('SET lock_timeout = 0; SET statement_timeout = 0')
    await client.query('SELECT pg_advisory_lock($1)', [migrationLock])
    if ((await schemaState(client)) === 'current') return
    const { drizzle } = require('drizzle-orm/node-postgres') as typeof import('drizzle-orm/node-postgres')
    const { migrate } =
      require('drizzle-orm/node-postgres/migrator') as typeof import('drizzle-orm/node-postgres/migrator')
    await migrate(drizzle(client as never), { migrationsFolder })
  })
}

/** Throws unless the schema is the one that this version writes; with `mayCreate` an empty database gets it. */
export async function assertCurrent(pool: PgPool, mayCreate: boolean): Promise<void> {
  let state: SchemaState = 'current'
  await withClient(pool, async (client) => void (state = await schemaState(client)))
  if (state === 'current') return
  if (state === 'empty' && mayCreate) return await migrateSchema(pool)
  throw new StoreOpenError(
    state === 'empty'
      ? 'The database of ERRAND_DATABASE_URL has no tables of Errand.'
      : 'The database was written by an older version of Errand. Start `errand serve` once to migrate it.',
  )
}

/** Throws when the database was written by a newer version. */
export async function schemaState(client: PgClient): Promise<SchemaState> {
  const { rows: tables } = await client.query(`SELECT to_regclass('drizzle.__drizzle_migrations') AS name`)
  if ((tables[0] as { name: string | null }).name === null) return 'empty'
  const { rows } = await client.query('SELECT hash FROM drizzle.__drizzle_migrations ORDER BY created_at')
  const applied = (rows as { hash: string }[]).map(({ hash }) => hash)
  return schemaStateOf(applied, migrationsFolder)
}

/** An answer may rest on a commit only when the server writes commits to its disk before it answers them. */
async function assertDurable(client: PgClient): Promise<void> {
  const { rows } = await client.query(`SELECT current_setting('synchronous_commit') AS value`)
  if ((rows[0] as { value: string }).value !== 'off') return
  throw new StoreOpenError('The database must have synchronous_commit = on; off loses commits that were answered.')
}

/** The newest time that the store holds. */
export async function newestTime(pool: PgPool): Promise<EpochMs> {
  const { rows } = await pool.query(
    `SELECT greatest(
       (SELECT created_at FROM transactions ORDER BY seq DESC LIMIT 1),
       (SELECT greatest(created_at, started_at, completed_at) FROM tasks ORDER BY seq DESC LIMIT 1),
       (SELECT greatest(created_at, settled_at) FROM turns ORDER BY seq DESC LIMIT 1), 0)::float8 AS newest`,
  )
  return (rows[0] as { newest: number }).newest
}

/** Throws in one line that the operator understands. */
export async function connectTo(pool: PgPool): Promise<PgClient> {
  try {
    return await pool.connect()
  } catch (error) {
    // A name with several addresses fails with an error for each, and without a text of its own.
    const first = error instanceof AggregateError && error.message === '' ? (error.errors[0] as unknown) : error
    throw new StoreOpenError(`The database cannot be reached: ${messageOf(first)}`, { cause: error })
  }
}

async function withClient(pool: PgPool, use: (client: PgClient) => Promise<void>): Promise<void> {
  const client = await connectTo(pool)
  try {
    await use(client)
  } finally {
    // Settings and locks of the connection go with it.
    client.release(true)
  }
}
