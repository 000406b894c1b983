import type { EpochMs } from '../../../kernel/clock.ts'
import { messageOf } from '../../../kernel/thrown.ts'
import { StoreOpenError } from '../../store-open-error.ts'
import { explainPooler, keepFailures, newPool, type PgPool, sendTogether } from './driver.ts'

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
export async function connectTo<Client>(to: { connect(): Promise<Client> }): Promise<Client> {
  try {
    return await to.connect()
  } catch (error) {
    // A name with several addresses fails with an error for each, and without a text of its own.
    const first = error instanceof AggregateError && error.message === '' ? (error.errors[0] as unknown) : error
    throw new StoreOpenError(`The database cannot be reached: ${messageOf(first)}`, { cause: error })
  }
}
