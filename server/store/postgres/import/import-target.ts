import { setTimeout as pause } from 'node:timers/promises'
import { RowDigest, type CarriedRow } from '../../carried-rows.ts'
import { StoreOpenError } from '../../store-open-error.ts'
import type { LedgerReport } from '../../store.ts'
import { connectTo, openPool, poolName } from '../connection/database.ts'
import type { PgClient, PgPool } from '../connection/driver.ts'
import { SchemaHold, schemaState } from '../connection/schema-hold.ts'
import {
  continueSequences,
  importTables,
  insertRows,
  readAccountSums,
  readRows,
  type ImportTable,
} from './import-tables.ts'
import { codeOf } from '../connection/pg-errors.ts'
import { migrationSetting, readSetting, replaceSetting } from '../setting-rows.ts'
import { verifyLedger } from '../verify-ledger.ts'

// A database into which an installation is copied.
//
//   empty ──▶ begun ──▶ filled and proven ──▶ done ──▶ served
//               ▲  │ interrupted
//               └──┴ emptied
//
// Between `begun` and `done` no node or command opens it, so all of its content is a copy and may be deleted.

/** Arbitrary number that no other program uses for a lock in this database. */
const importLock = 7016
const lockNotAvailable = '55P03'
/** Distinguishes the import's connections from those of nodes. */
const ownName = 'errand migrate-to'
const triesMax = 20

export class ImportTarget {
  readonly #pool: PgPool
  readonly #client: PgClient
  readonly #schema: SchemaHold

  private constructor({ client, pool, schema }: { pool: PgPool; client: PgClient; schema: SchemaHold }) {
    this.#pool = pool
    this.#client = client
    this.#schema = schema
  }

  /**
   * Throws, leaving the database unchanged, if it is not empty or is in use. With `isAgain`, an import must have been
   * started in it.
   */
  static async open(databaseUrl: string, { isAgain }: { isAgain: boolean }): Promise<ImportTarget> {
    const pool = openPool(databaseUrl, 2, { name: ownName })
    try {
      const client = await connectTo(pool)
      try {
        const schema = await prepare(client, { databaseUrl, isAgain })
        return new ImportTarget({ pool, client, schema })
      } catch (error) {
        client.release(true)
        throw error
      }
    } catch (error) {
      await pool.end()
      throw error
    }
  }

  /** Tables in the order in which they must be filled. */
  get tables(): readonly ImportTable[] {
    return importTables
  }

