import type { LedgerReport } from '../ledger/ledger-report.ts'
import type { CarriedRow, CarriedTable } from './carried-tables.ts'

/**
 * A database that is opened in one transaction with exclusive access, for reading and writing whole tables. All
 * changes are discarded unless `commit` is called.
 */
export type WholeDatabase = {
  engine: 'sqlite' | 'postgres'
  /** Name of the last migration, which is the same for both engines. */
  schema: string
  read(table: CarriedTable): AsyncIterable<CarriedRow>
  insert(table: CarriedTable, rows: readonly CarriedRow[]): Promise<void>
  query(sql: string): Promise<CarriedRow[]>
  /** Must be called after the last `insert`, so that new rows get higher `seq` values than the inserted rows. */
  continueSequences(): Promise<void>
  verifyLedger(): Promise<LedgerReport>
  /** Commits. Returns false if another process that was waiting has written immediately afterwards. */
  commit(): Promise<boolean>
  close(): Promise<void>
}
