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

// The tables are written once, and each engine gives the words for them. Its migrations add what drizzle cannot say:
// triggers that make transactions append-only and terminal tasks final, and on SQLite STRICT on every table.

/** What tables are made of. The builders of both engines are called alike, so as types those of SQLite stand for both. */
export type TableWords = {
  table: typeof sqliteTable
  text: typeof text
  /** Whole numbers, as far as JavaScript counts exactly. */
  number: typeof integer
  index: typeof index
  uniqueIndex: typeof uniqueIndex
  primaryKey: typeof primaryKey
  check: typeof check
  sql: typeof sql
  /** A key that rises with every row. */
  seq: () => ReturnType<ReturnType<typeof integer>['primaryKey']>
  /** At the end of an index: what orders rows of one millisecond as they were made. */
  bySeq: (table: { seq: AnySQLiteColumn }) => AnySQLiteColumn[]
  /** The same for a table whose key is another one; no column where the engine has it by itself. */
  madeInOrder: () => object
  /** Of what is at work: until when the node that took it need say nothing; no column where nothing is leased. */
  lease: () => object
  /** What holds of the leases of tasks and of turns. */
  taskLeases: (task: unknown) => SQLiteTableExtraConfigValue[]
  turnLeases: (turn: unknown) => SQLiteTableExtraConfigValue[]
}