  async insert(table: string, rows: readonly CarriedRow[]): Promise<void> {
    await insertRows(this.#client, table, rows)
  }

  /** Stores a setting that belongs to the rows and is therefore copied with them. */
  async keepSetting(name: string, value: string): Promise<void> {
    await replaceSetting(this.#client, name, value)
  }

  /** Call this after the last row. Returns the number of queued tasks. */
  async complete(): Promise<{ queued: number }> {
    await continueSequences(this.#client)
    await this.#client.query('ANALYZE')
    const { rows } = await this.#client.query(
      'SELECT count(*)::float8 AS queued FROM tasks WHERE completed_at IS NULL AND queued = 1',
    )
    return rows[0] as { queued: number }
  }

  async read(use: (rows: TargetRows) => Promise<void>): Promise<void> {
    const client = this.#client
    const digest = async (rows: AsyncIterable<CarriedRow>) => {
      const digested = new RowDigest()
      for await (const row of rows) digested.add(row)
      return digested
    }
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    try {
      await use({
        table: (name) => digest(readRows(client, name)),
        accountSums: () => digest(readAccountSums(client)),
      })
    } finally {
      await client.query('ROLLBACK')
    }
  }

  verifyLedger(): Promise<LedgerReport> {
    return verifyLedger(this.#client)
  }

  /** Allows nodes that have the secret behind `secretCheck` to serve the database. */
  async finish(secretCheck: string): Promise<void> {
    // A commit that waits for the disk also makes all earlier commits durable.
    await this.#client.query('SET synchronous_commit = on')
    await this.#client.query('BEGIN')
    await replaceSetting(this.#client, 'secret', secretCheck)
    await replaceSetting(this.#client, migrationSetting, 'done')
    await this.#client.query('COMMIT')
  }

  async close(): Promise<void> {
    this.#client.release(true)
    await this.#pool.end()
    await this.#schema.close()
  }
}

export type TargetRows = { table(name: string): Promise<RowDigest>; accountSums(): Promise<RowDigest> }

async function prepare(
  client: PgClient,
  { databaseUrl, isAgain }: { databaseUrl: string; isAgain: boolean },
): Promise<SchemaHold> {
  for (const setting of ['statement_timeout = 0', 'idle_in_transaction_session_timeout = 0']) {
    await client.query(`SET ${setting}`)
  }
  await lock(client)
  const isBegun = await assertEmptyOrBegun(client)
  if (isAgain && !isBegun) {
    throw new StoreOpenError(
      'The installation was moved to another database; this one has only its state before the move.',
    )
  }
  await assertNobodyThere(client)
  const schema = await SchemaHold.open({ databaseUrl, change: 'migrate' })
  try {
    await replaceSetting(client, migrationSetting, 'begun')
    await assertUnopened(client, isBegun)
    await empty(client)
    await client.query('SET synchronous_commit = off')
    return schema
  } catch (error) {
    await schema.close()
    throw error
  }
}

/** Detects a node that opened the database before it was marked. A node that opens it later sees the mark. */
async function assertUnopened(client: PgClient, isBegun: boolean): Promise<void> {
  try {
    await assertNobodyThere(client)
  } catch (error) {
    if (!isBegun) await client.query('DELETE FROM settings WHERE name = $1', [migrationSetting])
    throw error
  }
}

/** Holds the import lock until the connection ends. The connection of a killed process ends a few moments later. */
async function lock(client: PgClient): Promise<void> {
  try {
    await client.query('SELECT pg_advisory_lock($1)', [importLock])
  } catch (error) {
    if (codeOf(error) !== lockNotAvailable) throw error
    throw new StoreOpenError('Another `errand migrate-to` is filling this database.')
  }
}

/** Throws unless the database is empty or an import was started in it. Returns whether one was. */
async function assertEmptyOrBegun(client: PgClient): Promise<boolean> {
  const tables = [...importTables.map(({ name }) => name), 'payload_parts', 'settings', 'probes']
  if ((await schemaState(client)) === 'empty') {
    const found = await firstOf(tables, async (name) => {
      const { rows } = await client.query('SELECT to_regclass($1) AS name', [`"${name}"`])
      return (rows[0] as { name: string | null }).name !== null
    })
    if (found === undefined) return false
    throw new StoreOpenError(`The database has a table "${found}" of another program. Choose an empty database.`)
  }
  const migration = await readSetting(client, migrationSetting)
  if (migration === 'begun') return true
  const found = await firstOf(tables.slice(0, -2), async (name) => {
    const { rows } = await client.query(`SELECT EXISTS (SELECT 1 FROM "${name}") AS found`)
    return (rows[0] as { found: boolean }).found
  })
  if (found === undefined) return false
  throw new StoreOpenError(
    migration === 'done'
      ? 'An installation was already moved to this database. Choose an empty database.'
      : `The database already has data in the table "${found}". Choose an empty database.`,
  )
}

async function firstOf(names: readonly string[], is: (name: string) => Promise<boolean>): Promise<string | undefined> {
  for (const name of names) if (await is(name)) return name
  return undefined
}

async function assertNobodyThere(client: PgClient): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { rows } = await client.query(
      `SELECT count(*)::float8 AS count FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = $1`,
      [poolName],
    )
    const { count } = rows[0] as { count: number }
    if (count === 0) return
    if (tries === triesMax) {
      throw new StoreOpenError(`Errand is using the database with ${count} connections. Stop its nodes first.`)
    }
    // The server takes a moment to notice that a process has ended.
    await pause(100)
  }
}

/** Deletes the rows that an interrupted import left. */
async function empty(client: PgClient): Promise<void> {
  const names = [...importTables.map(({ name }) => `"${name}"`), 'session_totals', 'payload_parts']
  await client.query('BEGIN')
  await client.query('ALTER TABLE transactions DISABLE TRIGGER transactions_no_truncate')
  await client.query(`TRUNCATE ${names.join(', ')} RESTART IDENTITY`)
  await client.query('ALTER TABLE transactions ENABLE TRIGGER transactions_no_truncate')
  await client.query('DELETE FROM settings WHERE name <> $1', [migrationSetting])
  await client.query('COMMIT')
}
