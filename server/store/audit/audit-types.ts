import type { EpochMs } from '../../kernel/clock.ts'
import type { ListPlace } from '../list-place.ts'

export const auditActions = [
  'login.created',
  'login.failed',
  'login.ended',
  'password.changed',
  'identity.linked',
  'user.created',
  'user.updated',
  'user.unblocked',
  'user.erased',
  'user.exported',
  'limits.changed',
  'balance.changed',
  'key.created',
  'key.updated',
  'key.rotated',
  'key.revoked',
  'platform_key.created',
  'platform_key.revoked',
  'invitation.created',
  'invitation.revoked',
  'invitation.accepted',
  'connector.created',
  'connector.updated',
  'connector.deleted',
  'webhook.created',
  'webhook.updated',
  'webhook.rotated',
  'webhook.deleted',
  'auto_recharge.changed',
  'payment_method.removed',
] as const
export type AuditAction = (typeof auditActions)[number]

/** Kinds of actors. A `visitor` has no credential. The actor of background work is `service`. */
export const actorKinds = ['user', 'key', 'platformKey', 'clientToken', 'commandLine', 'visitor', 'service'] as const

export type Actor = {
  kind: (typeof actorKinds)[number]
  /** Id of the user, key or token, or null for other kinds. */
  id: string | null
  client: string | null
}

/**
 * `userId` is the user that the record is about. `change` contains ids and values, but no names or email addresses.
 */
export type Act = { action: AuditAction; userId?: string | null; change?: Record<string, unknown> }

export type AuditRecord = {
  seq: number
  action: AuditAction
  actor: Actor['kind']
  actorId: string | null
  client: string | null
  userId: string | null
  change: string
  createdAt: EpochMs
}

export type ListAudit = { userId?: string; action?: AuditAction; after?: ListPlace; limit: number }

export type AuditStore = {
  /** Returns records, newest first. */
  list(input: ListAudit): Promise<{ acts: AuditRecord[]; next?: ListPlace }>
  /** Records an act that changes nothing else, such as a failed login. */
  note(act: Act): Promise<void>
}
