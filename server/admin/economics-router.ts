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
          summary: 'Get revenue, provider cost and margin (admins, platforms)',
          description:
            'Sums the tasks and turns that ended in the period, by day, agent, endpoint, model, user, plan or API key. Each sum is updated in the transaction that ends the task or turn. With `Accept: text/csv`, returns the groups as CSV.',
          protect: true,
          successDescription: 'The sums of the period and of each group.',
          errorResponses: {
            400: 'A parameter is invalid.',
            403: 'The caller is neither an admin with a browser login nor a platform key with the `economics` scope.',
          },
        },
      })
      .input(EconomicsInput)
      .output(Economics)
      .query(withPlatform('economics', ({ input }) => readEconomics(parts.store, input))),
  })
