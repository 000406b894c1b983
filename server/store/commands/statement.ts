import type { AccountRow } from '../tables/account-tables.ts'

// SQL statements, written once for both engines. If the engines differ, a statement uses the engine's `Dialect`.

export type Dialect = {
  /** Column that orders rows of one millisecond by creation. */
  seq: string
  greatest: string
  least: string
  /** Position of the second string in the first string, starting at 1; 0 if the second is not part of the first. */
  position: string
  /** Converts ASCII letters, and only those, to lower case. */
  lower: (text: string) => string
  /** After a SELECT: locks the row, so that no other transaction can change or lock it before this transaction ends. */
  forUpdate: string
  /** After a SELECT of rows to delete or take: skips rows that other transactions have locked. */
  skipLocked: string
  /**
   * Before a column: keeps the planner from using the column's index, for queries where it would be the wrong choice.
   */
  noIndex: string
  /**
   * After a table: the index to use, for queries where the planner would choose a worse index for lack of statistics.
   */
  indexedBy: (index: string) => string
  /** Rewrites a statement so that its bound values do not influence its plan. */
  bound: (text: string) => string
  /** Table `used (id, at)` with the members of a JSON object of numbers. */
  members: (json: string) => string
  /** Rows `key` and `value` with the members of a JSON object. The value may be text. */
  entries: (json: string) => string
  /** A field of a JSON object, as text or a number. */
  field: (json: string, name: string) => string
  /** SHA-256 of a string in hex. On SQLite, available only to ledger checks. */
  digest: (text: string) => string
  /** Returns `part`, which is about leases. On an engine without leases, returns `without` instead. */
  ofLease: (part: string, without?: string) => string
}

export const sqlite: Dialect = {
  seq: 'rowid',
  greatest: 'max',
  least: 'min',
  position: 'instr',
  lower: (text) => `lower(${text})`,
  forUpdate: '',
  skipLocked: '',
  noIndex: '+',
  indexedBy: (index) => `INDEXED BY ${index}`,
  // SQLite prepares a statement again for each new value of a LIMIT. If a partial index compares a column with a
  // constant, it also does so for each new value compared with another column. Preparing takes longer than running most
  // statements. Only plain parameters have this effect, not expressions.
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
/** Statement parameters by name. */
export type Values = Readonly<Record<string, Value>>

/** A statement whose result rows have the type `Row`. PostgreSQL prepares it under its unique name. */
export class Statement<Row> {
  declare readonly row: Row
  readonly name: string
  readonly #text: string | ((dialect: Dialect) => string)

  constructor(name: string, text: string | ((dialect: Dialect) => string)) {
    this.name = name
    this.#text = text
  }

  /** Returns the SQL, with `:name` for each value. */
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

/** Returns all statements, so that an engine can check on opening that each one is valid. */
export function everyStatement(): readonly Statement<unknown>[] {
  return made
}

/** Returns a SELECT list from names used in code: `columns('id userId')` is `id, user_id AS "userId"`. */
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
/** All columns of an account, which every command reads. */
export const accountColumns = columns(Object.keys(ofAccount).join(' '))

export function insertInto(table: string, names: string): string {
  const values = split(names).map((name) => `:${name}`)
  return `INSERT INTO ${table} (${split(names).map(column).join(', ')}) VALUES (${values.join(', ')})`
}

/** Returns SET assignments for these columns. */
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

/** Creates a statement that moves a time in `settings` forward to `:until`. */
export function moveSetting(statementName: string, setting: string): Statement<never> {
  return statement(
    statementName,
    `INSERT INTO settings (name, value) VALUES ('${setting}', CAST(CAST(:until AS bigint) AS text))
      ON CONFLICT (name) DO UPDATE SET value = excluded.value
        WHERE CAST(settings.value AS bigint) < CAST(excluded.value AS bigint)`,
  )
}
