import { newId } from '../../kernel/ids.ts'
import type { InvitationRecord } from '../records.ts'
import type { CreateInvitation } from '../people.ts'
import { endedKeptMs } from '../account-bounds.ts'
import type { Page } from '../store.ts'
import type { Connection } from './pooled-connection.ts'
import { and, desc, eq, gt, inArray, isNull, lte, sql } from './drizzle.ts'
import { invitations } from './login-tables.ts'
import { statementsOf } from './statements.ts'
import type { Transaction } from './transaction.ts'

// Links that make an account or set a password, once.

type Row = typeof invitations.$inferSelect
type Found = InvitationRecord & { userId: string | null }

export async function insertInvitation(tx: Transaction, input: CreateInvitation): Promise<InvitationRecord> {
  const now = await tx.now()
  const { isAdmin, ...columns } = input
  const row = { ...columns, email: input.email.toLowerCase(), id: newId('inv', now), isAdmin: isAdmin ? 1 : 0 }
  const { insert, replace } = statements(tx)
  // A later link for the same purpose takes the place of an earlier one.
  await replace.run({ kind: row.kind, email: row.email })
  await insert.run({ ...row, now })
  tx.made({ table: 'invitations', id: row.id })
  return toRecord({ ...row, createdAt: now, acceptedAt: null })
}

/** One that can still be accepted. */
export async function findInvitation(connection: Connection, tokenHash: string): Promise<Found | undefined> {
  const row = await statements(connection).find.get({ tokenHash, now: await connection.now() })
  return row && { ...toRecord(row), userId: row.userId }
}

/** As `findInvitation`; nobody else can accept it until the transaction ends. */
export async function takeInvitation(tx: Transaction, tokenHash: string): Promise<Found | undefined> {
  const row = await statements(tx).take.get({ tokenHash, now: await tx.now() })
  return row && { ...toRecord(row), userId: row.userId }
}

export async function listInvitations(
  connection: Connection,
  { limit, offset }: Page,
): Promise<{ invitations: InvitationRecord[]; total: number }> {
  const { count, list } = statements(connection)
  const [rows, counted] = await Promise.all([list.all({ limit, offset }), count.get()])
  return { invitations: rows.map(toRecord), total: counted!.total }
}

/** False when it is unknown or was accepted. */
export async function revokeInvitation(tx: Transaction, invitationId: string): Promise<boolean> {
  return (await statements(tx).revoke.run({ invitationId })) === 1
}

/** The open links that a user made end with the user's standing: whoever made one may have kept it. */
export async function revokeInvitationsOf(tx: Transaction, createdBy: string): Promise<void> {
  await statements(tx).revokeOf.run({ createdBy })
}

/** A user's open password link ends when the password is changed otherwise: whoever has it would undo that. */
export async function revokePasswordLink(tx: Transaction, userId: string): Promise<void> {
  await statements(tx).revokePasswordLink.run({ userId })
}

export async function noteAccepted(tx: Transaction, of: { invitationId: string; userId: string }): Promise<void> {
  await statements(tx).accepted.run({ ...of, now: await tx.now() })
}

export async function purgeInvitations(tx: Transaction, rowsMax: number): Promise<number> {
  return await statements(tx).purge.run({ until: (await tx.now()) - endedKeptMs, rowsMax })
}

function toRecord(row: Omit<Row, 'seq' | 'tokenHash' | 'userId' | 'createdBy'>): InvitationRecord {
  const { acceptedAt, createdAt, credit, email, expiresAt, id, isAdmin, kind } = row
  return { id, kind, email, isAdmin: isAdmin === 1, credit, createdAt, expiresAt, acceptedAt }
}

const statements = statementsOf('invitation', (orm) => {
  const isThis = eq(invitations.id, sql.placeholder('invitationId'))
  const isOpen = isNull(invitations.acceptedAt)
  return {
    insert: orm.insert(invitations).values({
      id: sql.placeholder('id'),
      tokenHash: sql.placeholder('tokenHash'),
      kind: sql.placeholder('kind'),
      email: sql.placeholder('email'),
      userId: sql.placeholder('userId'),
      isAdmin: sql.placeholder('isAdmin'),
      credit: sql.placeholder('credit'),
      createdBy: sql.placeholder('createdBy'),
      createdAt: sql.placeholder('now'),
      expiresAt: sql.placeholder('expiresAt'),
    }),
    replace: orm
      .delete(invitations)
      .where(
        and(eq(invitations.kind, sql.placeholder('kind')), eq(invitations.email, sql.placeholder('email')), isOpen),
      ),
    find: orm
      .select()
      .from(invitations)
      .where(
        and(
          eq(invitations.tokenHash, sql.placeholder('tokenHash')),
          isOpen,
          gt(invitations.expiresAt, sql.placeholder('now')),
        ),
      ),
    take: orm
      .select()
      .from(invitations)
      .where(
        and(
          eq(invitations.tokenHash, sql.placeholder('tokenHash')),
          isOpen,
          gt(invitations.expiresAt, sql.placeholder('now')),
        ),
      )
      .for('update'),
    list: orm
      .select()
      .from(invitations)
      .orderBy(desc(invitations.createdAt), desc(invitations.seq))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset')),
    count: orm.select({ total: sql<number>`count(*)`.mapWith(Number) }).from(invitations),
    revoke: orm.delete(invitations).where(and(isThis, isOpen)),
    revokeOf: orm.delete(invitations).where(and(eq(invitations.createdBy, sql.placeholder('createdBy')), isOpen)),
    revokePasswordLink: orm
      .delete(invitations)
      .where(and(eq(invitations.kind, 'password'), eq(invitations.userId, sql.placeholder('userId')), isOpen)),
    accepted: orm
      .update(invitations)
      .set({ acceptedAt: sql`${sql.placeholder('now')}`, userId: sql`${sql.placeholder('userId')}` })
      .where(isThis),
    purge: orm.delete(invitations).where(
      inArray(
        invitations.id,
        orm
          .select({ id: invitations.id })
          .from(invitations)
          .where(lte(invitations.expiresAt, sql.placeholder('until')))
          .limit(sql.placeholder('rowsMax')),
      ),
    ),
  }
})
