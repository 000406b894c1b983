import type { Op, Reads, Tx } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'
import { bookGroups, columnOf, type BookGroup } from './book-groups.ts'

// Totals over all users are stored for closed days and months, so that a year can be read in milliseconds. A day can be
// closed when no further transaction can belong to it. Its totals then never change, and can be recomputed from the
// per-user sums.

const dayMs = 86_400_000
/** Delay after midnight before the previous day can be closed. No transaction runs this long. */
const closingMs = 3_600_000

const sums = ['executions', 'failures', 'charged', 'refunded', 'written_off', 'provider_cost']

const last = statement<{ toDay: number }>(
  'books_last_closed',
  `SELECT to_day AS "toDay" FROM book_totals WHERE grouping = 'day' ORDER BY from_day DESC LIMIT 1`,
)
const nextWithRows = statement<{ day: number }>(
  'books_next_day',
  'SELECT day FROM book_days WHERE day >= :closedTo AND day < :before ORDER BY day LIMIT 1',
)
const close = Object.fromEntries(
  bookGroups.map((group) => [
    group,
    statement(
      `books_close_${group}`,
      `INSERT INTO book_totals (grouping, from_day, to_day, value, ${sums.join(', ')})
        SELECT '${group}', CAST(:fromDay AS bigint), CAST(:toDay AS bigint), ${group === 'day' ? "''" : columnOf[group]},
          ${sums.map((sum) => `sum(${sum})`).join(', ')}
        FROM book_days WHERE day >= :fromDay AND day < :toDay GROUP BY ${columnOf[group]}
        ON CONFLICT (grouping, from_day, value) DO NOTHING`,
    ),
  ]),
) as Record<BookGroup, ReturnType<typeof statement<never>>>

/** Whether a group has so many values that its totals are stored per month rather than per day. */
export function isByMonth(group: BookGroup): boolean {
  return group === 'user' || group === 'key'
}

export function monthStart(day: number): number {
  return day - new Date(day * dayMs).getUTCDate() + 1
}

/** Returns the first day of the first month that starts on this day or later. */
export function firstMonthStart(day: number): number {
  const start = monthStart(day)
  return start === day ? day : nextMonth(day)
}

export function nextMonth(day: number): number {
  const date = new Date(day * dayMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / dayMs
}

export function* closedUntil(on: Reads): Op<number> {
  return (yield* on.get(last))?.toDay ?? 0
}

/** Closes the next day that has executions. Returns false if no such day can be closed yet. */
export function* closeBooks(tx: Tx): Op<boolean> {
  const before = Math.floor(((yield* tx.now()) - closingMs) / dayMs)
  const closedTo = yield* closedUntil(tx)
  const next = yield* tx.get(nextWithRows, { closedTo, before })
  if (!next) return false
  const { day } = next
  // Close the months that end after the last closed day and no later than this day.
  for (let from = monthStart(Math.min(day, closedTo || day)); nextMonth(from) <= day + 1; from = nextMonth(from)) {
    for (const group of bookGroups.filter(isByMonth))
      yield* tx.run(close[group], { fromDay: from, toDay: nextMonth(from) })
  }
  for (const group of bookGroups) if (!isByMonth(group)) yield* tx.run(close[group], { fromDay: day, toDay: day + 1 })
  return true
}
