import type { Clock } from '../../kernel/clock.ts'
import type { LoginRecord } from '../records.ts'
import type {
  AcceptInvitationResult,
  AdmitLogin,
  AdmitLoginResult,
  CreateInvitation,
  CreateInvitationResult,
  CreateLogin,
  OpenIdentity,
  OpenIdentityResult,
  SetPassword,
  UpdateUser,
  UpdateUserResult,
} from '../people.ts'
import { and, eq, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import type { InvitationRows } from './invitation-rows.ts'
import type { KeyRows } from './key-rows.ts'
import type { Ledger } from './ledger.ts'
import type { LoginRows } from './login-rows.ts'
import type { LoginThrottle } from './login-throttle.ts'
import { identities } from './login-tables.ts'
import type { UserRows } from './user-rows.ts'

type LoginParts = {
  clock: Clock
  invitations: InvitationRows
  keys: KeyRows
  ledger: Ledger
  logins: LoginRows
  throttle: LoginThrottle
  users: UserRows
}

/** The commands by which people come in: several tables each, so that none of them is half done. */
export class LoginCommands {
  readonly #statements
  readonly #parts: LoginParts

  constructor(connection: Connection, parts: LoginParts) {
    this.#statements = prepare(connection)
    this.#parts = parts
  }

  admit(of: AdmitLogin): AdmitLoginResult {
    const until = this.#parts.throttle.admit(of)
    if (until !== undefined) return { outcome: 'refused', until }
    return { outcome: 'admitted', user: this.#parts.users.findCandidate(of.email) }
  }

  login(input: CreateLogin): LoginRecord | undefined {
    const { logins, throttle, users } = this.#parts
    const user = users.get(input.userId)
    if (!user || user.suspendedAt !== null) return undefined
    if (input.ifPasswordHash !== undefined && user.passwordHash !== input.ifPasswordHash) return undefined
    if (input.forget) throttle.forget(input.forget)
    else throttle.forgetEmail(users.get(input.userId)!.email)
    return logins.create(input)
  }

  setPassword(input: SetPassword): boolean {
    const { invitations, logins, throttle, users } = this.#parts
    if (!users.setPassword(input)) return false
    if (input.forget) throttle.forget(input.forget)
    else throttle.forgetEmail(users.get(input.userId)!.email)
    logins.endAll(input.userId, input.keepLoginId)
    invitations.revokePasswordLink(input.userId)
    return true
  }

  updateUser(input: UpdateUser): UpdateUserResult {
    const result = this.#parts.users.update(input)
    // Keys and logins are checked against what was read with them.
    this.#parts.keys.forget()
    this.#parts.logins.forget()
    if (result.outcome === 'refused') return result
    if (input.isSuspended === true) this.#parts.logins.endAll(input.userId, null)
    if (input.isSuspended === true || input.isAdmin === false) this.#parts.invitations.revokeOf(input.userId)
    return result
  }

  openIdentity({ email, issuer, mayCreate, subject }: OpenIdentity): OpenIdentityResult {
    const { users } = this.#parts
    const known = this.#statements.find.get({ issuer, subject })
    if (known) {
      const isSuspended = users.get(known.userId)?.suspendedAt !== null
      return isSuspended ? { outcome: 'refused', reason: 'suspended' } : { outcome: 'known', userId: known.userId }
    }
    // Anyone can claim an address at some provider; only one that it verified says who this is.
    if (email === null) return { outcome: 'refused', reason: 'unverified' }
    const user = users.find(email)
    if (user && user.suspendedAt !== null) return { outcome: 'refused', reason: 'suspended' }
    if (!user && !mayCreate) return { outcome: 'refused', reason: 'no-account' }
    // The issuer gave the address to somebody else, who is not to get the account of the person that had it before.
    if (user && this.#statements.findOfUser.get({ issuer, userId: user.id })) {
      return { outcome: 'refused', reason: 'linked-otherwise' }
    }
    const userId = user?.id ?? this.#create(email)
    this.#statements.insert.run({ issuer, subject, userId, now: this.#parts.clock.now() })
    return { outcome: user ? 'linked' : 'created', userId }
  }

  #create(email: string): string {
    const created = this.#parts.users.create({ email, passwordHash: null, isAdmin: false })
    if (created.outcome === 'refused') throw new Error('an address that was not found is free')
    return created.userId
  }

  invite(input: CreateInvitation): CreateInvitationResult {
    const { invitations, users } = this.#parts
    if (input.kind === 'invitation' && users.find(input.email)) return { outcome: 'refused', reason: 'email-taken' }
    return { outcome: 'created', invitation: invitations.create(input) }
  }

  acceptInvitation({ passwordHash, tokenHash }: { passwordHash: string; tokenHash: string }): AcceptInvitationResult {
    const { clock, invitations, ledger, logins, throttle, users } = this.#parts
    const invitation = invitations.find(tokenHash)
    if (!invitation) return { outcome: 'refused', reason: 'unknown' }
    const { credit, email, id: invitationId, isAdmin, kind } = invitation
    if (kind === 'password') {
      const user = users.get(invitation.userId!)!
      if (user.suspendedAt !== null) return { outcome: 'refused', reason: 'suspended' }
      users.setPassword({ userId: user.id, from: user.passwordHash, passwordHash })
      logins.endAll(user.id, null)
      throttle.forgetEmail(user.email)
      invitations.accepted({ invitationId, userId: user.id })
      return { outcome: 'accepted', userId: user.id, kind }
    }
    const created = users.create({ email, passwordHash, isAdmin })
    if (created.outcome === 'refused') return created
    const { userId } = created
    if (credit > 0) {
      const description = 'Credit of the invitation'
      ledger.post({ userId, type: 'credit', amount: credit, description, now: clock.now() })
    }
    invitations.accepted({ invitationId, userId })
    return { outcome: 'accepted', userId, kind }
  }
}

function prepare({ orm }: Connection) {
  return {
    find: orm
      .select({ userId: identities.userId })
      .from(identities)
      .where(and(eq(identities.issuer, sql.placeholder('issuer')), eq(identities.subject, sql.placeholder('subject'))))
      .prepare(),
    findOfUser: orm
      .select({ userId: identities.userId })
      .from(identities)
      .where(and(eq(identities.userId, sql.placeholder('userId')), eq(identities.issuer, sql.placeholder('issuer'))))
      .limit(1)
      .prepare(),
    insert: orm
      .insert(identities)
      .values({
        issuer: sql.placeholder('issuer'),
        subject: sql.placeholder('subject'),
        userId: sql.placeholder('userId'),
        createdAt: sql.placeholder('now'),
      })
      .prepare(),
  }
}
