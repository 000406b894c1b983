import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { assert } from '../../kernel/assert.ts'
import { makeFolder } from '../../kernel/make-folder.ts'
import { codeOf, messageOf } from '../../kernel/thrown.ts'
import { StoreOpenError } from '../store-open-error.ts'
import { schemaStateOf, type SchemaState } from '../applied-migrations.ts'
import { describeLogDamage, findLogDamage } from './damage/log-damage.ts'

const require = createRequire(import.meta.url)

const openWaitMs = 5000
const migrateWaitMs = 10_000
export const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))

export function databaseFile(dataDir: string): string {
  return join(dataDir, 'errand.db')
}

/** Opens the database with the settings that make commits durable. `busyTimeoutMs` blocks the calling thread. */
export function openConnection(dataDir: string, busyTimeoutMs: number): Database.Database {
  const logDamage = findLogDamage(databaseFile(dataDir))
  if (logDamage) throw new StoreOpenError(describeLogDamage(logDamage))
  const db = new Database(databaseFile(dataDir), { timeout: openWaitMs })
  try {
    // If two processes switch a new file to WAL simultaneously, SQLite fails immediately, whatever their timeout.
    const isWal = db.pragma('journal_mode', { simple: true }) === 'wal'
    if (!isWal) withLock(dataDir, () => db.pragma('journal_mode = WAL'))
    // better-sqlite3 is built with NORMAL in WAL mode, which loses acknowledged commits in a power failure.
    db.pragma('synchronous = FULL')
    db.pragma('foreign_keys = ON')
    // Without this, REPLACE deletes rows without firing the triggers that protect transactions.
    db.pragma('recursive_triggers = ON')
    db.pragma('cache_size = -12000')
    // Every command has a savepoint, whose undo pages would otherwise go through a temporary file. That took a third of
    // the time of a submission.
    db.pragma('temp_store = MEMORY')
    // Copy frequently changed pages into the database once per 16 MB of log instead of once per 4 MB.
    db.pragma('wal_autocheckpoint = 4000')
    assert(db.pragma('journal_mode', { simple: true }) === 'wal', 'the database is in WAL mode')
    assert(db.pragma('synchronous', { simple: true }) === 2, 'synchronous is FULL')
    db.pragma(`busy_timeout = ${busyTimeoutMs}`)
  } catch (error) {
    db.close()
    throw new StoreOpenError(`The database ${databaseFile(dataDir)} cannot be opened: ${messageOf(error)}`)
  }
  return db
}

/**
 * Makes this process the owner of the data directory until `release` or its death, by an exclusive lock on a separate
 * file. CLI commands can still open the database itself for short writes.
 */
export function lockDataDir(dataDir: string): { release: () => void } {
  makeFolder(dataDir)
  const lock = new Database(join(dataDir, 'server.lock'), { timeout: 500 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (codeOf(error) === 'SQLITE_BUSY') {
      throw new StoreOpenError(
        `Another Errand server is running on the data directory ${dataDir}. Stop it, or choose another directory with --data.`,
      )
    }
    throw error
  }
  return { release: () => lock.close() }
}

/** Throws if a newer version wrote the database. */
export function schemaState(db: Database.Database): SchemaState {
  const table = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = '__drizzle_migrations'`).get()
  if (!table) return 'empty'
  const applied = db.prepare('SELECT hash FROM __drizzle_migrations ORDER BY created_at').pluck().all()
  return schemaStateOf(applied, migrationsFolder)
}

/**
 * Brings the schema up to date. Waits for a separate lock, so that a server and CLI commands do not create the same
 * database simultaneously.
 */
export function migrateSchema(db: Database.Database, dataDir: string): void {
  if (schemaState(db) === 'current') return
  withLock(dataDir, () => applyMigrations(db))
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

function applyMigrations(db: Database.Database): void {
  if (schemaState(db) === 'current') return
  const { drizzle } = require('drizzle-orm/better-sqlite3') as typeof import('drizzle-orm/better-sqlite3')
  const { migrate } =
    require('drizzle-orm/better-sqlite3/migrator') as typeof import('drizzle-orm/better-sqlite3/migrator')
  // A migration that recreates a table turns foreign keys off inside its own transaction, where that has no effect.
  // Without the next line, child rows would be lost, or the migration would fail.
  db.pragma('foreign_keys = OFF')
  try {
    migrate(drizzle(db), { migrationsFolder })
    const broken = db.pragma('foreign_key_check')
    assert(Array.isArray(broken) && broken.length === 0, 'a migration leaves no row without its parent')
  } finally {
    db.pragma('foreign_keys = ON')
  }
}
