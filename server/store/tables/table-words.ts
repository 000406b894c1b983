import type { sql } from 'drizzle-orm'
import type {
  AnySQLiteColumn,
  check,
  index,
  integer,
  primaryKey,
  SQLiteTableExtraConfigValue,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core'

// Interface between the table definitions and the engines. The tables are defined once, and each engine supplies the
// builders for columns and indexes. Migrations add what Drizzle cannot express: triggers that make transactions
// append-only and ended tasks final and, on SQLite, STRICT tables.

/**
 * Builders for tables, columns and indexes. The builders of both engines have the same signatures, so the types of
 * SQLite's builders are used for both.
 */
export type TableWords = {
  table: typeof sqliteTable
  text: typeof text
  /** Integers that JavaScript can represent exactly. */
  number: typeof integer
  index: typeof index
  uniqueIndex: typeof uniqueIndex
  primaryKey: typeof primaryKey
  check: typeof check
  sql: typeof sql
  seq: () => ReturnType<ReturnType<typeof integer>['primaryKey']>
  /** Last column of an index, which orders rows of the same millisecond by creation. */
  bySeq: (table: { seq: AnySQLiteColumn }) => AnySQLiteColumn[]
  /** Adds a `seq` column to a table that has another primary key. Adds no column on SQLite, which has the rowid. */
  madeInOrder: () => object
  /**
   * Adds the time until which a node owns the task or turn without renewing the lease. Adds no column on an engine
   * without leases.
   */
  lease: () => object
  taskLeases: (task: unknown) => SQLiteTableExtraConfigValue[]
  turnLeases: (turn: unknown) => SQLiteTableExtraConfigValue[]
}
