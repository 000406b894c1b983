import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import { StoreOpenError } from '../../store-open-error.ts'
import { databaseFile } from '../database.ts'
import { findDamage } from './find-damage.ts'

/**
 * Max size of a database that is checked before the service starts. A megabyte costs 4 ms of CPU time: at most 0.15 s
 * before the service answers, 5 s for a million tasks. A check without indexes (`quick_check`) costs a quarter, but
 * misses a task that is missing in an index.
 */
const foregroundBytesMax = 32 * 1_048_576

/**
 * Rejects a damaged database before any of it is served. A large database is checked while it is being served, in the
 * thread that verifies the ledger. Damage found there is recorded, so that the next start first runs the check, however
 * long it takes.
 */
export function checkAtStart(db: Database, dataDir: string): void {
  const isSuspect = existsSync(noteFile(dataDir))
  if (!isSuspect && sizeOf(db.name) + sizeOf(`${db.name}-wal`) > foregroundBytesMax) return
  const damage = findDamage(db)
  if (damage !== undefined) throw damaged(dataDir, damage)
  if (isSuspect) rmSync(noteFile(dataDir), { force: true })
}

export function noteDamage(dataDir: string, damage: string): StoreOpenError {
  try {
    writeFileSync(noteFile(dataDir), `${damage}\n`, { mode: 0o600 })
  } catch {
    // The next start then serves until its own check ends.
  }
  return damaged(dataDir, damage)
}

export function damaged(dataDir: string, damage: string): StoreOpenError {
  return new StoreOpenError(`The database ${databaseFile(dataDir)} is damaged (${damage}). Restore a backup.`)
}

function noteFile(dataDir: string): string {
  return `${databaseFile(dataDir)}.damaged`
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
