import type { Page } from '../list-place.ts'
import { newId } from '../../kernel/ids.ts'
import { endedKeptMs } from '../limits/account-bounds.ts'
import type { CreateInvitation, InvitationRecord } from './people-types.ts'
import { mailLink } from '../mails/mail-commands.ts'
import type { Op, Reads, Tx } from '../commands/command.ts'
import { columns, insertInto, statement } from '../commands/statement.ts'

type Row = Omit<InvitationRecord, 'isAdmin'> & { isAdmin: 0 | 1; userId: string | null }
type Found = InvitationRecord & { userId: string | null }

const row = columns('id kind email userId isAdmin credit createdAt expiresAt acceptedAt')
const open = `SELECT ${row} FROM invitations
  WHERE token_hash = :tokenHash AND accepted_at IS NULL AND expires_at > :now`
const find = statement<Row>('invitation_find', open)
const take = statement<Row>('invitation_take', ({ forUpdate }) => `${open} ${forUpdate}`)
const replace = statement(
  'invitation_replace',
  'DELETE FROM invitations WHERE kind = :kind AND email = :email AND accepted_at IS NULL',
)
const insert = statement(
  'invitation_insert',
  insertInto('invitations', 'id tokenHash kind email userId isAdmin credit createdBy createdAt expiresAt'),
)
const list = statement<Row>(
  'invitation_list',
  ({ seq }) => `SELECT ${row} FROM invitations ORDER BY created_at DESC, ${seq} DESC LIMIT :limit OFFSET :offset`,
)
const count = statement<{ total: number }>('invitation_count', 'SELECT count(*) AS total FROM invitations')
const revoke = statement(
  'invitation_revoke',
  'DELETE FROM invitations WHERE id = :invitationId AND accepted_at IS NULL',
)
const revokeOf = statement(
  'invitation_revoke_of',
  'DELETE FROM invitations WHERE created_by = :createdBy AND accepted_at IS NULL',
)
const revokeLink = statement(
  'invitation_revoke_link',
  `DELETE FROM invitations WHERE kind = 'password' AND user_id = :userId AND accepted_at IS NULL`,
)
const accepted = statement(
  'invitation_accepted',
  'UPDATE invitations SET accepted_at = :now, user_id = :userId WHERE id = :invitationId',
)
const purge = statement(
  'invitation_purge',
  `DELETE FROM invitations WHERE id IN (SELECT id FROM invitations WHERE expires_at <= :until LIMIT :rowsMax)`,
)

export function* insertInvitation(tx: Tx, input: CreateInvitation): Op<InvitationRecord> {
  const now = yield* tx.now()
  const { credit, createdBy, expiresAt, isAdmin, kind, mail, tokenHash, userId } = input
  const id = newId('inv', now)
  const email = input.email.toLowerCase()
  // A new link replaces earlier links of its kind, unless the user requested it. Otherwise anyone could invalidate
  // someone else's link. A sign-up link has neither `createdBy` nor `userId`.
  if (createdBy !== userId) yield* tx.run(replace, { kind, email })
  const written = { id, tokenHash, kind, email, userId, credit, createdBy, createdAt: now, expiresAt }
  yield* tx.run(insert, { ...written, isAdmin: isAdmin ? 1 : 0 })
  tx.made({ table: 'invitations', id })
  if (kind !== 'password' && mail) mailLink(tx, { kind, mail, email, at: now, expiresAt })
  return { id, kind, email, isAdmin, credit, createdAt: now, expiresAt, acceptedAt: null }
}

/** Returns undefined if the invitation is unknown, expired or already accepted. */
export function* findInvitation(on: Reads, tokenHash: string): Op<Found | undefined> {
  const found = yield* on.get(find, { tokenHash, now: yield* on.now() })
  return found && { ...toRecord(found), userId: found.userId }
}

/** Like `findInvitation`, but locks the row, so that no other transaction can accept the invitation. */
export function* takeInvitation(tx: Tx, tokenHash: string): Op<Found | undefined> {
  const found = yield* tx.get(take, { tokenHash, now: yield* tx.now() })
  return found && { ...toRecord(found), userId: found.userId }
}

export function* listInvitations(
  on: Reads,
  { limit, offset }: Page,
): Op<{ invitations: InvitationRecord[]; total: number }> {
  const rows = on.all(list, { limit, offset })
  const counted = on.get(count)
  return { invitations: (yield* rows).map(toRecord), total: (yield* counted)!.total }
}

/** Returns false if the invitation does not exist or was already accepted. */
export function* revokeInvitation(tx: Tx, invitationId: string): Op<boolean> {
  return (yield* tx.run(revoke, { invitationId })) === 1
}

/**
 * Revokes the open links that a user created, when the user may no longer create any. The user may still have copies of
 * them.
 */
export function* revokeInvitationsOf(tx: Tx, createdBy: string): Op<void> {
  yield* tx.run(revokeOf, { createdBy })
}

/**
 * Revokes a user's open password link when the password changes in another way. Otherwise the link could undo that
 * change.
 */
export function* revokePasswordLink(tx: Tx, userId: string): Op<void> {
  yield* tx.run(revokeLink, { userId })
}

export function* noteAccepted(tx: Tx, of: { invitationId: string; userId: string }): Op<void> {
  yield* tx.run(accepted, { ...of, now: yield* tx.now() })
}

export function* purgeInvitations(tx: Tx, rowsMax: number): Op<number> {
  return yield* tx.run(purge, { until: (yield* tx.now()) - endedKeptMs, rowsMax })
}

function toRecord({ isAdmin, userId: _, ...invitation }: Row): InvitationRecord {
  return { ...invitation, isAdmin: isAdmin === 1 }
}
