import Database from 'better-sqlite3'
import { existsSync, lstatSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { secretSetting } from '../access/secret-check.ts'
import type { LedgerReport } from '../ledger/ledger-report.ts'
import { assertNotExported, exportedSetting } from '../transfer/exported-mark.ts'
import { StoreOpenError } from '../store-open-error.ts'
import { findDamage } from './damage/find-damage.ts'
import { verifyLedger } from './damage/verify-ledger.ts'
import { databaseFile, lockDataDir, migrateSchema, openConnection, schemaState } from './database.ts'
import { keepPrivate } from './private-files.ts'
import { commitRestore, finishRestore, newRestoreFolder } from './restored-files.ts'
import { assertUsable } from './usable-folder.ts'

const idsMax = 100

/** Open work in a backup. The original installation may since have completed it. `ids` contains the first 100. */
type OpenRows = { count: number; ids: string[] }

export type RestoredFacts = {
  ledger: LedgerReport
  isMigrated: boolean
  newestAt: number | null
  secretCheck: string | undefined
  hasPayments: boolean
  queuedTasks: OpenRows
  runningTasks: OpenRows
  openTurns: OpenRows
  unpaidTopups: OpenRows
  pendingDeliveries: number
  pendingMails: number
}

/** Locks a data directory for a restore. Throws if it already has a database, unless `replaces` is set. */
export function lockForRestore(dataDir: string, replaces: boolean): { folder: string; release: () => void } {
  if (existsSync(dataDir)) assertUsable(dataDir)
  const lock = lockDataDir(dataDir)
  try {
    if (!replaces && existsSync(databaseFile(dataDir))) {
      throw new StoreOpenError(
        `${dataDir} already has a database. Add --replace to move it to a subfolder, or choose another folder with --data.`,
      )
    }
    const payloads = lstatSync(join(dataDir, 'payloads'), { throwIfNoEntry: false })
    if (payloads?.isDirectory() && payloads.dev !== statSync(dataDir).dev) {
      throw new StoreOpenError(
        `${join(dataDir, 'payloads')} is a separate file system and cannot be replaced. Restore to another folder with --data, then copy its contents to ${dataDir}.`,
      )
    }
    const litestream = join(dataDir, '.errand.db-litestream')
    if (existsSync(litestream)) {
      throw new StoreOpenError(
        `${litestream} describes the old database. Stop Litestream and delete this folder first.`,
      )
    }
    return { folder: newRestoreFolder(dataDir), release: lock.release }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Checks the copy of the backup `name` in `folder`, and migrates it if an older version of Errand wrote it. */
export function checkRestored(folder: string, name: string): RestoredFacts {
  const damage = damageOf(databaseFile(folder))
  if (damage !== undefined) throw new StoreOpenError(`${name} is damaged (${damage}). Restore another backup.`)
  const db = openConnection(folder, 0)
  try {
    const schema = schemaState(db)
    if (schema === 'empty') throw new StoreOpenError(`${name} is not a backup. Create one with errand backup.`)
    migrateSchema(db, folder)
    const setting = (key: string) => db.prepare('SELECT value FROM settings WHERE name = ?').pluck().get(key) as string
    assertNotExported(setting(exportedSetting))
    const ledger = verifyLedger(db)
    const [difference] = ledger.differences
    if (difference) {
      const { actual, expected, what } = difference
      throw new StoreOpenError(
        `The ledger in ${name} is not consistent: the check "${what}" expected ${expected} and found ${actual}. Restore another backup.`,
      )
    }
    const count = (sql: string) => db.prepare<[], number>(`SELECT count(*) FROM ${sql}`).pluck().get() ?? 0
    const open = (rows: string): OpenRows => ({
      count: count(rows),
      ids: db.prepare<[], string>(`SELECT id FROM ${rows} LIMIT ${idsMax}`).pluck().all(),
    })
    return {
      ledger,
      isMigrated: schema === 'older',
      newestAt: db.prepare<[], number | null>('SELECT max(created_at) FROM transactions').pluck().get() ?? null,
      secretCheck: setting(secretSetting),
      hasPayments: count('topups') > 0,
      queuedTasks: open('tasks WHERE queued = 1 AND completed_at IS NULL'),
      runningTasks: open('tasks WHERE queued = 0 AND completed_at IS NULL'),
      openTurns: open('turns WHERE settled_at IS NULL'),
      unpaidTopups: open(`topups WHERE status = 'open'`),
      pendingDeliveries: count('deliveries WHERE due_at IS NOT NULL'),
      pendingMails: count('mails WHERE due_at IS NOT NULL'),
    }
  } finally {
    db.close()
  }
}

/** Moves the checked database and its payloads into place. Returns the folder of the old database, if there was one. */
export function placeRestored(dataDir: string, folder: string): string | undefined {
  commitRestore(dataDir, folder)
  const kept = finishRestore(dataDir)
  keepPrivate(dataDir)
  return kept
}

function damageOf(file: string): string | undefined {
  const db = new Database(file, { readonly: true })
  try {
    return findDamage(db)
  } finally {
    db.close()
  }
}
