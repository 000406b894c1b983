import type { z } from 'zod'
import { isoTime } from '../kernel/clock.ts'
import { formatUsd } from '../kernel/money.ts'
import type { TransactionRecord } from '../store/records.ts'
import type { Store, ListTransactions } from '../store/store.ts'
import type { ListTransactionsOutput, Transaction } from './billing-schema.ts'

export async function listTransactions(
  store: Store,
  of: ListTransactions,
): Promise<z.output<typeof ListTransactionsOutput>> {
  const { transactions, total } = await store.listTransactions(of)
  return { transactions: transactions.map(toTransaction), total, limit: of.limit, offset: of.offset }
}

function toTransaction(record: TransactionRecord): Transaction {
  const { breakdown, taskId, sessionId, turnId } = record
  return {
    id: record.id,
    userId: record.userId,
    type: record.type,
    amountUsd: formatUsd(record.amount),
    balanceAfterUsd: formatUsd(record.balanceAfter),
    ...(taskId !== null && { taskId }),
    ...(sessionId !== null && { sessionId }),
    ...(turnId !== null && { turnId }),
    description: record.description,
    ...(breakdown !== null && { breakdown }),
    createdAt: isoTime(record.createdAt),
  }
}
