import type { Units } from '../../kernel/money.ts'
import type { Answer, Reads } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'

/** Columns by which the sums of ended executions can be grouped. */
export const bookGroups = ['day', 'agent', 'endpoint', 'model', 'user', 'plan', 'key'] as const
export type BookGroup = (typeof bookGroups)[number]

export type BookSums = {
  executions: number
  failures: number
  charged: Units
  refunded: Units
  writtenOff: Units
  /** Billionths of a USD. */
  providerCost: number
}

/** `value`: the day, counted from 1970-01-01, an id or a name. Empty if there is none, or none is known. */
export type BookRow = BookSums & { value: string | number }

/** Days from `fromDay` until before `toDay`, counted from 1970-01-01. Without `userId`, of all users. */
export type ReadBooks = { groupBy: BookGroup; fromDay: number; toDay: number; userId?: string }

const columnOf: Record<BookGroup, string> = {
  day: 'day',
  agent: 'agent_id',
  endpoint: 'endpoint_id',
  model: 'model',
  user: 'user_id',
  plan: 'plan',
  key: 'key_id',
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

const byGroup = (name: string, condition: string) =>
  Object.fromEntries(
    bookGroups.map((group) => [
      group,
      statement<BookRow>(
        `${name}_${group}`,
        `SELECT ${columnOf[group]} AS value, ${sums} FROM book_days
          WHERE ${condition}day >= :fromDay AND day < :toDay GROUP BY ${columnOf[group]}`,
      ),
    ]),
  ) as Record<BookGroup, ReturnType<typeof statement<BookRow>>>
const ofAll = byGroup('books', '')
const ofUser = byGroup('books_of_user', 'user_id = :userId AND ')

export function readBooks(on: Reads, { fromDay, groupBy, toDay, userId }: ReadBooks): Answer<BookRow[]> {
  const days = { fromDay, toDay }
  return userId === undefined ? on.all(ofAll[groupBy], days) : on.all(ofUser[groupBy], { ...days, userId })
}
