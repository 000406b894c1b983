import Database from 'better-sqlite3'

type Prepare = (this: Database.Database, sql: string) => Database.Statement

/** Calls `seen` for each statement that any connection prepares during `work`. The statements work as usual. */
export function watchStatements<Value>(
  seen: (connection: Database.Database, sql: string, statement: Database.Statement) => void,
  work: () => Value,
): Value {
  const original = Object.getOwnPropertyDescriptor(Database.prototype, 'prepare')!
  const prepare = original.value as Prepare
  const watched: Prepare = function (sql) {
    const statement = prepare.call(this, sql)
    seen(this, sql, statement)
    return statement
  }
  Object.defineProperty(Database.prototype, 'prepare', { ...original, value: watched })
  const end = () => Object.defineProperty(Database.prototype, 'prepare', original)
  let value: Value | undefined
  try {
    value = work()
    return value instanceof Promise ? (value.finally(end) as Value) : value
  } finally {
    if (!(value instanceof Promise)) end()
  }
}
