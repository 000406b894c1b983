import type { Store } from '../store/store.ts'
import { procedure, router, withScope } from '../procedures/procedure.ts'
import { ListTransactionsInput, ListTransactionsOutput } from './account-schema.ts'
import { listTransactions } from './list-transactions.ts'

export const transactionsRouter = (store: Store) =>
  router({
    list: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/transactions',
          operationId: 'listTransactions',
          tags: ['Billing'],
          summary: "List the caller's transactions, newest first",
          description: 'The balance is the sum of all transactions. Each transaction includes the balance after it.',
          protect: true,
          successDescription: 'One page of transactions and the total.',
          errorResponses: { 400: 'A parameter is invalid.' },
        },
      })
      .input(ListTransactionsInput)
      .output(ListTransactionsOutput)
      .query(withScope('read', ({ ctx, input }) => listTransactions(store, { input, userId: ctx.caller.userId }))),
  })
