import type { Database } from 'better-sqlite3'
import { statSync } from 'node:fs'
import type { Clock } from '../../kernel/clock.ts'
import { makeFolder } from '../../kernel/make-folder.ts'
import { peopleStore } from '../access/people-store.ts'
import { readLedger } from '../accounts/whole-ledger.ts'
import { readOpen } from '../commands/state-rows.ts'
import { workStore } from '../commands/work-store.ts'
import type { Committed } from '../committed.ts'
import { assertNotExported, exportedSetting } from '../transfer/exported-mark.ts'
import { StoreOpenError } from '../store-open-error.ts'
import type { Store, StoreLimits } from '../store.ts'
import { SqliteEngine } from './command-engine.ts'
import { Counters } from './counters.ts'
import { databaseFile, hasDatabase, lockDataDir, migrateSchema, openConnection, schemaState } from './database.ts'
import { isDamage } from './damage/find-damage.ts'
import { GroupCommit } from './group-commit.ts'
import { checkAtStart, damaged, noteDamage } from './damage/integrity-check.ts'
import { LedgerCheck } from './damage/ledger-check.ts'
import { Ledger } from './ledger.ts'
import { readOwner } from './owner-file.ts'
import { describeClosed, keepPrivate } from './private-files.ts'
import { RateWindow } from './rate-window.ts'
import { nextTasks } from './next-tasks.ts'
import { settingRows } from './setting-rows.ts'
import { UsedOfLimits } from './used-of-limits.ts'
import { assertUsable } from './usable-folder.ts'

type SqliteStoreOptions = {
  dataDir: string
  limits: StoreLimits
  /** Creates the clock. `notBefore` is the newest stored time, so that time does not run backwards after a restart. */
  clock: (notBefore: number) => Clock
  /** Called once if the database is damaged or its content on disk is unknown. The process must then exit. */
  onFatal: (cause: unknown) => void
  onCommit?: (commit: Committed) => void
  /** Receives one-line messages about the data directory for the operator. */
  onWarning?: (message: string) => void
}

/** Opens the store for the server that owns the data directory. Locks the directory and migrates the schema. */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const { dataDir } = options
  return inPrivate(options, () => {
    const lock = lockDataDir(dataDir)
    try {
      // Keep the busy timeout short, because it blocks every request. The group commit waits for the write lock without
      // blocking.
      const db = openConnection(dataDir, 5)
      return orClose(db, dataDir, () => {
        checkAtStart(db, dataDir)
        migrateSchema(db, dataDir)
        return composeStore(db, options, lock.release)
      })
    } catch (error) {
      lock.release()
      throw error
    }
  })
}

/**
 * Opens the store for the few short writes of a CLI command, even while a server is running. The command cannot migrate
 * the schema, but it can create the database in an empty data directory.
 */
export function openSqliteStoreBeside(options: SqliteStoreOptions & { mustExist?: boolean }): Store {
  const { dataDir, mustExist = false } = options
  if (!hasDatabase(dataDir)) {
    if (mustExist)
      throw new StoreOpenError(
        `${dataDir} does not have an Errand database. Choose another folder with --data or ERRAND_DATA_DIR.`,
      )
    makeFolder(dataDir)
  }
  return inPrivate(options, () => {
    const db = openConnection(dataDir, 5000)
    return orClose(db, dataDir, () => {
      if (schemaState(db) === 'empty') migrateSchema(db, dataDir)
      if (schemaState(db) !== 'current') {
        throw new StoreOpenError(
          'The database was written by an older version of Errand. Start `errand serve` once to migrate it.',
        )
      }
      return composeStore(db, options, () => {})
    })
  })
}

/**
 * Makes the data directory private. Warns about files that other users could read, except those that `open` creates.
 */
function inPrivate({ dataDir, onWarning }: SqliteStoreOptions, open: () => Store): Store {
  assertUsable(dataDir)
  const warning = describeClosed(keepPrivate(dataDir))
  if (warning !== undefined) onWarning?.(warning)
  const store = open()
  keepPrivate(dataDir)
  return store
}

