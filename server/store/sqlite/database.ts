import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { assert } from '../../kernel/assert.ts'
import { makeFolder } from '../../kernel/make-folder.ts'
import { StoreOpenError } from '../store-open-error.ts'
import { describeLogDamage, findLogDamage } from './log-damage.ts'
import { readMigrationFiles, drizzle, type BetterSQLite3Database, migrate } from './drizzle.ts'

export type Connection = { raw: Database.Database; orm: BetterSQLite3Database }

const openWaitMs = 5000
const migrateWaitMs = 10_000
const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))

export function databaseFile(dataDir: string): string {
  return join(dataDir, 'errand.db')
}

/** Opens the database with the settings that durability rests on. `busyTimeoutMs` blocks the calling thread. */
export function openConnection(dataDir: string, busyTimeoutMs: number): Connection {
  const logDamage = findLogDamage(databaseFile(dataDir))
  if (logDamage) throw new StoreOpenError(describeLogDamage(logDamage))
  const raw = new Database(databaseFile(dataDir), { timeout: openWaitMs })
  try {
    // Two that switch a new file to WAL at the same moment are refused by SQLite at once, however long they would wait.
    const isWal = raw.pragma('journal_mode', { simple: true }) === 'wal'
    if (!isWal) withLock(dataDir, () => raw.pragma('journal_mode = WAL'))
    // better-sqlite3 is built with NORMAL in WAL mode, which loses acknowledged commits when the power fails.
    raw.pragma('synchronous = FULL')
    raw.pragma('foreign_keys = ON')
    // Without it a REPLACE deletes rows past the triggers that keep transactions as they are.
    raw.pragma('recursive_triggers = ON')
    raw.pragma('cache_size = -12000')
    // Every command has a savepoint, whose undo pages would go through a temporary file: a third of the time of a
    // submission.
    raw.pragma('temp_store = MEMORY')
    // Hot pages are copied into the database once per 16 MB of log instead of once per 4 MB.
    raw.pragma('wal_autocheckpoint = 4000')
    assert(raw.pragma('journal_mode', { simple: true }) === 'wal', 'the database is in WAL mode')
    assert(raw.pragma('synchronous', { simple: true }) === 2, 'synchronous is FULL')
    raw.pragma(`busy_timeout = ${busyTimeoutMs}`)
  } catch (error) {
    raw.close()
    throw new StoreOpenError(`The database ${databaseFile(dataDir)} cannot be opened: ${messageOf(error)}`)
  }
  return { raw, orm: drizzle(raw) }
}

/**
 * Makes this process the owner of the data directory until `release` or its death, by an exclusive lock on a file of
 * its own; the database itself stays open to the command line's short writes.
 */
export function lockDataDir(dataDir: string): { release: () => void } {
  makeFolder(dataDir)
  const lock = new Database(join(dataDir, 'server.lock'), { timeout: 500 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') {
      throw new StoreOpenError(
        `Another Errand server is running on the data directory ${dataDir}; stop it, or name another with --data.`,
      )
    }
    throw error
  }
  return { release: () => lock.close() }
}

/** How many of this version's migrations the database has; throws when it was written by a newer version. */
export function schemaState(raw: Database.Database): 'empty' | 'older' | 'current' {
  const known = readMigrationFiles({ migrationsFolder })
  const table = raw.prepare(`SELECT 1 FROM sqlite_schema WHERE name = '__drizzle_migrations'`).get()
  if (!table) return 'empty'
  const applied = raw.prepare('SELECT hash FROM __drizzle_migrations ORDER BY created_at').pluck().all()
  if (applied.length > known.length || applied.some((hash, index) => hash !== known[index]!.hash)) {
    throw new StoreOpenError('The database was written by another, newer version of Errand. Run that version.')
  }
  return applied.length === 0 ? 'empty' : applied.length < known.length ? 'older' : 'current'
}

/**
 * Brings the schema up to date. Under a lock of its own, for which it waits: a server and commands that find the same
 * empty folder each make the database, one after the other.
 */
export function migrateSchema(connection: Connection, dataDir: string): void {
  if (schemaState(connection.raw) === 'current') return
  withLock(dataDir, () => applyMigrations(connection))
}

function withLock(dataDir: string, work: () => void): void {
  const lock = new Database(join(dataDir, 'migrate.lock'), { timeout: migrateWaitMs })
  try {
    lock.exec('BEGIN EXCLUSIVE')
    work()
  } finally {
    lock.close()
  }
}

function applyMigrations({ raw, orm }: Connection): void {
  if (schemaState(raw) === 'current') return
  // A migration that recreates a table turns foreign keys off inside its own transaction, where that does nothing, so
  // the children would be lost or the migration would fail.
  raw.pragma('foreign_keys = OFF')
  try {
    migrate(orm, { migrationsFolder })
    const broken = raw.pragma('foreign_key_check')
    assert(Array.isArray(broken) && broken.length === 0, 'no row lost its parent in a migration')
  } finally {
    raw.pragma('foreign_keys = ON')
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
