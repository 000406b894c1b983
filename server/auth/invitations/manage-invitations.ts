import type { Page } from '../../store/list-place.ts'
import type { InvitationRecord } from '../../store/access/people-types.ts'
import type { z } from 'zod'
import { isoTime, isoTimeOrNull } from '../../kernel/clock.ts'
import { badField, ErrandError } from '../../kernel/errors.ts'
import { formatUsd, parseUsd } from '../../kernel/money.ts'
import type { Caller } from '../../procedures/caller.ts'
import type {
  AcceptInvitationInput,
  CheckedInvitation,
  CreatedInvitation,
  CreateInvitationInput,
  Invitation,
  ListInvitationsOutput,
  PasswordLink,
} from './invitation-schema.ts'
import { assertLoginAllowed, beginLogin, type Browser, type LoginAccess, type LoginParts } from '../logins/log-in.ts'
import type { LoggedIn } from '../logins/login-schema.ts'
import { hashSecretToken, newSecretToken } from '../logins/login-token.ts'
import { assertNotObvious, hashPassword, withHashRoom } from '../logins/passwords.ts'

const invitationLifeMs = 7 * 86_400_000
const passwordLinkLifeMs = 86_400_000

/** Creates an invitation link. If the service does not send email, the admin must pass the link on. */
export async function createInvitation(
  parts: LoginAccess,
  { browser, caller, input }: { browser: Browser; caller: Caller; input: z.output<typeof CreateInvitationInput> },
): Promise<z.output<typeof CreatedInvitation>> {
  const { clock, log, logins, mails, store } = parts
  const { email, isAdmin } = input
  const credit = parseUsd(input.creditUsd)
  if (credit === undefined) throw badField('creditUsd', 'Must be a USD amount with at most four decimals')
  const { token, tokenHash } = newSecretToken()
  const url = linkOf(logins, { browser, token })
  const created = await store.createInvitation({
    kind: 'invitation',
    email,
    isAdmin,
    credit,
    expiresAt: clock.now() + invitationLifeMs,
    tokenHash,
    userId: null,
    createdBy: caller.userId,
    mail: mails?.seal(url),
  })
  if (created.outcome === 'refused') {
    throw new ErrandError('CONFLICT', `A user with the email address ${email} already exists. Use a different address.`)
  }
  mails?.wake()
  const { id: invitationId } = created.invitation
  const fields = { adminId: caller.userId, invitationId, isAdmin, creditUsd: formatUsd(credit) }
  log.info(fields, 'an admin invited a user')
  return { ...toInvitation(created.invitation), url, isMailed: mails !== undefined }
}

/** Creates a link for setting a new password. The current password remains valid until the link is used. */
export async function createPasswordLink(
  { clock, log, logins, store }: LoginAccess,
  { browser, caller, userId }: { browser: Browser; caller: Caller; userId: string },
): Promise<z.output<typeof PasswordLink>> {
  const user = await store.getUser(userId)
  if (!user) throw new ErrandError('NOT_FOUND', 'User not found. Check the id.')
  const { token, tokenHash } = newSecretToken()
  const expiresAt = clock.now() + passwordLinkLifeMs
  const draft = { kind: 'password', email: user.email, isAdmin: user.isAdmin, credit: 0, userId } as const
  await store.createInvitation({ ...draft, expiresAt, tokenHash, createdBy: caller.userId })
  log.info({ adminId: caller.userId, userId }, 'an admin created a password link')
  return { url: linkOf(logins, { browser, token }), expiresAt: isoTime(expiresAt) }
}

export async function revokeInvitation(
  { log, store }: LoginAccess,
  { caller, invitationId }: { caller: Caller; invitationId: string },
) {
  if (!(await store.revokeInvitation(invitationId)))
    throw new ErrandError('NOT_FOUND', 'Invitation not found. Check the id.')
  log.info({ adminId: caller.userId, invitationId }, 'an admin revoked a link')
  return { message: 'The link no longer works.' }
}

export async function listInvitations(
  { store }: LoginAccess,
  { limit, offset }: Page,
): Promise<z.output<typeof ListInvitationsOutput>> {
  const { invitations, total } = await store.listInvitations({ limit, offset })
  return { invitations: invitations.map(toInvitation), total, limit, offset }
}

export async function checkInvitation(
  { signUp, store }: LoginAccess,
  token: string,
): Promise<z.output<typeof CheckedInvitation>> {
  const tokenHash = hashSecretToken(token)
  const invitation = tokenHash === undefined ? undefined : await store.findInvitation(tokenHash)
  if (!invitation || (invitation.kind === 'sign-up' && !signUp.isOpen)) throw unusable()
  const { email, expiresAt, kind } = invitation
  return { kind, email, expiresAt: isoTime(expiresAt) }
}

/** Accepts a single-use link: creates the account or sets the password, then logs the user in. */
export async function acceptInvitation(
  parts: LoginAccess,
  { browser, input }: { browser: Browser; input: z.output<typeof AcceptInvitationInput> },
): Promise<LoggedIn> {
  const {
    signUp: { newcomer },
    store,
  } = parts
  assertLoginAllowed(parts, browser.request)
  const { email } = await checkInvitation(parts, input.token)
  assertNotObvious('password', { email, password: input.password })
  const passwordHash = await withHashRoom(email, (inTurn) => inTurn(() => hashPassword(input.password)))
  const accepted = await store.acceptInvitation({ newcomer, passwordHash, tokenHash: hashSecretToken(input.token)! })
  if (accepted.outcome === 'refused') {
    if (accepted.reason === 'unknown') throw unusable()
    if (accepted.reason === 'suspended')
      throw new ErrandError('FORBIDDEN', 'This account is suspended. Contact an admin.')
    throw new ErrandError('CONFLICT', `A user with the email address ${email} already exists. Use a different address.`)
  }
  const { userId } = accepted
  const login = { userId, method: 'invitation', provider: null, forget: null } as const
  const created = await beginLogin(parts, { browser, login })
  if (!created) throw new ErrandError('FORBIDDEN', 'This account is suspended. Contact an admin.')
  return { userId, email, expiresAt: isoTime(created.expiresAt) }
}

/**
 * Puts the token in the URL fragment, which browsers do not send. It therefore appears neither in server logs nor in a
 * Referer header.
 */
export function linkOf({ origins }: LoginParts, { browser, token }: { browser: Browser; token: string }): string {
  return `${origins.baseUrlFor(browser.request)}/invitation#${token}`
}

function unusable(): ErrandError {
  return new ErrandError('NOT_FOUND', 'This link is unknown, already used or expired. Ask for a new one.')
}

function toInvitation(record: InvitationRecord): Invitation {
  const { acceptedAt, createdAt, credit, email, expiresAt, id, isAdmin, kind } = record
  return {
    id,
    kind,
    email,
    isAdmin,
    creditUsd: formatUsd(credit),
    createdAt: isoTime(createdAt),
    expiresAt: isoTime(expiresAt),
    acceptedAt: isoTimeOrNull(acceptedAt),
  }
}
