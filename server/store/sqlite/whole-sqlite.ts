import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from 'better-sqlite3'
import { makeFolder } from '../../kernel/make-folder.ts'
import { lastMigration } from '../applied-migrations.ts'
import { StoreOpenError } from '../store-open-error.ts'
import type { CarriedRow, CarriedTable } from '../transfer/carried-tables.ts'
import type { WholeDatabase } from '../transfer/whole-database.ts'
import { findDamage } from './damage/find-damage.ts'
import { damaged } from './damage/integrity-check.ts'
import { verifyLedger } from './damage/verify-ledger.ts'
import { hasDatabase, lockDataDir, migrateSchema, migrationsFolder, openConnection, schemaState } from './database.ts'
import { keepPrivate } from './private-files.ts'
import { assertUsable } from './usable-folder.ts'

const lockWaitMs = 5000
/**
 * Time that `commit` waits to detect writes by processes that were waiting for the write lock. They retry ten times a
 * second.
 */
const settleMs = 300

/** Opens the database of a stopped server. Creates it unless `mustExist` is set. */
export function openWholeSqlite(dataDir: string, mustExist: boolean): WholeDatabase {
  if (!hasDatabase(dataDir)) {
    if (mustExist)
      throw new StoreOpenError(
        `${dataDir} does not have an Errand database. Choose another folder with --data or ERRAND_DATA_DIR.`,
      )
    makeFolder(dataDir)
  }
  assertUsable(dataDir)
  const lock = lockDataDir(dataDir)
  let db: Database | undefined
  const close = () => {
    db?.close()
    lock.release()
  }
  try {
    db = openConnection(dataDir, lockWaitMs)
    keepPrivate(dataDir)
    if (schemaState(db) === 'empty') migrateSchema(db, dataDir)
    if (schemaState(db) !== 'current') {
      throw new StoreOpenError(
        'The database was written by an older version of Errand. Start `errand serve` once to migrate it.',
      )
    }
    db.exec('BEGIN IMMEDIATE')
    const damage = findDamage(db)
    if (damage !== undefined) throw damaged(dataDir, damage)
    return wholeOf(db, close)
  } catch (error) {
    close()
    throw error
  }
}

function wholeOf(db: Database, close: () => void): WholeDatabase {
  const namesOf = ({ columns }: Pick<CarriedTable, 'columns'>) =>
    columns.map(({ name }) => (name === 'seq' ? 'rowid' : `"${name}"`)).join(', ')
  // `data_version` changes when another connection commits.
  const version = () => db.pragma('data_version', { simple: true })
  const before = version()
  return {
    engine: 'sqlite',
    schema: lastMigration(migrationsFolder),
    read: async function* (table) {
      const order = namesOf({ columns: table.key })
      const select = `SELECT ${namesOf(table)} FROM "${table.name}" ORDER BY ${order}`
      yield* db.prepare<[], CarriedRow>(select).raw().iterate()
    },
    insert: async (table, rows) => {
      const values = table.columns.map(() => '?').join(', ')
      const insert = db.prepare(`INSERT INTO "${table.name}" (${namesOf(table)}) VALUES (${values})`)
      for (const row of rows) insert.run(row)
    },
    query: async (sql) => {
      const statement = db.prepare<[], CarriedRow>(sql)
      if (statement.reader) return statement.raw().all()
      statement.run()
      return []
    },
    continueSequences: async () => {},
    verifyLedger: async () => verifyLedger(db),
    commit: async () => {
      db.exec('COMMIT')
      await pause(settleMs)
      return version() === before
    },
    close: async () => close(),
  }
}
