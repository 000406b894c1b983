import { readSystem, type AdminParts } from './system-state.ts'
import { z } from 'zod'
import { procedure, router, withAdmin } from '../procedures/procedure.ts'
import { System } from './system-schema.ts'

export const systemRouter = (parts: AdminParts) =>
  router({
    get: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/system',
          operationId: 'getSystem',
          tags: ['System'],
          summary: 'Get the state of the service (admins)',
          description:
            'Returns tasks, turns, threads, memory, database and ledger, as seen by the process that responds.',
          protect: true,
          successDescription: 'Work in progress, resources in use, and agents with their prices.',
          errorResponses: { 403: 'The caller is not an admin with a browser login.' },
        },
      })
      .input(z.object({}).optional())
      .output(System)
      .query(withAdmin(() => readSystem(parts))),
  })