function orClose(db: Database, dataDir: string, compose: () => Store): Store {
  try {
    return compose()
  } catch (error) {
    db.close()
    throw isDamage(error) ? damaged(dataDir, error.message) : error
  }
}

function newestTime(db: Database): number {
  const newest = db
    .prepare<[], number | null>(
      `SELECT max(coalesce((SELECT created_at FROM transactions ORDER BY seq DESC LIMIT 1), 0),
                  coalesce((SELECT max(created_at, coalesce(started_at, 0), coalesce(completed_at, 0))
                            FROM tasks ORDER BY seq DESC LIMIT 1), 0),
                  coalesce((SELECT max(created_at, coalesce(settled_at, 0)) FROM turns ORDER BY seq DESC LIMIT 1), 0))`,
    )
    .pluck()
    .get()
  return newest ?? 0
}

function composeStore(db: Database, options: SqliteStoreOptions, onClose: () => void): Store {
  const exportedAt = 'SELECT value FROM settings WHERE name = ?'
  assertNotExported(db.prepare<[string], string>(exportedAt).pluck().get(exportedSetting))
  const { limits } = options
  const clock = options.clock(newestTime(db))
  const counters = new Counters(db)
  const ledger = new Ledger(db, counters)
  const rateWindow = new RateWindow(db)
  const used = new UsedOfLimits(db, counters)
  const batchEnd = {
    begin: () => used.begin(),
    keep: () => {
      counters.keep()
      ledger.keep()
      used.keep()
    },
    write: () => {
      counters.write()
      used.write()
    },
    committed: () => {
      ledger.committed()
      used.committed()
    },
    drop: () => {
      counters.drop()
      ledger.drop()
      rateWindow.clear()
      used.drop()
    },
    clear: () => {
      counters.clear()
      ledger.clear()
      rateWindow.clear()
      used.clear()
    },
  }
  const ledgerCheck = new LedgerCheck(databaseFile(options.dataDir), (damage) => {
    const error = noteDamage(options.dataDir, damage)
    options.onFatal(error)
    return error
  })
  const commit = new GroupCommit(db, batchEnd, {
    onFatal: options.onFatal,
    ...(options.onCommit && { onCommit: options.onCommit }),
  })
  const engine = new SqliteEngine(db, { clock, commit, counters, ledger, rateWindow, used })
  return {
    ...peopleStore(engine),
    ...workStore(engine, limits),
    takeTasks: (input) => engine.read((on) => nextTasks(on, input)),
    settings: settingRows(db),
    readLedger: (write) => readLedger((read) => engine.read(read), write),
    verifyLedger: () => ledgerCheck.run(),
    readState: async () => ({
      ...(await engine.read(readOpen)),
      databaseBytes: sizeOf(databaseFile(options.dataDir)),
      walBytes: sizeOf(`${databaseFile(options.dataDir)}-wal`),
      posted: ledger.posted.totals,
      isWritable: !commit.isFailing,
    }),
    listNodes: async () => {
      const owner = readOwner(options.dataDir)
      if (!owner) return []
      const { openTurns, processingTasks } = await engine.read(readOpen)
      return [{ ...owner, seenAt: Date.now(), runningTasks: processingTasks, openTurns }]
    },
    canWrite: () => commit.canWrite(),
    hasBacklog: () => false,
    backup: async (file) => {
      // A single statement on one snapshot. SQLite's incremental backup restarts whenever another process commits, so
      // it would never finish while a busy server is running.
      try {
        db.prepare('VACUUM INTO ?').run(file)
      } catch (error) {
        throw isDamage(error) ? damaged(options.dataDir, error.message) : error
      }
    },
    close: async () => {
      await ledgerCheck.close()
      await commit.settled()
      db.close()
      onClose()
    },
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
