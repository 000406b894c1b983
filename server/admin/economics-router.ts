import { procedure, router, withPlatform } from '../procedures/procedure.ts'
import { Economics, EconomicsInput } from './economics-schema.ts'
import { readEconomics } from './read-economics.ts'
import type { AdminParts } from './system-state.ts'

export const economicsRouter = (parts: Pick<AdminParts, 'store'>) =>
  router({
    get: procedure
      .meta({
        isTable: true,
        openapi: {
          method: 'GET',
          path: '/api/admin/economics',
          operationId: 'getEconomics',
          tags: ['System'],
          summary: "Get revenue, providers' cost and margin (admins, platforms)",
          description:
            'Sums of the tasks and chats that ended in the period, by day, agent, endpoint, model, user, plan or API key. The sums change in the transaction that ends each of them. With `Accept: text/csv`, the groups are returned as CSV.',
          protect: true,
          successDescription: 'The sums of the period and of each group.',
          errorResponses: {
            400: 'A parameter is invalid.',
            403: 'The caller is neither an admin with a browser login nor a platform key with the scope `economics`.',
          },
        },
      })
      .input(EconomicsInput)
      .output(Economics)
      .query(withPlatform('economics', ({ input }) => readEconomics(parts.store, input))),
  })
