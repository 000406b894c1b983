import { setTimeout } from 'node:timers/promises'
import { secondsUntil } from '../../billing/refusals.ts'
import { FairPlaces } from '../../kernel/fair-places.ts'
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
const resetLifeMs = 3_600_000
/** Minimum response time of a password reset. It hides whether the address belongs to a user. */
const resetMs = 250
/**
 * Slots for password resets in progress. Together with `resetMs`, they limit how fast unauthenticated clients can
 * create rows.
 */
const resets = new FairPlaces({ total: 20 })

/** Invites a person with a link. If the service does not send mail, the admin passes the link on. */
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
  log.info(fields, 'an admin invited a person')
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

/**
 * Mails a link for setting a new password, if the address belongs to a user with a password. The response and its
 * timing are the same for all addresses.
 */
export async function requestPasswordReset(
  { clock, log, logins, mails, store }: LoginAccess,
  { browser, email }: { browser: Browser; email: string },
) {
  if (!mails) throw new ErrandError('NOT_FOUND', 'This service does not send email. Ask an admin for a link.')
  const place = resets.open(email)
  if (place.hold(1)) {
    throw new ErrandError(
      'SERVICE_UNAVAILABLE',
      'The service is processing too many requests for links. Try again in a few seconds.',
      {
        retryAfterSeconds: 5,
      },
    )
  }
  try {
    const { token, tokenHash } = newSecretToken()
    const mail = mails.seal(linkOf(logins, { browser, token }))
    const client = logins.clients.of(browser.request)
    const expiresAt = clock.now() + resetLifeMs
    const requesting = store.mails.requestPasswordLink({ client, email, expiresAt, mail, tokenHash })
    const [requested] = await Promise.all([requesting, setTimeout(resetMs)])
    if (requested.outcome === 'refused') {
      const retryAfterSeconds = secondsUntil(requested.until, clock.now())
      throw new ErrandError('LOGIN_THROTTLED', 'There were too many requests for a link. Wait before you try again.', {
        retryAfterSeconds,
      })
    }
    if (requested.userId !== null) {
      mails.wake()
      log.info({ requestId: browser.about.requestId, userId: requested.userId }, 'a person requested a password link')
    }
  } finally {
    place.release()
  }
  return { message: 'If an account with a password has this email address, the service sent a link to it.' }
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
  { store }: LoginAccess,
  token: string,
): Promise<z.output<typeof CheckedInvitation>> {
  const tokenHash = hashSecretToken(token)
  const invitation = tokenHash === undefined ? undefined : await store.findInvitation(tokenHash)
  if (!invitation) throw unusable()
  const { email, expiresAt, kind } = invitation
  return { kind, email, expiresAt: isoTime(expiresAt) }
}

/** Accepts a single-use link, creates the account or sets the password, and logs the user in. */
export async function acceptInvitation(
  parts: LoginAccess,
  { browser, input }: { browser: Browser; input: z.output<typeof AcceptInvitationInput> },
): Promise<LoggedIn> {
  const { store } = parts
  assertLoginAllowed(parts, browser.request)
  const { email } = await checkInvitation(parts, input.token)
  assertNotObvious('password', { email, password: input.password })
  const passwordHash = await withHashRoom(email, (inTurn) => inTurn(() => hashPassword(input.password)))
  const accepted = await store.acceptInvitation({ tokenHash: hashSecretToken(input.token)!, passwordHash })
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
 * Puts the token in the URL fragment. Browsers do not send the fragment, so it does not appear in server logs or in a
 * Referer header.
 */
function linkOf({ origins }: LoginParts, { browser, token }: { browser: Browser; token: string }): string {
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
