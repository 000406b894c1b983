import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { assert } from '../../kernel/assert.ts'
import { makeFolder } from '../../kernel/make-folder.ts'
import { codeOf, messageOf } from '../../kernel/thrown.ts'
import { DataDirInUseError, StoreOpenError } from '../store-open-error.ts'
import { schemaStateOf, type SchemaState } from '../applied-migrations.ts'
import { describeLogDamage, findLogDamage } from './damage/log-damage.ts'
import { writeOwner } from './owner-file.ts'
import { finishRestore, isRestoring } from './restored-files.ts'

const require = createRequire(import.meta.url)

const openWaitMs = 5000
const migrateWaitMs = 10_000
const logBytesMax = 64 * 1_048_576
export const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))

export function databaseFile(dataDir: string): string {
  return join(dataDir, 'errand.db')
}

/** Whether a data directory has a database, even if an interrupted restore has not yet moved it in. */
export function hasDatabase(dataDir: string): boolean {
  return existsSync(databaseFile(dataDir)) || isRestoring(dataDir)
}

/** Opens the database with durable commits. The busy timeout blocks the calling thread. */
export function openConnection(dataDir: string, busyTimeoutMs: number): Database.Database {
  if (isRestoring(dataDir)) {
    throw new StoreOpenError(`A restore to ${dataDir} did not finish. Start \`errand serve\` to complete it.`)
  }
  const logDamage = findLogDamage(databaseFile(dataDir))
  if (logDamage) throw new StoreOpenError(describeLogDamage(logDamage))
  const db = new Database(databaseFile(dataDir), { timeout: openWaitMs })
  try {
    // If two processes switch a new file to WAL at the same time, SQLite fails immediately despite the timeout.
    const isWal = db.pragma('journal_mode', { simple: true }) === 'wal'
    if (!isWal) withLock(dataDir, () => db.pragma('journal_mode = WAL'))
    // better-sqlite3 defaults to NORMAL in WAL mode, which can lose acknowledged commits in a power failure.
    db.pragma('synchronous = FULL')
    db.pragma('foreign_keys = ON')
    // Without this, REPLACE would delete rows without firing the triggers that protect transactions.
    db.pragma('recursive_triggers = ON')
    db.pragma('cache_size = -12000')
    // Every command has a savepoint. Writing its undo pages to a temporary file took a third of a task's admission
    // time.
    db.pragma('temp_store = MEMORY')
    // Checkpoint after 16 MB of log instead of 4 MB, so that frequently changed pages are copied less often.
    db.pragma('wal_autocheckpoint = 4000')
    // Limit the log file, which grows during a long read such as a ledger check. Every start after a crash reads the
    // whole file.
    db.pragma(`journal_size_limit = ${logBytesMax}`)
    assert(db.pragma('journal_mode', { simple: true }) === 'wal', 'the database is in WAL mode')
    assert(db.pragma('synchronous', { simple: true }) === 2, 'synchronous is FULL')
    db.pragma(`busy_timeout = ${busyTimeoutMs}`)
  } catch (error) {
    db.close()
    throw new StoreOpenError(
      `Could not open the database ${databaseFile(dataDir)} (${messageOf(error)}). Run errand doctor.`,
    )
  }
  return db
}

/**
 * Makes this process the owner of the data directory until it calls `release` or exits. The lock is on a separate file,
 * so that CLI commands can still open the database for short writes. Also completes an interrupted restore.
 */
export function lockDataDir(dataDir: string): { release: () => void } {
  makeFolder(dataDir)
  const lock = new Database(join(dataDir, 'server.lock'), { timeout: 500 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
    finishRestore(dataDir)
    writeOwner(dataDir)
  } catch (error) {
    lock.close()
    throw codeOf(error) === 'SQLITE_BUSY' ? new DataDirInUseError(dataDir) : error
  }
  return { release: () => lock.close() }
}

/** Throws if the database was written by a newer version. */
export function schemaState(db: Database.Database): SchemaState {
  const table = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = '__drizzle_migrations'`).get()
  if (!table) return 'empty'
  const applied = db.prepare('SELECT hash FROM __drizzle_migrations ORDER BY created_at').pluck().all()
  return schemaStateOf(applied, migrationsFolder)
}

/**
 * Migrates the schema. A separate lock keeps a server and a CLI command from creating the same database at the same
 * time.
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
  // A migration that recreates a table disables foreign keys inside its transaction, where that has no effect. Unless
  // they are disabled here, the migration fails or deletes child rows.
  db.pragma('foreign_keys = OFF')
  try {
    migrate(drizzle(db), { migrationsFolder })
    const broken = db.pragma('foreign_key_check')
    assert(Array.isArray(broken) && broken.length === 0, 'a migration leaves no row without its parent')
  } finally {
    db.pragma('foreign_keys = ON')
  }
}
