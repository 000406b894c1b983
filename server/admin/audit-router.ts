import type { z } from 'zod'
import { isoTime } from '../kernel/clock.ts'
import { procedure, router, withAdmin } from '../procedures/procedure.ts'
import { nextOf, readRange } from '../store/list-place.ts'
import type { Store } from '../store/store.ts'
import { ListAuditInput, ListAuditOutput } from './audit-schema.ts'
import type { AdminParts } from './system-state.ts'

export async function listAudit(
  { audit }: Pick<Store, 'audit'>,
  input: z.output<typeof ListAuditInput>,
): Promise<z.output<typeof ListAuditOutput>> {
  const { action, limit, userId } = input
  const { list, range } = readRange('audit', '', { ...input, offset: 0 })
  const of = { ...(userId !== undefined && { userId }), ...(action !== undefined && { action }) }
  const { acts, next } = await audit.list({ ...of, ...range, limit })
  return { acts: acts.map((act) => ({ ...act, createdAt: isoTime(act.createdAt) })), ...nextOf(next, list) }
}

export const auditRouter = (parts: Pick<AdminParts, 'store'>) =>
  router({
    list: procedure
      .meta({
        isTable: true,
        openapi: {
          method: 'GET',
          path: '/api/admin/audit',
          operationId: 'listAudit',
          tags: ['System'],
          summary: 'List the audit log, newest first (admins)',
          description:
            'Lists logins, and changes to users, keys, credit, limits and invitations, with actor, time, IP address and change. A row is written in the transaction of the change and never changes. With `Accept: text/csv`, returns the rows as CSV.',
          protect: true,
          successDescription: 'One page of the audit log.',
          errorResponses: {
            400: 'A parameter is invalid.',
            403: 'The caller is not an admin with a browser login.',
          },
        },
      })
      .input(ListAuditInput)
      .output(ListAuditOutput)
      .query(withAdmin(({ input }) => listAudit(parts.store, input))),
  })
