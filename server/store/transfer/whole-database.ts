import type { LedgerReport } from '../ledger/ledger-report.ts'
import type { CarriedRow, CarriedTable } from './carried-tables.ts'

/**
 * A database opened in one transaction with exclusive access, to read and write whole tables. All changes are discarded
 * unless `commit` is called.
 */
export type WholeDatabase = {
  engine: 'sqlite' | 'postgres'
  /** Name of the last migration, which is the same on both engines. */
  schema: string
  read(table: CarriedTable): AsyncIterable<CarriedRow>
  insert(table: CarriedTable, rows: readonly CarriedRow[]): Promise<void>
  query(sql: string): Promise<CarriedRow[]>
  /** Must be called after the last `insert`, so that new rows get higher `seq` values than the inserted rows. */
  continueSequences(): Promise<void>
  verifyLedger(): Promise<LedgerReport>
  /** Returns false if a process that was waiting for the lock wrote to the database immediately after the commit. */
  commit(): Promise<boolean>
  close(): Promise<void>
}
