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

// The tables are written once, and each engine supplies the column and index builders. Its migrations add what drizzle
// cannot express: triggers that make transactions append-only and terminal tasks final, and on SQLite STRICT on every table.

/** Builders of tables. Both engines' builders are called alike, so SQLite's types stand for both. */
export type TableWords = {
  table: typeof sqliteTable
  text: typeof text
  /** Integers, as far as JavaScript counts exactly. */
  number: typeof integer
  index: typeof index
  uniqueIndex: typeof uniqueIndex
  primaryKey: typeof primaryKey
  check: typeof check
  sql: typeof sql
  /** A key that rises with every row. */
  seq: () => ReturnType<ReturnType<typeof integer>['primaryKey']>
  /** Last column of an index: orders rows of one millisecond by creation. */
  bySeq: (table: { seq: AnySQLiteColumn }) => AnySQLiteColumn[]
  /** Adds the same column to a table with another primary key. Adds nothing on an engine that has one implicitly. */
  madeInOrder: () => object
  /** Lease of running work: how long its node may stay silent. Adds no column if nothing is leased. */
  lease: () => object
  /** Constraints and indexes of task and turn leases. */
  taskLeases: (task: unknown) => SQLiteTableExtraConfigValue[]
  turnLeases: (turn: unknown) => SQLiteTableExtraConfigValue[]
}
