import { z } from 'zod'
import { cursorInput, cursorOutput, isoTimestamp, resourceId } from '../kernel/wire-types.ts'
import { actorKinds, auditActions } from '../store/audit/audit-types.ts'

const action = z.enum(auditActions)

export const ListAuditInput = z.object({
  userId: resourceId.optional().describe('Returns only entries about this user'),
  action: action.optional().describe('Returns only entries with this action'),
  limit: cursorInput.limit,
  after: cursorInput.after,
})

export const AuditAct = z
  .object({
    seq: z.number().int().describe('Position in the audit log'),
    createdAt: isoTimestamp,
    action,
    actor: z.enum(actorKinds).describe('Kind of actor; a `visitor` has not logged in'),
    actorId: z.string().nullable().describe('Id of the user, key or token that acted'),
    client: z.string().nullable().describe('IP address of the client'),
    userId: z.string().nullable().describe('The user whom the action affects'),
    change: z.string().describe('JSON object with the changed ids and values'),
  })
  .meta({ id: 'AuditAct' })

export const ListAuditOutput = z.object({ acts: z.array(AuditAct), ...cursorOutput })
