import type { EpochMs } from '../../../kernel/clock.ts'
import { messageOf } from '../../../kernel/thrown.ts'
import { StoreOpenError } from '../../store-open-error.ts'
import { explainPooler, keepFailures, newPool, type PgPool, sendTogether } from './driver.ts'

const connectionsMax = 10
/** Connection name of nodes and CLI commands in pg_stat_activity. */
export const poolName = 'errand'

// A statement sets these, because connection poolers reject them as startup parameters. Sequential scans are off
// because every statement has an index. Otherwise a plan made for an empty table would still scan the whole table after
// it has grown.
const connectionSettings =
  "SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '10s'; SET enable_seqscan = off"

type PoolOptions = {
  name?: string
  /**
   * Statement timeout of the server, or 0 for none. Without a timeout, the server would keep running the statements of
   * disconnected clients.
   */
  statementMsMax?: number
}

/**
 * Opens a connection pool. The server closes connections that are idle in a transaction, so that a disconnected node's
 * locks are released soon.
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
    // Also limits how long a command waits while all connections are busy.
    connectionTimeoutMillis: 10_000,
    // A new connection is slow at first, because it must plan each statement again.
    idleTimeoutMillis: 600_000,
    keepAlive: true,
    // Some networks silently drop connections that are idle for several minutes.
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
  })
  // A lost connection needs no handling: its queries fail, and the pool replaces it. Without listeners, however, the
  // loss would crash the process. The pool's listener covers idle connections, and the client's covers those in use.
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

export async function newestTime(pool: PgPool): Promise<EpochMs> {
  const { rows } = await pool.query(
    `SELECT greatest(
       (SELECT created_at FROM transactions ORDER BY seq DESC LIMIT 1),
       (SELECT greatest(created_at, started_at, completed_at) FROM tasks ORDER BY seq DESC LIMIT 1),
       (SELECT greatest(created_at, settled_at) FROM turns ORDER BY seq DESC LIMIT 1), 0)::float8 AS newest`,
  )
  return (rows[0] as { newest: number }).newest
}

/** Throws a one-line error for the operator if it cannot connect. */
export async function connectTo<Client>(to: { connect(): Promise<Client> }): Promise<Client> {
  try {
    return await to.connect()
  } catch (error) {
    // If a host name has several IP addresses, the driver throws an AggregateError without a message.
    const first = error instanceof AggregateError && error.message === '' ? (error.errors[0] as unknown) : error
    throw new StoreOpenError(`Could not reach the database (${messageOf(first)}). Check ERRAND_DATABASE_URL.`, {
      cause: error,
    })
  }
}
