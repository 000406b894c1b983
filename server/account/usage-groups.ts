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
  const spentPerDay = new Map<string | number, Units[]>()
  const onRow = ({ charged, day = fromDay, value }: BookRow) => {
    const spent = spentPerDay.get(value) ?? Array.from({ length: days }, () => 0)
    spentPerDay.set(value, spent)
    spent[day - fromDay]! += charged
  }
  const { groups } = await sumBooks(store, { groupBy, userId, fromDay, toDay, onRow })
  return groups.slice(0, groupsMax).map(({ charged, executions, failures, refunded, value }, n) => ({
    value: String(value),
    spentUsd: formatUsd(charged),
    refundedUsd: formatUsd(refunded),
    executions,
    failures,
    ...(n < dailyGroupsMax && { spentPerDayUsd: spentPerDay.get(value)!.map(formatUsd) }),
  }))
}
