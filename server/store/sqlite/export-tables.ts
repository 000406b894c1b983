import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { accountSums, type CarriedRow } from '../carried-rows.ts'
import { StoreOpenError } from '../store-open-error.ts'
import type { LedgerReport } from '../store.ts'
import { databaseFile, lockDataDir, schemaState } from './database.ts'
import { findDamage } from './damage/find-damage.ts'
import { damaged } from './damage/integrity-check.ts'
import { describeLogDamage, findLogDamage } from './damage/log-damage.ts'
import { forgetMoved, movedNoteFile, noteMoved } from './moved-note.ts'
import { verifyLedger } from './damage/verify-ledger.ts'

const batchRows = 2000
const batchChars = 1_000_000
const lockWaitMs = 5000
/** SQLite retries a lock ten times a second while it waits. */
const settleMs = 300

/**
 * An installation that nothing uses, to be copied. Until `close`, no server can start on it and no command can write to
 * it. Not a single byte of its database changes.
 */
export class InstallationAtRest {
  readonly #dataDir: string
  readonly #release: () => void
  /**
   * The last connection to close copies the log into the database, unless that connection is read-only. So this one
   * closes last.
   */
  readonly #reader: Database.Database
  readonly #writer: Database.Database
  /** Changes when another connection commits. */
  #version: unknown

  private constructor(dataDir: string, release: () => void) {
    const file = databaseFile(dataDir)
    this.#dataDir = dataDir
    this.#release = release
    this.#reader = new Database(file, { readonly: true, timeout: lockWaitMs })
    try {
      this.#writer = new Database(file, { timeout: lockWaitMs })
    } catch (error) {
      this.#reader.close()
      throw error
    }
  }

  /** Throws if the installation is in use, damaged, or from another version. */
  static open(dataDir: string): InstallationAtRest {
    const file = databaseFile(dataDir)
    if (!existsSync(file)) throw new StoreOpenError(`${dataDir} has no Errand database.`)
    const logDamage = findLogDamage(file)
    if (logDamage) throw new StoreOpenError(describeLogDamage(logDamage))
    const lock = lockDataDir(dataDir)
    let opened: InstallationAtRest
    try {
      opened = new InstallationAtRest(dataDir, lock.release)
    } catch (error) {
      lock.release()
      throw error
    }
    try {
      opened.#settle()
      return opened
    } catch (error) {
      opened.close()
      throw error
    }
  }

  #settle(): void {
    const state = schemaState(this.#reader)
    if (state !== 'current') {
      throw new StoreOpenError(
        `The database in ${this.#dataDir} was written by an older version of Errand. Start \`errand serve\` once on it to migrate it.`,
      )
    }
    this.#writer.exec('BEGIN IMMEDIATE')
    this.#version = this.#writer.pragma('data_version', { simple: true })
    const damage = findDamage(this.#reader)
    if (damage !== undefined) throw damaged(this.#dataDir, damage)
  }

  get isMoved(): boolean {
    return existsSync(movedNoteFile(this.#dataDir))
  }

  tables(): string[] {
    const names = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`
    return this.#reader.prepare<[], string>(names).pluck().all()
  }

  columnsOf(table: string): string[] {
    return this.#reader.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table)
  }

  /** Yields all rows in batches. If a table lacks the column `seq`, yields the rowid instead. */
  *read(table: string, columns: readonly string[]): Generator<CarriedRow[]> {
    const fields = columns.map((column) => (column === 'seq' ? 'rowid' : `"${column}"`))
    const order = columns.includes('seq') ? 'ORDER BY rowid' : ''
    const statement = this.#reader.prepare<[], CarriedRow>(`SELECT ${fields.join(', ')} FROM "${table}" ${order}`)
    let batch: CarriedRow[] = []
    let chars = 0
    for (const row of statement.raw().iterate()) {
      batch.push(row)
      for (const value of row) if (typeof value === 'string') chars += value.length
      if (batch.length < batchRows && chars < batchChars) continue
      yield batch
      batch = []
      chars = 0
    }
    if (batch.length > 0) yield batch
  }

  /** Balance, held amount, sum and number of transactions of each account. */
  accountSums(): IterableIterator<CarriedRow> {
    return this.#reader.prepare<[], CarriedRow>(accountSums).raw().iterate()
  }

  verifyLedger(): LedgerReport {
    return verifyLedger(this.#reader)
  }

  /**
   * Records that the installation has moved to `database`, after which nothing opens it. Returns false, without a
   * record, if a command that had opened it earlier was waiting to write and did so.
   */
  async leave(database: string): Promise<boolean> {
    noteMoved(this.#dataDir, { database, at: new Date().toISOString() })
    this.#writer.exec('ROLLBACK')
    await pause(settleMs)
    if (this.#writer.pragma('data_version', { simple: true }) === this.#version) return true
    forgetMoved(this.#dataDir)
    return false
  }

  close(): void {
    this.#writer.close()
    this.#reader.close()
    this.#release()
  }
}
