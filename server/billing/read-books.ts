import { z } from 'zod'
import type { EpochMs } from '../kernel/clock.ts'
import { badField } from '../kernel/errors.ts'
import { formatUsd } from '../kernel/money.ts'
import { firstMonthStart } from '../store/books/book-closing.ts'
import type { BookGroup } from '../store/books/book-groups.ts'
import type { BookRow, BookSums } from '../store/books/book-reads.ts'
import { billionthsPerUnit } from '../store/sessions/carried-cost.ts'
import type { Store } from '../store/store.ts'

const dayMs = 86_400_000
const daysMax = 1100
const daysPerRead = 330
const userDaysPerRead = 7
export const groupsMax = 1000

const none: BookSums = { executions: 0, failures: 0, charged: 0, refunded: 0, writtenOff: 0, providerCost: 0 }

export const day = z.iso.date().meta({ format: 'date' })

type Period = { from: string; to: string }

export function daysOf({ from, to }: Period): { fromDay: number; toDay: number } {
  const [fromDay, lastDay] = [from, to].map((text) => Math.floor(Date.parse(text) / dayMs)) as [number, number]
  if (lastDay < fromDay) throw badField('to', 'Must not be earlier than `from`')
  if (lastDay - fromDay >= daysMax) throw badField('from', `Must be at most ${daysMax - 1} days before \`to\``)
  return { fromDay, toDay: lastDay + 1 }
}

/** Part of the input of operations that cover a period. */
export const periodInput = {
  from: day.optional().describe('First UTC day; the period can have at most 1,100 days'),
  to: day.optional().describe('Last UTC day, today by default; later days are omitted'),
}

type GivenPeriod = { [Field in keyof Period]?: Period[Field] | undefined } & { days: number }

/** Returns the given period. Without `from`, it has `days` days. */
export function periodDays({ days, from, to }: GivenPeriod, now: EpochMs): { fromDay: number; toDay: number } {
  const today = dateOf(Math.floor(now / dayMs))
  if (from !== undefined && from > today) throw badField('from', 'Must not be later than today (UTC)')
  const last = to === undefined || to > today ? today : to
  const { fromDay, toDay } = daysOf({ from: from ?? last, to: last })
  return { fromDay: from === undefined ? toDay - days : fromDay, toDay }
}

export function dateOf(dayNumber: number): string {
  return new Date(dayNumber * dayMs).toISOString().slice(0, 10)
}

type Read = { groupBy: BookGroup; fromDay: number; toDay: number; userId?: string }

/** Returns the sums for each group and in total. Days are sorted by date, and other groups by charge, highest first. */
export async function sumBooks(
  store: Pick<Store, 'books'>,
  { fromDay, onRow, toDay, ...of }: Read & { onRow?: (row: BookRow) => void },
): Promise<{ total: BookSums; groups: BookRow[] }> {
  const groups = new Map<string | number, BookRow>()
  // Read the period in chunks, so that other requests can run in between. When summing over all users, each chunk ends
  // at the end of a month, because the store has precomputed monthly totals.
  for (let at = fromDay, end; at < toDay; at = end) {
    end = Math.min(toDay, of.userId === undefined ? firstMonthStart(at + daysPerRead) : at + userDaysPerRead)
    if (at > fromDay) await new Promise((resolve) => setImmediate(resolve))
    const rows = await store.books.read({ ...of, fromDay: at, toDay: end })
    for (const row of rows) {
      groups.set(row.value, { ...added(groups.get(row.value) ?? none, row), value: row.value })
      onRow?.(row)
    }
  }
  const all = [...groups.values()]
  const total = all.reduce<BookSums>(added, none)
  const inOrder = (one: BookRow, other: BookRow) =>
    of.groupBy === 'day'
      ? Number(one.value) - Number(other.value)
      : other.charged - one.charged || (one.value < other.value ? -1 : 1)
  return { total, groups: all.toSorted(inOrder) }
}

function added(one: BookSums, other: BookSums): BookSums {
  return {
    executions: one.executions + other.executions,
    failures: one.failures + other.failures,
    charged: one.charged + other.charged,
    refunded: one.refunded + other.refunded,
    writtenOff: one.writtenOff + other.writtenOff,
    providerCost: one.providerCost + other.providerCost,
  }
}

export function formatBillionths(billionths: number): string {
  const size = Math.abs(billionths)
  const usd = formatUsd(Math.floor(size / billionthsPerUnit)) + String(size % billionthsPerUnit).padStart(5, '0')
  return billionths < 0 ? `-${usd}` : usd
}

/** Returns the margin in billionths of a USD: charges minus refunds and provider costs. */
export function marginOf({ charged, providerCost, refunded }: BookSums): number {
  return (charged - refunded) * billionthsPerUnit - providerCost
}
