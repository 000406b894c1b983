import { readFileSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { startWithDeadRows } from '../dead-rows.ts'
import { watchStatements } from '../watch-statements.ts'

// Every write and list must stay cheap no matter how many dead rows a user has. SQLite reads each page with a separate
// system call. The kernel counts these calls per thread, so nothing needs to be timed.

const dead = 60_000
/**
 * Maximum number of pages that one statement may read. The most expensive one, a page of spending, sums 4,000
 * transactions. A scan of the smallest index takes 175 pages.
 */
const pagesMax = 160
const known = [
  // Deletes a bounded number of rows, each on a different page.
  /^DELETE FROM \w+ WHERE .* LIMIT :rowsMax/,
  /^WITH old AS .* LIMIT :rowsMax .* DELETE FROM wire_requests/,
  // An account has at most 10,000 keys.
  / api_keys WHERE user_id = :userId/,
  /^UPDATE api_keys SET .* WHERE user_id = :userId AND \(id = :countsAs/,
  // Counts one account's top-ups. An account can create at most 50 unpaid top-ups per day.
  /^SELECT count\(\*\) AS count FROM topups WHERE user_id = :userId/,
  // Only admins create invitations.
  / FROM invitations\b/,
]

function readCalls(): number {
  return Number(/^syscr: (\d+)/m.exec(readFileSync('/proc/thread-self/io', 'utf8'))![1])
}

/** Number of read calls that reading the counter itself causes. */
const ownCalls = -readCalls() + readCalls()

type Run = (this: unknown, ...values: unknown[]) => unknown

/** Records the maximum number of pages that each statement reads. */
class PageCounter {
  readonly pages = new Map<string, number>()
  isCounting = false

  watch(connection: Database.Database, sql: string, statement: Database.Statement): void {
    const text = sql.replaceAll('"', '').replaceAll(/\s+/g, ' ').trim()
    for (const name of ['get', 'all', 'run'] as const) {
      const run = statement[name]
      const counted: Run = (...values) => {
        if (!this.isCounting) return run.apply(statement, values)
        // Empties the page cache, so that the statement has to read its pages.
        connection.pragma('shrink_memory')
        // A commit could otherwise start a checkpoint, which reads all pages of the WAL.
        connection.pragma('wal_autocheckpoint = 0')
        const before = readCalls()
        try {
          return run.apply(statement, values)
        } finally {
          this.pages.set(text, Math.max(readCalls() - before - ownCalls, this.pages.get(text) ?? 0))
        }
      }
      Object.defineProperty(statement, name, { value: counted })
    }
  }
}

test('writes and lists read few pages of finished rows', async () => {
  const counter = new PageCounter()
  const world = await watchStatements(
    (connection, sql, statement) => counter.watch(connection, sql, statement),
    () => startWithDeadRows({ dead }),
  )
  counter.isCounting = true
  await world.call()
  counter.isCounting = false
  await world.stop()
  // Removes the operators that turn a statement's bound values into expressions.
  const plain = (sql: string) => sql.replaceAll('0 + ', '').replaceAll('+:', ':')
  const large = [...counter.pages]
    .filter(([, pages]) => pages > pagesMax)
    .map(([sql, pages]) => [plain(sql), pages] as const)
  expect(large.filter(([sql]) => !known.some((one) => one.test(sql)))).toEqual([])
  expect(known.filter((one) => !large.some(([sql]) => one.test(sql)))).toEqual([])
  expect(counter.pages.size).toBeGreaterThan(150)
})
