import type { TransactionRecord } from '../store/accounts/account-types.ts'
import type { z } from 'zod'
import { receiptRates } from '../billing/written-rates.ts'
import { isoTime } from '../kernel/clock.ts'
import { formatUsd } from '../kernel/money.ts'
import { nextOf, readRange } from '../store/list-place.ts'
import type { Store } from '../store/store.ts'
import type { ListTransactionsInput, ListTransactionsOutput, Transaction } from './account-schema.ts'

export async function listTransactions(
  store: Store,
  { input, userId }: { input: z.output<typeof ListTransactionsInput>; userId: string },
): Promise<z.output<typeof ListTransactionsOutput>> {
  const { limit, offset, sessionId, taskId, transactionId, turnId, type } = input
  const { list, range } = readRange('transactions', userId, input)
  const { next, total, transactions } = await store.listTransactions({
    userId,
    ...(type !== undefined && { type }),
    ...(transactionId !== undefined && { transactionId }),
    ...(taskId !== undefined && { taskId }),
    ...(sessionId !== undefined && { sessionId }),
    ...(turnId !== undefined && { turnId }),
    ...range,
    limit,
    offset,
  })
  return { transactions: transactions.map(toTransaction), total, limit, offset, ...nextOf(next, list) }
}

export function toTransaction(record: TransactionRecord): Transaction {
  const { breakdown, taskId, sessionId, topupId, turnId } = record
  return {
    id: record.id,
    userId: record.userId,
    type: record.type,
    amountUsd: formatUsd(record.amount),
    balanceAfterUsd: formatUsd(record.balanceAfter),
    ...(taskId !== null && { taskId }),
    ...(sessionId !== null && { sessionId }),
    ...(turnId !== null && { turnId }),
    ...(topupId !== null && { topupId }),
    description: record.description,
    ...(breakdown !== null && { breakdown: { ...breakdown, rates: receiptRates(breakdown.rates) } }),
    createdAt: isoTime(record.createdAt),
  }
}
