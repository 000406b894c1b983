import type { z } from 'zod'
import { groupsMax, sumBooks } from '../billing/read-books.ts'
import type { EpochMs } from '../kernel/clock.ts'
import { formatUsd, type Units } from '../kernel/money.ts'
import type { BookGroup } from '../store/books/book-groups.ts'
import type { BookRow } from '../store/books/book-reads.ts'
import type { Store } from '../store/store.ts'
import type { Usage } from './account-schema.ts'

const dayMs = 86_400_000
/** Maximum number of groups with their spending per day. */
const dailyGroupsMax = 6

type ReadGroups = { userId: string; groupBy: BookGroup; days: number; now: EpochMs }

/** Returns what a user spent in the last `days` UTC days, by group. */
export async function readGroups(
  store: Pick<Store, 'books'>,
  { days, groupBy, now, userId }: ReadGroups,
): Promise<NonNullable<z.output<typeof Usage>['groups']>> {
  const toDay = Math.floor(now / dayMs) + 1
  const fromDay = toDay - days
  const rows: BookRow[] = []
  const { groups } = await sumBooks(store, { groupBy, userId, fromDay, toDay, onRow: (row) => rows.push(row) })
  const spentPerDay = (of: string | number) => {
    const spent = Array.from({ length: days }, (): Units => 0)
    for (const { charged, day = fromDay, value } of rows) if (value === of) spent[day - fromDay]! += charged
    return spent.map(formatUsd)
  }
  return groups.slice(0, groupsMax).map(({ charged, executions, failures, refunded, value }, n) => ({
    value: String(value),
    spentUsd: formatUsd(charged),
    refundedUsd: formatUsd(refunded),
    executions,
    failures,
    ...(n < dailyGroupsMax && { spentPerDayUsd: spentPerDay(value) }),
  }))
}
