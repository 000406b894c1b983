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
import {
  findInvitation,
  insertInvitation,
  noteAccepted,
  revokeInvitationsOf,
  revokePasswordLink,
  takeInvitation,
} from './invitation-rows.ts'
import type { Ledger } from './ledger.ts'
import { endLogins, insertLogin } from './login-rows.ts'
import { identities } from './login-tables.ts'
import { admitTry, forgetEmail, forgetTries } from './login-throttle.ts'
import { statementsOf } from './statements.ts'
import type { Transaction } from './transaction.ts'
import { createUser, findCandidate, findUser, getUser, setPassword, updateUser } from './user-rows.ts'

// The commands by which people come in: several tables each, so that none of them is half done.

export async function admitLogin(tx: Transaction, of: AdmitLogin): Promise<AdmitLoginResult> {
  const until = await admitTry(tx, of)
  if (until !== undefined) return { outcome: 'refused', until }
  return { outcome: 'admitted', user: await findCandidate(tx, of.email) }
}

export async function createLogin(tx: Transaction, input: CreateLogin): Promise<LoginRecord | undefined> {
  const { forget, ifPasswordHash, userId } = input
  await tx.lockAccount({ userId })
  const user = await getUser(tx, userId)
  if (!user || user.suspendedAt !== null) return undefined
  if (ifPasswordHash !== undefined && user.passwordHash !== ifPasswordHash) return undefined
  await (forget ? forgetTries(tx, forget) : forgetEmail(tx, user.email))
  return await insertLogin(tx, input)
}

export async function changePassword(tx: Transaction, input: SetPassword): Promise<boolean> {
  const { forget, keepLoginId, userId } = input
  await tx.lockAccount({ userId })
  if (!(await setPassword(tx, input))) return false
  await (forget ? forgetTries(tx, forget) : forgetEmail(tx, (await getUser(tx, userId))!.email))
  await endLogins(tx, userId, keepLoginId)
  await revokePasswordLink(tx, userId)
  return true
}

export async function changeUser(tx: Transaction, input: UpdateUser): Promise<UpdateUserResult> {
  const result = await updateUser(tx, input)
  if (result.outcome === 'refused') return result
  if (input.isSuspended === true) await endLogins(tx, input.userId, null)
  if (input.isSuspended === true || input.isAdmin === false) await revokeInvitationsOf(tx, input.userId)
  return result
}

const identityLock = { name: 'identity_lock', text: 'SELECT pg_advisory_xact_lock(7018, hashtext($1))' }

export async function openIdentity(tx: Transaction, input: OpenIdentity): Promise<OpenIdentityResult> {
  const { email, issuer, mayCreate, subject } = input
  const s = statements(tx)
  // One who comes twice at the same moment would see the user of the first, but not yet the identity.
  await tx.client.query({ ...identityLock, values: [JSON.stringify([issuer, subject])] })
  const known = await s.find.get({ issuer, subject })
  if (known) {
    const isSuspended = (await getUser(tx, known.userId))?.suspendedAt !== null
    return isSuspended ? { outcome: 'refused', reason: 'suspended' } : { outcome: 'known', userId: known.userId }
  }
  // Anyone can claim an address at some provider; only one that it verified says who this is.
  if (email === null) return { outcome: 'refused', reason: 'unverified' }
  const found = await findUser(tx, email)
  // Two identities of one issuer are not linked to one user, not at the same moment either.
  if (found) await tx.lockAccount({ userId: found.id })
  const user = found && (await findUser(tx, email))
  if (user && user.suspendedAt !== null) return { outcome: 'refused', reason: 'suspended' }
  if (!user && !mayCreate) return { outcome: 'refused', reason: 'no-account' }
  // The issuer gave the address to somebody else, who is not to get the account of the person that had it before.
  if (user && (await s.findOfUser.get({ issuer, userId: user.id }))) {
    return { outcome: 'refused', reason: 'linked-otherwise' }
  }
  const userId = user?.id ?? (await newUser(tx, email))
  await s.insert.run({ issuer, subject, userId, now: await tx.now() })
  return { outcome: user ? 'linked' : 'created', userId }
}

async function newUser(tx: Transaction, email: string): Promise<string> {
  const created = await createUser(tx, { email, passwordHash: null, isAdmin: false })
  if (created.outcome === 'refused') throw new Error('an address that was not found is free')
  return created.userId
}

export async function createInvitation(tx: Transaction, input: CreateInvitation): Promise<CreateInvitationResult> {
  if (input.kind === 'invitation' && (await findUser(tx, input.email))) {
    return { outcome: 'refused', reason: 'email-taken' }
  }
  return { outcome: 'created', invitation: await insertInvitation(tx, input) }
}

export async function acceptInvitation(
  tx: Transaction,
  { ledger, passwordHash, tokenHash }: { tokenHash: string; passwordHash: string; ledger: Ledger },
): Promise<AcceptInvitationResult> {
  const seen = await findInvitation(tx, tokenHash)
  if (seen?.userId) await tx.lockAccount({ userId: seen.userId })
  const invitation = seen && (await takeInvitation(tx, tokenHash))
  if (!invitation) return { outcome: 'refused', reason: 'unknown' }
  const { credit, email, id: invitationId, isAdmin, kind } = invitation
  if (kind === 'password') {
    const user = (await getUser(tx, invitation.userId!))!
    if (user.suspendedAt !== null) return { outcome: 'refused', reason: 'suspended' }
    await setPassword(tx, { userId: user.id, from: user.passwordHash, passwordHash })
    await endLogins(tx, user.id, null)
    await forgetEmail(tx, user.email)
    await noteAccepted(tx, { invitationId, userId: user.id })
    return { outcome: 'accepted', userId: user.id, kind }
  }
  const created = await createUser(tx, { email, passwordHash, isAdmin })
  if (created.outcome === 'refused') return created
  const { userId } = created
  if (credit > 0) {
    await tx.lockAccount({ userId })
    const description = 'Credit of the invitation'
    ledger.post(tx, { type: 'credit', amount: credit, description, now: await tx.now() })
  }
  await noteAccepted(tx, { invitationId, userId })
  return { outcome: 'accepted', userId, kind }
}

const statements = statementsOf('identity', (orm) => {
  return {
    find: orm
      .select({ userId: identities.userId })
      .from(identities)
      .where(and(eq(identities.issuer, sql.placeholder('issuer')), eq(identities.subject, sql.placeholder('subject')))),
    findOfUser: orm
      .select({ userId: identities.userId })
      .from(identities)
      .where(and(eq(identities.userId, sql.placeholder('userId')), eq(identities.issuer, sql.placeholder('issuer'))))
      .limit(1),
    insert: orm.insert(identities).values({
      issuer: sql.placeholder('issuer'),
      subject: sql.placeholder('subject'),
      userId: sql.placeholder('userId'),
      createdAt: sql.placeholder('now'),
    }),
  }
})
