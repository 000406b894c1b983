import type {
  AcceptInvitation,
  AcceptInvitationResult,
  AdmitLogin,
  AdmitLoginResult,
  CreateInvitation,
  CreateInvitationResult,
  CreateLogin,
  OpenIdentity,
  OpenIdentityResult,
  RequestPasswordLink,
  RequestPasswordLinkResult,
  SetPassword,
  UpdateUser,
  UpdateUserResult,
  LoginRecord,
} from './people-types.ts'
import { postCredit } from '../accounts/stored-accounts.ts'
import type { Op, Tx } from '../commands/command.ts'
import {
  findInvitation,
  insertInvitation,
  noteAccepted,
  revokeInvitationsOf,
  revokePasswordLink,
  takeInvitation,
} from './invitation-commands.ts'
import { endLogins, insertLogin } from './login-commands.ts'
import { createNewcomer } from './sign-up-commands.ts'
import { admitTry, forgetEmail, forgetTries } from './login-throttle.ts'
import { mailPasswordLink } from '../mails/mail-commands.ts'
import { insertInto, statement } from '../commands/statement.ts'
import { createUser, findCandidate, findUser, getUser, setPassword, updateUser } from '../accounts/stored-users.ts'

const emptyAccount = { plan: null, credit: 0 }

const findIdentity = statement<{ userId: string }>(
  'identity_find',
  'SELECT user_id AS "userId" FROM identities WHERE issuer = :issuer AND subject = :subject',
)
const findOfUser = statement<{ userId: string }>(
  'identity_of_user',
  'SELECT user_id AS "userId" FROM identities WHERE user_id = :userId AND issuer = :issuer LIMIT 1',
)
const insertIdentity = statement('identity_insert', insertInto('identities', 'issuer subject userId createdAt'))

export function* admitLogin(tx: Tx, of: AdmitLogin): Op<AdmitLoginResult> {
  const until = yield* admitTry(tx, of)
  if (until !== undefined) return { outcome: 'refused', until }
  return { outcome: 'admitted', user: yield* findCandidate(tx, of.email) }
}

export function* createLogin(tx: Tx, input: CreateLogin): Op<LoginRecord | undefined> {
  const { forget, ifPasswordHash, userId } = input
  yield* tx.lockAccount({ userId })
  const user = yield* getUser(tx, userId)
  if (!user || user.suspendedAt !== null) return undefined
  if (ifPasswordHash !== undefined && user.passwordHash !== ifPasswordHash) return undefined
  yield* forget ? forgetTries(tx, forget) : forgetEmail(tx, user.email)
  return yield* insertLogin(tx, input)
}

export function* changePassword(tx: Tx, input: SetPassword): Op<boolean> {
  const { forget, keepLoginId, userId } = input
  yield* tx.lockAccount({ userId })
  if (!(yield* setPassword(tx, input))) return false
  yield* forget ? forgetTries(tx, forget) : forgetEmail(tx, (yield* getUser(tx, userId))!.email)
  yield* endLogins(tx, userId, keepLoginId)
  yield* revokePasswordLink(tx, userId)
  return true
}

export function* changeUser(tx: Tx, input: UpdateUser): Op<UpdateUserResult> {
  const result = yield* updateUser(tx, input)
  if (result.outcome === 'refused') return result
  if (input.isSuspended === true) yield* endLogins(tx, input.userId, null)
  if (input.isSuspended === true || input.isAdmin === false) yield* revokeInvitationsOf(tx, input.userId)
  return result
}

