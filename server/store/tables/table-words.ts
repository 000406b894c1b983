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

// The tables are defined once, and each engine supplies the column and index builders. Each engine's migrations add
// what drizzle cannot express. These are triggers that make transactions append-only and terminal tasks final, and on
// SQLite STRICT for every table.

/**
 * Builders for tables, columns and indexes. Both engines' builders are called in the same way, so SQLite's types are
 * used for both.
 */
export type TableWords = {
  table: typeof sqliteTable
  text: typeof text
  /** Integers within the range that JavaScript represents exactly. */
  number: typeof integer
  index: typeof index
  uniqueIndex: typeof uniqueIndex
  primaryKey: typeof primaryKey
  check: typeof check
  sql: typeof sql
  /** A key that increases with every row. */
  seq: () => ReturnType<ReturnType<typeof integer>['primaryKey']>
  /** Last column of an index: orders rows of the same millisecond by creation. */
  bySeq: (table: { seq: AnySQLiteColumn }) => AnySQLiteColumn[]
  /**
   * Adds a `seq` column to a table with another primary key. Adds no column on SQLite, where the rowid serves instead.
   */
  madeInOrder: () => object
  /**
   * Time until which a node owns its running work unless it renews the lease. Adds no column on an engine without
   * leases.
   */
  lease: () => object
  /** Constraints and indexes of task and turn leases. */
  taskLeases: (task: unknown) => SQLiteTableExtraConfigValue[]
  turnLeases: (turn: unknown) => SQLiteTableExtraConfigValue[]
}
