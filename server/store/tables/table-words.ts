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

// The tables are defined once, and each engine supplies the builders for columns and indexes. Migrations add what
// Drizzle cannot express: STRICT tables on SQLite, and triggers that make transactions append-only and ended tasks
// final.

/** The builders of both engines have the same signatures, so the types of SQLite's builders are used for both. */
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
  /** Last column of an index. Orders rows created in the same millisecond. */
  bySeq: (table: { seq: AnySQLiteColumn }) => AnySQLiteColumn[]
  /** Like `bySeq`. On SQLite, adds the filter columns, so that tasks can be counted without reading their rows. */
  byFilter: (task: Record<'seq' | 'agentId' | 'endpointId' | 'keyId', AnySQLiteColumn>) => AnySQLiteColumn[]
  /** Adds a `seq` column to a table with another primary key. SQLite uses the rowid instead. */
  madeInOrder: () => object
  /** Adds a column for the expiry time of a node's lease on the task or turn. Adds none on an engine without leases. */
  lease: () => object
  taskLeases: (task: unknown) => SQLiteTableExtraConfigValue[]
  turnLeases: (turn: unknown) => SQLiteTableExtraConfigValue[]
}
