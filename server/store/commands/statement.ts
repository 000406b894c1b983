import type { AccountRow } from '../tables/account-tables.ts'

// SQL statements for both engines. Where the engines differ, a statement uses the engine's `Dialect`.

export type Dialect = {
  /** Column that orders rows created in the same millisecond. */
  seq: string
  greatest: string
  least: string
  /**
   * Function that returns the position of the second string in the first. Positions start at 1, and 0 means not found.
   */
  position: string
  /** Converts only ASCII letters to lower case. */
  lower: (text: string) => string
  /** Matches a column against a LIKE pattern, ignoring only ASCII case. The column must not contain null characters. */
  isLike: (column: string, pattern: string) => string
  /** Suffix of a SELECT that locks the rows until the transaction ends. */
  forUpdate: string
  /** Suffix of a SELECT that skips rows that other transactions have locked. */
  skipLocked: string
  /**
   * Column prefix that keeps the planner from using the column's index, for queries where that index is the wrong
   * choice.
   */
  noIndex: string
  /** Table suffix that selects an index, for queries where the planner lacks the statistics to choose it. */
  indexedBy: (index: string) => string
  /** Rewrites a statement so that parameter values do not influence its plan. */
  bound: (text: string) => string
  /** Converts a JSON object of numbers to a table `used (id, at)`. */
  members: (json: string) => string
  /** Converts a JSON object to a table with the columns `key` and `value`. A value may be text. */
  entries: (json: string) => string
  field: (json: string, name: string) => string
  /** Returns the hex SHA-256 of a string. On SQLite, only ledger checks can use this. */
  digest: (text: string) => string
  /** Returns `part`, which refers to leases. An engine without leases returns `without` instead. */
  ofLease: (part: string, without?: string) => string
}

export const sqlite: Dialect = {
  seq: 'rowid',
  greatest: 'max',
  least: 'min',
  position: 'instr',
  lower: (text) => `lower(${text})`,
  isLike: (column, pattern) => `${column} LIKE ${pattern} ESCAPE '\\'`,
  forUpdate: '',
  skipLocked: '',
  noIndex: '+',
  indexedBy: (index) => `INDEXED BY ${index}`,
  // SQLite prepares a statement again for each new value of a LIMIT. If a partial index compares a column with a
  // constant, SQLite also does so for new values in other comparisons. Preparing takes longer than running most
  // statements. An expression avoids this, but a plain parameter does not.
  bound: (text) => text.replaceAll(/\bLIMIT (:\w+)/g, 'LIMIT 0 + $1').replaceAll(/(?<!\w):(?=[a-z])/gi, '+:'),
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
  lower: (text) => `lower(${text} COLLATE "C")`,
  isLike: (column, pattern) => `${column} COLLATE "C" ILIKE ${pattern}`,
  forUpdate: 'FOR NO KEY UPDATE',
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  noIndex: '',
  indexedBy: () => '',
  bound: (text) => text,
  members: (json) =>
    `(SELECT key AS id, CAST(value AS bigint) AS at FROM json_each_text(CAST(${json} AS json))) AS used`,
  entries: (json) => `json_each_text(CAST(${json} AS json))`,
  field: (json, name) => `(CAST(${json} AS json) ->> '${name}')`,
  digest: (text) => `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`,
  ofLease: (part) => part,
}

export type Value = string | number | null
export type Values = Readonly<Record<string, Value>>

/** A statement with result rows of type `Row`. PostgreSQL prepares it under its name, which must be unique. */
export class Statement<Row> {
  declare readonly row: Row
  readonly name: string
  readonly #text: string | ((dialect: Dialect) => string)

  constructor(name: string, text: string | ((dialect: Dialect) => string)) {
    this.name = name
    this.#text = text
  }

  /** Returns the SQL, with a `:name` placeholder for each value. */
  text(dialect: Dialect): string {
    return dialect.bound(typeof this.#text === 'string' ? this.#text : this.#text(dialect))
  }
}

const made: Statement<unknown>[] = []

export function statement<Row = never>(name: string, text: string | ((dialect: Dialect) => string)): Statement<Row> {
  const one = new Statement<Row>(name, text)
  made.push(one)
  return one
}

/** Returns all statements. Engines validate them when the store opens. */
export function everyStatement(): readonly Statement<unknown>[] {
  return made
}

/** Returns a SELECT list for camel-case names: `columns('id userId')` returns `id, user_id AS "userId"`. */
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
export const accountColumns = columns(Object.keys(ofAccount).join(' '))

export function insertInto(table: string, names: string): string {
  const values = split(names).map((name) => `:${name}`)
  return `INSERT INTO ${table} (${split(names).map(column).join(', ')}) VALUES (${values.join(', ')})`
}

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

/** Creates a statement that sets a time in `settings` to `:until`, unless the stored time is later. */
export function moveSetting(statementName: string, setting: string): Statement<never> {
  return statement(
    statementName,
    `INSERT INTO settings (name, value) VALUES ('${setting}', CAST(CAST(:until AS bigint) AS text))
      ON CONFLICT (name) DO UPDATE SET value = excluded.value
        WHERE CAST(settings.value AS bigint) < CAST(excluded.value AS bigint)`,
  )
}
