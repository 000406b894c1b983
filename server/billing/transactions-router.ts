import { isoTime } from '../kernel/clock.ts'
import { formatUsd } from '../kernel/money.ts'
import { procedure, router, withScope } from '../rpc/trpc.ts'
import type { TransactionRecord } from '../store/records.ts'
import { ListTransactionsInput, ListTransactionsOutput, type Transaction } from './billing-schema.ts'

export const transactionsRouter = router({
  list: procedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/api/transactions',
        operationId: 'listTransactions',
        tags: ['Billing'],
        summary: "List the caller's transactions, newest first",
        description: 'The balance is the sum of all transactions; each carries the balance after it.',
        protect: true,
        successDescription: 'One page of transactions and the total.',
        errorResponses: { 400: 'A parameter is invalid.' },
      },
    })
    .input(ListTransactionsInput)
    .output(ListTransactionsOutput)
    .query(
      withScope('read', async ({ ctx, input }) => {
        const { type, taskId, sessionId, limit, offset } = input
        const { transactions, total } = await ctx.services.store.listTransactions({
          userId: ctx.caller.userId,
          ...(type !== undefined && { type }),
          ...(taskId !== undefined && { taskId }),
          ...(sessionId !== undefined && { sessionId }),
          limit,
          offset,
        })
        return { transactions: transactions.map(toTransaction), total, limit, offset }
      }),
    ),
})

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
