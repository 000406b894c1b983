import { setTimeout } from 'node:timers/promises'
import { secondsUntil } from '../../billing/refusals.ts'
import { badField, ErrandError } from '../../kernel/errors.ts'
import { FairPlaces } from '../../kernel/fair-places.ts'
import type { MailSender } from '../../mails/mail-sender.ts'
import type { RequestPasswordLink } from '../../store/access/people-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { Browser, LoginAccess } from '../logins/log-in.ts'
import { newSecretToken } from '../logins/login-token.ts'
import { linkOf } from './manage-invitations.ts'

// Unauthenticated clients can request password and sign-up links. The response and its timing must not reveal whether
// the address belongs to a user.

const resetLifeMs = 3_600_000
const signUpLifeMs = 86_400_000
/** Minimum response time, which hides whether the address belongs to a user. */
const requestMs = 250
/**
 * Limits concurrent requests. Together with `requestMs`, this bounds how fast unauthenticated clients can create rows.
 */
const requests = new FairPlaces({ total: 20 })

type LinkRequest = { browser: Browser; email: string }
type Refused = { outcome: 'refused'; until: EpochMs }

/** Emails a password link, if the address belongs to a user with a password. */
export async function requestPasswordReset(parts: LoginAccess, { browser, email }: LinkRequest) {
  const { log, mails, store } = parts
  if (!mails) throw new ErrandError('NOT_FOUND', 'This service does not send email. Ask an admin for a link.')
  const requested = await requestLink(parts, {
    browser,
    email,
    lifeMs: resetLifeMs,
    mails,
    write: (link) => store.mails.requestPasswordLink(link),
  })
  if (requested.userId !== null) {
    mails.wake()
    log.info({ requestId: browser.about.requestId, userId: requested.userId }, 'a user requested a password link')
  }
  return { message: 'If an account with a password uses this email address, the service sent a link to it.' }
}

/** Emails a sign-up link, or a note if the address already belongs to a user. */
export async function requestSignUp(parts: LoginAccess, { browser, email }: LinkRequest) {
  const { mails, signUp, store } = parts
  const { domains, isOpen, perDayMax } = signUp
  if (!isOpen || !mails)
    throw new ErrandError('NOT_FOUND', 'This service does not offer sign-up. Ask an admin for an invitation.')
  if (domains && !domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase()))
    throw badField('email', `Must be an email address at ${domains.join(' or ')}`)
  await requestLink(parts, {
    browser,
    email,
    lifeMs: signUpLifeMs,
    mails,
    write: (link) => store.mails.requestSignUp({ ...link, perDayMax }),
  })
  mails.wake()
  return { message: 'The service sent a link to this email address.' }
}

type RequestLink<Result> = LinkRequest & {
  lifeMs: number
  mails: MailSender
  write: (link: RequestPasswordLink) => Promise<Result | Refused>
}

async function requestLink<Result extends { outcome: 'admitted' }>(
  { clock, logins }: LoginAccess,
  { browser, email, lifeMs, mails, write }: RequestLink<Result>,
): Promise<Result> {
  const place = requests.open(email)
  if (place.hold(1)) {
    throw new ErrandError(
      'SERVICE_UNAVAILABLE',
      'The service is processing too many requests for links. Try again in a few seconds.',
      { retryAfterSeconds: 5 },
    )
  }
  try {
    const { token, tokenHash } = newSecretToken()
    const mail = mails.seal(linkOf(logins, { browser, token }))
    const client = logins.clients.of(browser.request)
    const writing = write({ client, email, expiresAt: clock.now() + lifeMs, mail, tokenHash })
    const [written] = await Promise.all([writing, setTimeout(requestMs)])
    if (written.outcome === 'admitted') return written
    const retryAfterSeconds = secondsUntil(written.until, clock.now())
    throw new ErrandError('LOGIN_THROTTLED', 'Too many links were requested. Wait before you try again.', {
      retryAfterSeconds,
    })
  } finally {
    place.release()
  }
}