export function* openIdentity(tx: Tx, input: OpenIdentity): Op<OpenIdentityResult> {
  const { email, issuer, mayCreate, newcomer = emptyAccount, subject } = input
  // Serializes logins with the same identity. Otherwise another login could create the identity after this one has
  // looked for it.
  yield* tx.lock('identity', JSON.stringify([issuer, subject]))
  const known = yield* tx.get(findIdentity, { issuer, subject })
  if (known) {
    const isSuspended = (yield* getUser(tx, known.userId))?.suspendedAt !== null
    return isSuspended ? { outcome: 'refused', reason: 'suspended' } : { outcome: 'known', userId: known.userId }
  }
  // Some providers let people enter any email address, so only a verified one identifies a user.
  if (email === null) return { outcome: 'refused', reason: 'unverified' }
  const found = yield* findUser(tx, email)
  // Concurrent logins must not link two identities of one issuer to the same user.
  if (found) yield* tx.lockAccount({ userId: found.id })
  const user = found && (yield* findUser(tx, email))
  if (user && user.suspendedAt !== null) return { outcome: 'refused', reason: 'suspended' }
  if (!user && !mayCreate) return { outcome: 'refused', reason: 'no-account' }
  // The user already has another identity at this issuer, so the issuer has reassigned the email address. The new owner
  // of the address must not get access to the account.
  if (user && (yield* tx.get(findOfUser, { issuer, userId: user.id }))) {
    return { outcome: 'refused', reason: 'linked-otherwise' }
  }
  const identity = { issuer, subject }
  const created = user ? undefined : yield* createNewcomer(tx, { ...newcomer, email, passwordHash: null, identity })
  if (created?.outcome === 'refused') throw new Error('createNewcomer does not reject an unused email address')
  const opened = created ?? ({ outcome: 'linked', userId: user!.id } as const)
  yield* tx.run(insertIdentity, { ...identity, userId: opened.userId, createdAt: yield* tx.now() })
  return opened
}

export function* createInvitation(tx: Tx, input: CreateInvitation): Op<CreateInvitationResult> {
  if (input.kind === 'invitation' && (yield* findUser(tx, input.email))) {
    return { outcome: 'refused', reason: 'email-taken' }
  }
  return { outcome: 'created', invitation: yield* insertInvitation(tx, input) }
}

/**
 * Mails a password link to a user who has a password and is not suspended. Users without a password log in through a
 * provider, and must not get a password this way.
 */
export function* requestPasswordLink(tx: Tx, input: RequestPasswordLink): Op<RequestPasswordLinkResult> {
  const { client, email, expiresAt, mail, tokenHash } = input
  const until = yield* admitTry(tx, { email: `password link: ${email}`, client: client && `password link: ${client}` })
  if (until !== undefined) return { outcome: 'refused', until }
  const none = { outcome: 'admitted', userId: null } as const
  const user = yield* findCandidate(tx, email)
  if (!user || user.passwordHash === null || user.suspendedAt !== null) return none
  const { id: userId, isAdmin } = user
  // Serializes requests for one user, so that the user cannot get more mails than allowed.
  yield* tx.lockAccount({ userId })
  if (!(yield* mailPasswordLink(tx, { mail, userId, at: yield* tx.now(), expiresAt }))) return none
  const link = { kind: 'password', email: user.email, isAdmin, credit: 0, userId, createdBy: userId } as const
  yield* insertInvitation(tx, { ...link, expiresAt, tokenHash })
  return { outcome: 'admitted', userId }
}

export function* acceptInvitation(
  tx: Tx,
  { newcomer = emptyAccount, passwordHash, tokenHash }: AcceptInvitation,
): Op<AcceptInvitationResult> {
  const seen = yield* findInvitation(tx, tokenHash)
  if (seen?.userId) yield* tx.lockAccount({ userId: seen.userId })
  const invitation = seen && (yield* takeInvitation(tx, tokenHash))
  if (!invitation) return { outcome: 'refused', reason: 'unknown' }
  const { credit, email, id: invitationId, isAdmin, kind } = invitation
  if (kind === 'password') {
    const user = (yield* getUser(tx, invitation.userId!))!
    if (user.suspendedAt !== null) return { outcome: 'refused', reason: 'suspended' }
    yield* setPassword(tx, { userId: user.id, from: user.passwordHash, passwordHash })
    yield* endLogins(tx, user.id, null)
    yield* forgetEmail(tx, user.email)
    yield* noteAccepted(tx, { invitationId, userId: user.id })
    yield* revokePasswordLink(tx, user.id)
    return { outcome: 'accepted', userId: user.id, kind }
  }
  const created = yield* kind === 'sign-up'
    ? createNewcomer(tx, { ...newcomer, email, passwordHash })
    : createUser(tx, { email, passwordHash, isAdmin })
  if (created.outcome === 'refused') return created
  const { userId } = created
  if (credit > 0) {
    yield* tx.lockAccount({ userId })
    const description = 'Invitation credit'
    yield* postCredit(tx, { userId, amount: credit, description, now: yield* tx.now() })
  }
  yield* noteAccepted(tx, { invitationId, userId })
  return { ...created, outcome: 'accepted', kind }
}
