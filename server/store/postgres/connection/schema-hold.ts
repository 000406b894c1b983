import { createRequire } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { assert } from '../../../kernel/assert.ts'
import { schemaStateOf, type SchemaState } from '../../applied-migrations.ts'
import { assertNotExported, exportedSetting } from '../../transfer/exported-mark.ts'
import { StoreOpenError } from '../../store-open-error.ts'
import { readSetting } from '../setting-rows.ts'
import { connectTo, poolName } from './database.ts'
import { newClient, type PgListener } from './driver.ts'

// Ensures that two schema versions are never in use simultaneously. Every process with an open store holds `useLock`
// in shared mode, on its own connection. A process that migrates at startup takes the lock exclusively, and exits if
// another process holds it. Processes of versions without `useLock` are detected by their connection names and
// leases.
//
//   migrationLock ──▶ schema is current ───────────────────────────────────▶ useLock, shared
//                └──▶ schema is older ──▶ useLock, exclusive ──▶ migrate ──▶ useLock, shared
//
// All of this happens in one transaction under `migrationLock`, so no process can start between the check and the
// migration.

const require = createRequire(import.meta.url)
export const migrationsFolder = fileURLToPath(new URL('../migrations', import.meta.url))
/** Arbitrary numbers that no other program uses for advisory locks in this database. */
const migrationLock = 7015
const useLock = 7017
/** Maximum time to wait for other processes to exit. The database server takes a moment to notice an exit. */
const othersMsMax = 5000
const othersPauseMs = 100
const reconnectMsMax = 5000

export type SchemaHoldOptions = {
  databaseUrl: string
  /** `migrate` creates or updates the schema, and `create` only sets up an empty database. `none` changes nothing. */
  change: 'migrate' | 'create' | 'none'
  mayBeExported?: boolean
  /**
   * Called if the connection and its lock were lost and, in the meantime, another version migrated the schema or the
   * installation was exported.
   */
  onFatal?: ((cause: unknown) => void) | undefined
}

/** Keeps other versions from migrating the schema between `open` and `close`. */
export class SchemaHold {
  readonly #options: SchemaHoldOptions
  #client: PgListener | undefined
  #isClosed = false

  private constructor(options: SchemaHoldOptions) {
    this.#options = options
  }

  static async open(options: SchemaHoldOptions): Promise<SchemaHold> {
    const hold = new SchemaHold(options)
    await hold.#connect(options.change)
    return hold
  }

  /** Sets the connection's name in pg_stat_activity. A reconnect loses the name until the next call. */
  rename(name: string): void {
    this.#client?.query(`SELECT set_config('application_name', $1, false)`, [name]).catch(ignore)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#client?.end().catch(ignore)
  }

  async #connect(change: SchemaHoldOptions['change']): Promise<void> {
    const client = newClient({
      connectionString: this.#options.databaseUrl,
      application_name: 'errand schema',
      connectionTimeoutMillis: 10_000,
      // No timeout, because a starting process must wait for another one to finish migrating.
      query_timeout: 0,
      keepAlive: true,
      pipeline: true,
    })
    let isHeld = false
    client.on('error', ignore)
    client.on('end', () => {
      if (isHeld && !this.#isClosed) void this.#reconnect()
    })
    await connectTo(client)
    try {
      await takeSchema(client, change)
      if (!this.#options.mayBeExported) assertNotExported(await readSetting(client, exportedSetting))
    } catch (error) {
      await client.end().catch(ignore)
      throw error
    }
    if (this.#isClosed) return void client.end().catch(ignore)
    isHeld = true
    this.#client = client
  }

  async #reconnect(): Promise<void> {
    for (let pauseMs = 100; !this.#isClosed; pauseMs = Math.min(2 * pauseMs, reconnectMsMax)) {
      await pause(pauseMs, undefined, { ref: false })
      if (this.#isClosed) return
      try {
        return await this.#connect('none')
      } catch (error) {
        // Stop if another version has migrated the schema or the installation was exported. Any other error means that
        // the server is unreachable, so retry.
        if (error instanceof StoreOpenError && error.cause === undefined) return this.#options.onFatal?.(error)
      }
    }
  }
}

type Queries = Pick<PgListener, 'query'>

async function takeSchema(client: Queries, change: SchemaHoldOptions['change']): Promise<void> {
  // Use session settings, because the migration commits the transaction.
  await client.query('SET lock_timeout = 0; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0')
  await assertDurable(client)
  await client.query('BEGIN')
  // Versions without `useLock` take the same lock to migrate.
  await client.query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
  const state = await schemaState(client)
  if (state === 'current') {
    await client.query('SELECT pg_advisory_lock_shared($1)', [useLock])
    await client.query('COMMIT')
    return
  }
  assertMayChange(state, change)
  if (state === 'older') await assertAlone(client, 'migration')
  await client.query('SELECT pg_advisory_lock_shared($1)', [useLock])
  const { drizzle } = require('drizzle-orm/node-postgres') as typeof import('drizzle-orm/node-postgres')
  const { migrate } =
    require('drizzle-orm/node-postgres/migrator') as typeof import('drizzle-orm/node-postgres/migrator')
  // Drizzle's BEGIN has no effect inside this transaction, and its COMMIT ends the transaction.
  await migrate(drizzle(client as never), { migrationsFolder })
}

function assertMayChange(state: 'empty' | 'older', change: SchemaHoldOptions['change']): void {
  if (change === 'migrate' || (change === 'create' && state === 'empty')) return
  throw new StoreOpenError(
    state === 'empty'
      ? 'The database in ERRAND_DATABASE_URL has no Errand tables. Check the URL, or create them with `errand serve`.'
      : 'The database was written by an older version of Errand. Start `errand serve` once to migrate it.',
  )
}

/** Throws if the database was written by a newer version. */
export async function schemaState(client: Queries): Promise<SchemaState> {
  const { rows: tables } = await client.query(`SELECT to_regclass('drizzle.__drizzle_migrations') AS name`)
  if ((tables[0] as { name: string | null }).name === null) return 'empty'
  const { rows } = await client.query('SELECT hash FROM drizzle.__drizzle_migrations ORDER BY created_at')
  const applied = (rows as { hash: string }[]).map(({ hash }) => hash)
  return schemaStateOf(applied, migrationsFolder)
}

/** Responses are sent after the commit, so the server must not confirm a commit before it is on disk. */
async function assertDurable(client: Queries): Promise<void> {
  const { rows } = await client.query(`SELECT current_setting('synchronous_commit') AS value`)
  if ((rows[0] as { value: string }).value !== 'off') return
  throw new StoreOpenError('The database has synchronous_commit = off and can lose acknowledged commits. Set it to on.')
}

/** Keeps other processes out until this transaction ends. Processes that start in the meantime wait. */
export async function takeAlone(client: Queries): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [migrationLock])
  assert((await schemaState(client)) === 'current', 'the schema is current')
  await assertAlone(client, 'transfer')
}

