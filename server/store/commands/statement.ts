import type { AccountRow } from '../tables/account-tables.ts'

// Statements in the SQL that both engines understand, written once. Where their words differ, a statement is made of
// those of a dialect.

export type Dialect = {
  /** What orders rows of one millisecond as they were made. */
  seq: string
  greatest: string
  least: string
  /** Where a text begins in another one, counted from 1; 0 where it does not. */
  position: string
  /** Behind a SELECT: nobody else changes the row, or locks it, before the transaction ends. */
  forUpdate: string
  /** Behind a SELECT of rows to delete or to take: those that somebody else has locked are left out. */
  skipLocked: string
  /** Before a column: no index of it is to be used, where the planner is known to take the wrong one. */
  noIndex: string
  /** Behind a table: the index to use, where the planner without statistics takes another one. */
  indexedBy: (index: string) => string
  /** The members of a JSON object of numbers, as the rows `used (id, at)`. */
  members: (json: string) => string
  /** The members of a JSON object as rows with `key` and `value`, of which the latter may be text. */
  entries: (json: string) => string
  /** A field of a JSON object, as text or a number. */
  field: (json: string, name: string) => string
  /** The SHA-256 of a text, in hexadecimal; on SQLite only checks of the ledger have it. */
  digest: (text: string) => string
  /** A part of a statement about leases, of which there are none where one process owns the store. */
  ofLease: (part: string, without?: string) => string
}

export const sqlite: Dialect = {
  seq: 'rowid',
  greatest: 'max',
  least: 'min',
  position: 'instr',
  forUpdate: '',
  skipLocked: '',
  noIndex: '+',
  indexedBy: (index) => `INDEXED BY ${index}`,
  members: (json) => `(SELECT key AS id, value AS at FROM json_each(${json})) AS used`,
  entries: (json) => `json_each(${json})`,
  field: (json, name) => `json_extract(${json}, '$.${name}')`,
  digest: (text) => `sha256(${text})`,
  ofLease: (_, without = '') => without,
}
export const postgres: Dialect = {
  seq: 'seq',
  greatest: 'greatest',
  least: 'least',
  position: 'strpos',
  forUpdate: 'FOR NO KEY UPDATE',
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  noIndex: '',
  indexedBy: () => '',
  members: (json) =>
    `(SELECT key AS id, CAST(value AS bigint) AS at FROM json_each_text(CAST(${json} AS json))) AS used`,
  entries: (json) => `json_each_text(CAST(${json} AS json))`,
  field: (json, name) => `(CAST(${json} AS json) ->> '${name}')`,
  digest: (text) => `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`,
  ofLease: (part) => part,
}

export type Value = string | number | null
/** By the names that the statement has for them. */
export type Values = Readonly<Record<string, Value>>

/** One statement; `Row` is what it answers. PostgreSQL knows it by its name, which no other has. */
export class Statement<Row> {
  declare readonly row: Row
  readonly name: string
  readonly #text: string | ((dialect: Dialect) => string)

  constructor(name: string, text: string | ((dialect: Dialect) => string)) {
    this.name = name
    this.#text = text
  }

  /** With `:name` for each value. */
  text(dialect: Dialect): string {
    return typeof this.#text === 'string' ? this.#text : this.#text(dialect)
  }
}

const made: Statement<unknown>[] = []

/** A statement, with `:name` for each of its values. */
export function statement<Row = never>(name: string, text: string | ((dialect: Dialect) => string)): Statement<Row> {
  const one = new Statement<Row>(name, text)
  made.push(one)
  return one
}

/** Every statement there is, so that an engine finds out when it opens whether it understands them. */
export function everyStatement(): readonly Statement<unknown>[] {
  return made
}

/** Columns by the names that rows have in the code, for a SELECT: `columns('id userId')` is `id, user_id AS "userId"`. */
export function columns(names: string): string {
  return split(names)
    .map((name) => (column(name) === name ? name : `${column(name)} AS "${name}"`))
    .join(', ')
}

const ofAccount: Record<keyof AccountRow, true> = {
  userId: true,
  balance: true,
  held: true,
  blockedAt: true,
  blockedUntil: true,
  blockSeconds: true,
  connectorsBlockedUntil: true,
  owed: true,
  platformCredited: true,
  plan: true,
  limits: true,
  notifyBelow: true,
  lowAt: true,
  carried: true,
  writtenOff: true,
  writtenOffOn: true,
  payloadBytes: true,
  payloadsSince: true,
}
/** All that there is of an account, as each command sees it. */
export const accountColumns = columns(Object.keys(ofAccount).join(' '))

/** A statement that inserts a row of these columns. */
export function insertInto(table: string, names: string): string {
  const values = split(names).map((name) => `:${name}`)
  return `INSERT INTO ${table} (${split(names).map(column).join(', ')}) VALUES (${values.join(', ')})`
}

/** Assignments of these columns, for an UPDATE. */
export function assign(names: string): string {
  return split(names)
    .map((name) => `${column(name)} = :${name}`)
    .join(', ')
}

function split(names: string): string[] {
  return names.split(' ')
}

function column(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Moves a time in `settings` forward to `:until`. */
export function moveSetting(statementName: string, setting: string): Statement<never> {
  return statement(
    statementName,
    `INSERT INTO settings (name, value) VALUES ('${setting}', CAST(CAST(:until AS bigint) AS text))
      ON CONFLICT (name) DO UPDATE SET value = excluded.value
        WHERE CAST(settings.value AS bigint) < CAST(excluded.value AS bigint)`,
  )
}
