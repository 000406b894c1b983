import type { Clock } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { InvitationRecord } from '../records.ts'
import type { CreateInvitation } from '../people.ts'
import { endedKeptMs } from '../account-bounds.ts'
import type { Page } from '../store.ts'
import { and, desc, eq, gt, inArray, isNull, lte, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import { invitations } from './login-tables.ts'

type Row = typeof invitations.$inferSelect

/** Links that make an account or set a password, once. */
export class InvitationRows {
  readonly #statements
  readonly #clock: Clock

  constructor(connection: Connection, clock: Clock) {
    this.#statements = prepare(connection)
    this.#clock = clock
  }

  create({ isAdmin, ...input }: CreateInvitation): InvitationRecord {
    const now = this.#clock.now()
    const row = { ...input, email: input.email.toLowerCase(), id: newId('inv', now), isAdmin: isAdmin ? 1 : 0 }
    // A later link for the same purpose takes the place of an earlier one.
    this.#statements.replace.run({ kind: row.kind, email: row.email })
    this.#statements.insert.run({ ...row, now })
    return toRecord({ ...row, createdAt: now, acceptedAt: null })
  }

  /** One that can still be accepted. */
  find(tokenHash: string): (InvitationRecord & { userId: string | null }) | undefined {
    const row = this.#statements.find.get({ tokenHash, now: this.#clock.now() })
    return row && { ...toRecord(row), userId: row.userId }
  }

  list({ limit, offset }: Page): { invitations: InvitationRecord[]; total: number } {
    const rows = this.#statements.list.all({ limit, offset })
    return { invitations: rows.map(toRecord), total: this.#statements.count.get()!.total }
  }

  /** False when it is unknown or was accepted. */
  revoke(invitationId: string): boolean {
    return this.#statements.revoke.run({ invitationId }).changes === 1
  }

  /** The open links that a user made end with the user's standing: whoever made one may have kept it. */
  revokeOf(createdBy: string): void {
    this.#statements.revokeOf.run({ createdBy })
  }

  /** A user's open password link ends when the password is changed otherwise: whoever has it would undo that. */
  revokePasswordLink(userId: string): void {
    this.#statements.revokePasswordLink.run({ userId })
  }

  accepted({ invitationId, userId }: { invitationId: string; userId: string }): void {
    this.#statements.accepted.run({ invitationId, userId, now: this.#clock.now() })
  }

  purge(rowsMax: number): number {
    return this.#statements.purge.run({ until: this.#clock.now() - endedKeptMs, rowsMax }).changes
  }
}

function toRecord({ isAdmin, ...row }: Omit<Row, 'tokenHash' | 'userId' | 'createdBy'>): InvitationRecord {
  const { acceptedAt, createdAt, credit, email, expiresAt, id, kind } = row
  return { id, kind, email, isAdmin: isAdmin === 1, credit, createdAt, expiresAt, acceptedAt }
}

function prepare({ orm }: Connection) {
  const isThis = eq(invitations.id, sql.placeholder('invitationId'))
  const isOpen = isNull(invitations.acceptedAt)
  return {
    insert: orm
      .insert(invitations)
      .values({
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
      })
      .prepare(),
    replace: orm
      .delete(invitations)
      .where(
        and(eq(invitations.kind, sql.placeholder('kind')), eq(invitations.email, sql.placeholder('email')), isOpen),
      )
      .prepare(),
    find: orm
      .select()
      .from(invitations)
      .where(
        and(
          eq(invitations.tokenHash, sql.placeholder('tokenHash')),
          isOpen,
          gt(invitations.expiresAt, sql.placeholder('now')),
        ),
      )
      .prepare(),
    list: orm
      .select()
      .from(invitations)
      .orderBy(desc(invitations.createdAt), sql`rowid DESC`)
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .prepare(),
    count: orm
      .select({ total: sql<number>`count(*)` })
      .from(invitations)
      .prepare(),
    revoke: orm.delete(invitations).where(and(isThis, isOpen)).prepare(),
    revokeOf: orm
      .delete(invitations)
      .where(and(eq(invitations.createdBy, sql.placeholder('createdBy')), isOpen))
      .prepare(),
    revokePasswordLink: orm
      .delete(invitations)
      .where(and(eq(invitations.kind, 'password'), eq(invitations.userId, sql.placeholder('userId')), isOpen))
      .prepare(),
    accepted: orm
      .update(invitations)
      .set({ acceptedAt: sql`${sql.placeholder('now')}`, userId: sql`${sql.placeholder('userId')}` })
      .where(isThis)
      .prepare(),
    purge: orm
      .delete(invitations)
      .where(
        inArray(
          invitations.id,
          orm
            .select({ id: invitations.id })
            .from(invitations)
            .where(lte(invitations.expiresAt, sql.placeholder('until')))
            .limit(sql.placeholder('rowsMax')),
        ),
      )
      .prepare(),
  }
}