const inUse = {
  migration: [
    'This version must migrate the database, but an older version of Errand is still using it.',
    'Stop every node and command of the older version, then start this version again.',
  ],
  transfer: ['Errand is using the database.', 'Stop every node and command, then try again.'],
} as const

type Others = { isLocked: boolean; connections: string | null; leaseSeconds: number | null }

/**
 * Waits briefly for other processes to exit, and throws if one still uses the database. Versions without `useLock` read
 * the applied migrations at startup, so the table lock makes them wait until the transaction ends.
 */
async function assertAlone(client: Queries, purpose: keyof typeof inUse): Promise<void> {
  await client.query('LOCK TABLE drizzle.__drizzle_migrations IN ACCESS EXCLUSIVE MODE')
  const until = performance.now() + othersMsMax
  for (;;) {
    const { connections, isLocked, leaseSeconds } = await findOthers(client)
    if (!isLocked && connections === null && leaseSeconds === null) return
    if (performance.now() < until && (isLocked || connections !== null)) {
      await pause(othersPauseMs)
      continue
    }
    const using = connections === null ? '' : ` These connections are open: ${connections}.`
    const leased =
      leaseSeconds === null
        ? ''
        : ` Tasks or chats are leased to a node. If that node has ended without releasing them, the leases expire in ${leaseSeconds} s.`
    const [what, remedy] = inUse[purpose]
    throw new StoreOpenError(`${what}${using}${leased} ${remedy}`)
  }
}

async function findOthers(client: Queries): Promise<Others> {
  // Discard the cached statistics. Otherwise `pg_stat_activity` does not change within this transaction.
  await client.query('SELECT pg_stat_clear_snapshot()')
  const { rows } = await client.query(
    `SELECT NOT pg_try_advisory_xact_lock($1) AS "isLocked",
      (SELECT string_agg(coalesce(host(client_addr), 'local') || ' (' || pids || ')', ', ') FROM (
        SELECT client_addr, 'pid ' || string_agg(pid::text, ', ' ORDER BY pid) AS pids FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND (application_name = $2 OR pid IN (
          SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 0 AND objid = $1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())))
        GROUP BY client_addr) AS hosts) AS connections,
      (SELECT ceil((max(lease_until) - extract(epoch FROM clock_timestamp()) * 1000) / 1000)::float8 FROM (
        SELECT lease_until FROM tasks WHERE lease_until IS NOT NULL AND queued = 0
        UNION ALL SELECT lease_until FROM turns WHERE lease_until IS NOT NULL) AS leases
        WHERE lease_until > extract(epoch FROM clock_timestamp()) * 1000) AS "leaseSeconds"`,
    [useLock, poolName],
  )
  return rows[0] as Others
}

const ignore = () => {}
