import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import { StoreOpenError } from '../../store-open-error.ts'
import { databaseFile } from '../database.ts'
import { findDamage } from './find-damage.ts'

/**
 * Maximum size of a database that is checked before the service starts. The check takes 4 ms of CPU time per megabyte:
 * at most 0.15 s up to this size, but 5 s for a million tasks. `quick_check` takes a quarter of the time, but does not
 * detect a task that is missing from an index.
 */
const foregroundBytesMax = 32 * 1_048_576

/**
 * Throws if the database is damaged. A large database is instead checked while the service runs, by the thread that
 * verifies the ledger. If that thread finds damage, the next start checks the database here, regardless of its size.
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
    // Without this file, the next start serves requests from a large database until the thread finds the damage again.
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
