import { formatUsd } from '../kernel/money.ts'
import { firstMonthStart } from '../store/books/book-closing.ts'
import type { BookGroup } from '../store/books/book-groups.ts'
import type { BookRow, BookSums } from '../store/books/book-reads.ts'
import { billionthsPerUnit } from '../store/sessions/carried-cost.ts'
import type { Store } from '../store/store.ts'

const daysPerRead = 330
const userDaysPerRead = 7
export const groupsMax = 1000

const none: BookSums = { executions: 0, failures: 0, charged: 0, refunded: 0, writtenOff: 0, providerCost: 0 }

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
