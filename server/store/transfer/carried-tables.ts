import { createRequire } from 'node:module'
import { accountTables } from '../tables/account-tables.ts'
import { bookTables } from '../tables/book-tables.ts'
import { eventTables } from '../tables/event-tables.ts'
import { paymentTables } from '../tables/payment-tables.ts'
import { peopleTables } from '../tables/people-tables.ts'
import type { TableWords } from '../tables/table-words.ts'
import { workTables } from '../tables/work-tables.ts'

// Exported tables and columns, all of which exist on both engines. Includes `seq`, but not the leases.

// Loaded as CommonJS, because Node's ES module loader is slow with Drizzle (see `applied-migrations.ts`).
const require = createRequire(import.meta.url)
const { sql } = require('drizzle-orm') as typeof import('drizzle-orm')
const { check, getTableConfig, index, integer, primaryKey, sqliteTable, text, uniqueIndex } =
  require('drizzle-orm/sqlite-core') as typeof import('drizzle-orm/sqlite-core')

const words: TableWords = {
  table: sqliteTable,
  text,
  number: integer,
  index,
  uniqueIndex,
  primaryKey,
  check,
  sql,
  seq: () => integer().primaryKey(),
  bySeq: () => [],
  byFilter: () => [],
  madeInOrder: () => ({ seq: integer() }),
  lease: () => ({}),
  taskLeases: () => [],
  turnLeases: () => [],
}

const { users, ...accountRows } = accountTables(words)
const tables = [
  accountRows,
  workTables(words, users),
  bookTables(words),
  eventTables(words),
  peopleTables(words, users),
  paymentTables(words, users),
]
/**
 * Not exported, because migrations (`probes`), triggers (`session_totals`, `task_tags`) or upkeep (`book_totals`)
 * create the rows.
 */
const ownTables = new Set(['book_totals', 'probes', 'session_totals', 'task_tags'])

export type CarriedRow = (string | number | null)[]
type CarriedColumn = { name: string; isText: boolean }
/** `key` determines the order of the rows. On SQLite, the column `seq` is the rowid. */
export type CarriedTable = { name: string; columns: CarriedColumn[]; key: CarriedColumn[]; hasSeq: boolean }

/** The exported tables, sorted so that each row comes after the rows it refers to. */
export const carriedTables: readonly CarriedTable[] = [users, ...tables.flatMap((of) => Object.values(of))]
  .map((table): CarriedTable => {
    const { columns, name, primaryKeys } = getTableConfig(table)
    const inOrder = columns.filter((column) => column.name === 'seq')
    const primary = primaryKeys[0]?.columns ?? columns.filter((column) => column.primary)
    const carried = (of: typeof columns) =>
      of.map((column) => ({ name: column.name, isText: column.dataType === 'string' }))
    const key = inOrder.length > 0 ? inOrder : primary
    return { name, columns: carried(columns), key: carried(key), hasSeq: inOrder.length > 0 }
  })
  .filter(({ name }) => !ownTables.has(name))
