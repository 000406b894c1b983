import Database from 'better-sqlite3'
import { existsSync, statSync } from 'node:fs'
import { messageOf } from '../../kernel/thrown.ts'
import type { LedgerReport } from '../ledger/ledger-report.ts'
import { payloadRecord, type PayloadRow } from '../tasks/task-reads.ts'
import type { PayloadRecord } from '../tasks/task-types.ts'
import { StoreOpenError } from '../store-open-error.ts'
import { findDamage } from './damage/find-damage.ts'
import { damaged } from './damage/integrity-check.ts'
import { describeLogDamage, findLogDamage } from './damage/log-damage.ts'
import { verifyLedger } from './damage/verify-ledger.ts'
import { databaseFile, schemaState } from './database.ts'

/** Data that can be read from a database file without changing it, even while a server is running. */
export type DatabaseFacts = {
  schema: 'empty' | 'older' | 'current'
  /** `wal` if a server has ever opened the database. */
  journalMode: string
  walBytes: number
  newestAt: number | undefined
  setting: (name: string) => string | undefined
}

/** Returns undefined if the database does not exist. Throws if it cannot be read. */
export function inspectDatabase(dataDir: string): DatabaseFacts | undefined {
  const file = databaseFile(dataDir)
  if (!existsSync(file)) return undefined
  let db: Database.Database | undefined
  try {
    db = new Database(file, { readonly: true, timeout: 5000 })
    const schema = schemaState(db)
    const hasSettings = hasTable(db, 'settings')
    const newest = hasTable(db, 'transactions')
      ? db.prepare('SELECT max(created_at) FROM transactions').pluck().get()
      : null
    const settings = hasSettings ? db.prepare<[], { name: string; value: string }>('SELECT * FROM settings').all() : []
    return {
      schema,
      journalMode: String(db.pragma('journal_mode', { simple: true })),
      walBytes: statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
      newestAt: typeof newest === 'number' ? newest : undefined,
      setting: (name) => settings.find((row) => row.name === name)?.value,
    }
  } catch (error) {
    throw new Error(`Could not read ${file} (${messageOf(error)}). Check its permissions.`, { cause: error })
  } finally {
    db?.close()
  }
}

/**
 * Reads the whole database file and its log. If either is damaged, throws the error that a server would throw at
 * startup.
 */
export function assertUndamaged(dataDir: string): void {
  const file = databaseFile(dataDir)
  const logDamage = findLogDamage(file)
  if (logDamage) throw new StoreOpenError(describeLogDamage(logDamage))
  const damage = readOnly(file, findDamage)
  if (damage !== undefined) throw damaged(dataDir, damage)
}

/** Verifies the ledger without changing the database. The schema must be current. */
export function inspectLedger(dataDir: string): LedgerReport {
  return readOnly(databaseFile(dataDir), (db) => verifyLedger(db))
}

export function* payloadsIn(file: string): Iterable<PayloadRecord> {
  const db = new Database(file, { readonly: true })
  try {
    const rows = db.prepare<[], PayloadRow>('SELECT id, bytes, sha256 FROM payloads').iterate()
    for (const row of rows) yield payloadRecord(row)
  } finally {
    db.close()
  }
}

function readOnly<Value>(file: string, read: (db: Database.Database) => Value): Value {
  const db = new Database(file, { readonly: true, timeout: 5000 })
  try {
    return read(db)
  } finally {
    db.close()
  }
}

function hasTable(db: Database.Database, name: string): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== undefined
}
