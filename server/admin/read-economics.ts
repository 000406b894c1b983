import type { z } from 'zod'
import { dateOf, daysOf } from '../kernel/clock.ts'
import { formatBillionths, groupsMax, marginOf, sumBooks } from '../billing/read-books.ts'
import { formatUsd } from '../kernel/money.ts'
import type { BookSums } from '../store/books/book-reads.ts'
import type { Store } from '../store/store.ts'
import type { Economics, EconomicsInput } from './economics-schema.ts'

export async function readEconomics(
  store: Pick<Store, 'books'>,
  { from, groupBy, to }: z.output<typeof EconomicsInput>,
): Promise<Economics> {
  const { groups, total } = await sumBooks(store, { groupBy, ...daysOf({ from, to }) })
  const shown = groups.slice(0, groupsMax)
  const emails = groupBy === 'user' ? await emailsOf(store, shown) : undefined
  return {
    from,
    to,
    groupBy,
    total: written(total),
    groups: shown.map(({ value, ...sums }) => ({
      value: typeof value === 'number' ? dateOf(value) : value,
      ...(emails && { email: emails.get(String(value)) ?? '' }),
      ...written(sums),
    })),
    groupCount: groups.length,
  }
}

async function emailsOf(store: Pick<Store, 'books'>, groups: readonly { value: string | number }[]) {
  const users = await store.books.readEmails(groups.map(({ value }) => String(value)))
  return new Map(users.map(({ email, id }) => [id, email]))
}

function written(sums: BookSums): Economics['total'] {
  const { charged, executions, failures, providerCost, refunded, writtenOff } = sums
  return {
    executions,
    failures,
    chargedUsd: formatUsd(charged),
    refundedUsd: formatUsd(refunded),
    revenueUsd: formatUsd(charged - refunded),
    writtenOffUsd: formatUsd(writtenOff),
    providerCostUsd: formatBillionths(providerCost),
    marginUsd: formatBillionths(marginOf(sums)),
  }
}
