import { readFileSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { startWithDeadRows } from './dead-rows.ts'
import { watchStatements } from './watch-statements.ts'

// Every write and list stays cheap beside the rows that a user leaves behind. SQLite reads each page of its file by a call of its
// own, which the kernel counts for each thread, so no time is measured.

const dead = 60_000
/** Pages that one statement may read: a page of spending sums 4,000 transactions. Walking the narrowest index takes 175. */
const pagesMax = 160
const known = [
  // So many rows at a time, each on pages of its own.
  /^DELETE FROM \w+ WHERE .* LIMIT :rowsMax/,
  /^WITH old AS .* LIMIT :rowsMax .* DELETE FROM wire_requests/,
  // An account has 10,000 keys.
  / api_keys WHERE user_id = :userId/,
  /^UPDATE api_keys SET .* WHERE user_id = :userId AND \(id = :countsAs/,
  // Of one account, which makes 50 in a day that are not paid.
  /^SELECT count\(\*\) AS count FROM topups WHERE user_id = :userId/,
  // Only admins make them.
  / FROM invitations\b/,
]

/** Read calls of this thread. */
function readCalls(): number {
  return Number(/^syscr: (\d+)/m.exec(readFileSync('/proc/thread-self/io', 'utf8'))![1])
}

/** How many of them reading their number takes. */
const ownCalls = -readCalls() + readCalls()

type Run = (this: unknown, ...values: unknown[]) => unknown

/** Most pages that each statement reads while it counts. */
class PageCounter {
  readonly pages = new Map<string, number>()
  isCounting = false

  watch(connection: Database.Database, sql: string, statement: Database.Statement): void {
    const text = sql.replaceAll('"', '').replaceAll(/\s+/g, ' ').trim()
    for (const name of ['get', 'all', 'run'] as const) {
      const run = statement[name]
      const counted: Run = (...values) => {
        if (!this.isCounting) return run.apply(statement, values)
        // Else it would find pages in memory.
        connection.pragma('shrink_memory')
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

test('writes and lists read few pages of what is over', async () => {
  const counter = new PageCounter()
  const world = await watchStatements(
    (connection, sql, statement) => counter.watch(connection, sql, statement),
    () => startWithDeadRows({ dead }),
  )
  counter.isCounting = true
  await world.call()
  counter.isCounting = false
  await world.stop()
  // Bound values are expressions.
  const plain = (sql: string) => sql.replaceAll('0 + ', '').replaceAll('+:', ':')
  const large = [...counter.pages]
    .filter(([, pages]) => pages > pagesMax)
    .map(([sql, pages]) => [plain(sql), pages] as const)
  expect(large.filter(([sql]) => !known.some((one) => one.test(sql)))).toEqual([])
  expect(known.filter((one) => !large.some(([sql]) => one.test(sql)))).toEqual([])
  expect(counter.pages.size).toBeGreaterThan(150)
})
