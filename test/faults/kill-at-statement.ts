// Preloaded into a server (NODE_OPTIONS --import). Kills it at its Nth step that changes the database or syncs a
// payload, with N from KILL_AT_STATEMENT: before the step, or right after it with KILL_WHEN=after. On PostgreSQL, the
// steps are all queries, and `after` means that the query was sent. With COUNT_STATEMENTS it writes the number of steps
// so far to that file.
import { writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import Database from 'better-sqlite3'

const { COUNT_STATEMENTS: file, ERRAND_DATABASE_URL: url, KILL_AT_STATEMENT: killAt, KILL_WHEN: when } = process.env
let counted = 0

function begin(): boolean {
  const isLast = ++counted === Number(killAt)
  if (isLast && when !== 'after') process.kill(process.pid, 'SIGKILL')
  if (file !== undefined) writeFileSync(file, String(counted))
  return isLast
}

function counting<Result>(step: () => Result): Result {
  const isLast = begin()
  const result = step()
  if (isLast) process.kill(process.pid, 'SIGKILL')
  return result
}

if (isMainThread) {
  const { exec, prepare } = Database.prototype
  Database.prototype.exec = function countedExec(sql) {
    return counting(() => exec.call(this, sql))
  }
  Database.prototype.prepare = function countedPrepare(this: Database.Database, sql: string) {
    const statement = prepare.call(this, sql)
    const { run } = statement
    statement.run = (...values: unknown[]) => counting(() => Reflect.apply(run, statement, values))
    return statement
  } as typeof prepare
  if (url !== undefined) {
    type Client = { prototype: { query: (...given: unknown[]) => unknown } }
    const { Client } = createRequire(import.meta.url)('pg') as { Client: Client }
    const { query } = Client.prototype
    Client.prototype.query = function countedQuery(...given) {
      return counting(() => query.apply(this, given))
    }
  }
  const handle = await open(import.meta.filename)
  const files = Object.getPrototypeOf(handle) as { sync: () => Promise<void> }
  const { sync } = files
  files.sync = async function countedSync() {
    const isLast = begin()
    await sync.call(this)
    if (isLast) process.kill(process.pid, 'SIGKILL')
  }
  await handle.close()
}
