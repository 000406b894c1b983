import type { LedgerReport } from '../ledger/ledger-report.ts'
import type { CarriedRow, CarriedTable } from './carried-tables.ts'

/**
 * A database opened in one transaction, during which no other process can use it. Reads and writes whole tables.
 * Without `commit`, nothing is changed.
 */
export type WholeDatabase = {
  engine: 'sqlite' | 'postgres'
  /** Name of the last migration, the same for both engines. */
  schema: string
  read(table: CarriedTable): AsyncIterable<CarriedRow>
  insert(table: CarriedTable, rows: readonly CarriedRow[]): Promise<void>
  query(sql: string): Promise<CarriedRow[]>
  /** Call after the last `insert`, so that the `seq` of new rows follows that of the inserted rows. */
  continueSequences(): Promise<void>
  verifyLedger(): Promise<LedgerReport>
  /** Returns false if another process wrote right after the commit without having seen this transaction. */
  commit(): Promise<boolean>
  close(): Promise<void>
}
