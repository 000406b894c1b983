import { z } from 'zod'
import { procedure, router, withAdmin } from '../rpc/trpc.ts'
import { System } from './system-schema.ts'
import { readSystem } from './system-state.ts'

export const systemRouter = router({
  get: procedure
    .meta({
      openapi: {
        method: 'GET',
        path: '/api/system',
        operationId: 'getSystem',
        tags: ['System'],
        summary: 'See how the service is doing (admins)',
        description: 'Of the process that answers: tasks, chats, threads, memory, database and ledger.',
        protect: true,
        successDescription: 'What runs, what it takes, and the agents with their prices.',
        errorResponses: { 403: 'The caller is no admin with a browser login.' },
      },
    })
    .input(z.object({}).optional())
    .output(System)
    .query(withAdmin(({ ctx }) => readSystem(ctx.services.admin))),
})
