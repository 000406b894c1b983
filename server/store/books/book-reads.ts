import type { Units } from '../../kernel/money.ts'
import type { Answer, Op, Reads } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'
import type { FailedTask } from './failure-reads.ts'
import type { EndedRun, ReadReserved, ReadRuns, ReservedHour } from './run-reads.ts'
import { bookGroups, columnOf, type BookGroup } from './book-groups.ts'
import { closedUntil, firstMonthStart, isByMonth, monthStart } from './book-closing.ts'

export type BookSums = {
  executions: number
  failures: number
  charged: Units
  refunded: Units
  writtenOff: Units
  /** In billionths of a USD. */
  providerCost: number
}

/**
 * Sums for one value of `groupBy`. `value` is an id, a name, or a day counted from 1970-01-01. It is empty for
 * executions that have no such value. `day` is set only for the books of one user.
 */
export type BookRow = BookSums & { value: string | number; day?: number }

/**
 * Days are counted from 1970-01-01, and `toDay` is exclusive. Without `userId`, reads the books of all users, and the
 * same value can occur several times. With `userId`, each value occurs once per day.
 */
export type ReadBooks = { groupBy: BookGroup; fromDay: number; toDay: number; userId?: string }

export type UserEmail = { id: string; email: string }

export type BookStore = {
  read(input: ReadBooks): Promise<BookRow[]>
  /** Returns a user's ended tasks, newest first. */
  readRuns(input: ReadRuns): Promise<EndedRun[]>
  readReserved(input: ReadReserved): Promise<ReservedHour[]>
  readFailures(limit: number): Promise<FailedTask[]>
  readEmails(userIds: readonly string[]): Promise<UserEmail[]>
  close(): Promise<boolean>
}

const sum = (column: string, name: string) => `CAST(sum(${column}) AS bigint) AS "${name}"`
const sums = [
  sum('executions', 'executions'),
  sum('failures', 'failures'),
  sum('charged', 'charged'),
  sum('refunded', 'refunded'),
  sum('written_off', 'writtenOff'),
  sum('provider_cost', 'providerCost'),
].join(', ')

const byGroup = (name: string, sql: (column: string) => string) =>
  Object.fromEntries(
    bookGroups.map((group) => [group, statement<BookRow>(`${name}_${group}`, sql(columnOf[group]))]),
  ) as Record<BookGroup, ReturnType<typeof statement<BookRow>>>
const ofAll = byGroup(
  'books',
  (column) =>
    `SELECT ${column} AS value, ${sums} FROM book_days WHERE day >= :fromDay AND day < :toDay GROUP BY ${column}`,
)
const ofUser = byGroup(
  'books_of_user',
  (column) =>
    `SELECT ${column} AS value, day, ${sums} FROM book_days
      WHERE user_id = :userId AND day >= :fromDay AND day < :toDay GROUP BY day, ${column} ORDER BY day`,
)
const closed = statement<BookRow>(
  'books_closed',
  `SELECT value, ${sums} FROM book_totals
    WHERE grouping = :groupBy AND from_day >= :fromDay AND to_day <= :toDay GROUP BY value`,
)
const closedByDay = statement<BookRow>(
  'books_closed_by_day',
  `SELECT from_day AS value, ${sums} FROM book_totals
    WHERE grouping = 'day' AND from_day >= :fromDay AND to_day <= :toDay GROUP BY from_day`,
)

const emails = statement<UserEmail>(
  'books_emails',
  ({ members }) => `SELECT id, email FROM users WHERE id IN (SELECT id FROM ${members(':ids')})`,
)

export function readEmails(on: Reads, userIds: readonly string[]): Answer<UserEmail[]> {
  return on.all(emails, { ids: JSON.stringify(Object.fromEntries(userIds.map((userId) => [userId, 0]))) })
}

/** Reads closed days and months from the precomputed totals, and all others from the per-user sums. */
export function* readBooks(on: Reads, { fromDay, groupBy, toDay, userId }: ReadBooks): Op<BookRow[]> {
  if (userId !== undefined) return yield* on.all(ofUser[groupBy], { fromDay, toDay, userId })
  const closedTo = Math.min(toDay, yield* closedUntil(on))
  const start = isByMonth(groupBy) ? firstMonthStart(fromDay) : fromDay
  const end = isByMonth(groupBy) ? monthStart(closedTo) : closedTo
  if (start >= end) return yield* on.all(ofAll[groupBy], { fromDay, toDay })
  const totals = groupBy === 'day' ? closedByDay : closed
  return [
    ...(start > fromDay ? yield* on.all(ofAll[groupBy], { fromDay, toDay: start }) : []),
    ...(yield* on.all(totals, { groupBy, fromDay: start, toDay: end })),
    ...(end < toDay ? yield* on.all(ofAll[groupBy], { fromDay: end, toDay }) : []),
  ]
}
