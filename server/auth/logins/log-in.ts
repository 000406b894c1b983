import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import type { LoginProvider } from '../../agents/config/agent-schema.ts'
import { secondsUntil } from '../../billing/refusals.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import { badField, ErrandError } from '../../kernel/errors.ts'
import type { Logger } from '../../kernel/logger.ts'
import type { MailSender } from '../../mails/mail-sender.ts'
import {
  loginLifeMs,
  type AdmitLogin,
  type CreateLogin,
  type LoginCandidate,
  type LoginRecord,
} from '../../store/access/people-types.ts'
import type { Store } from '../../store/store.ts'
import type { RequestTrace } from '../../kernel/tracing/request-trace.ts'
import type { SignUpSettings } from '../invitations/sign-up-settings.ts'
import type { ClientAddresses } from './client-address.ts'
import type { ServiceCookie } from './login-cookie.ts'
import type { LoggedIn, LoginInput } from './login-schema.ts'
import { hashSecretToken, newSecretToken } from './login-token.ts'
import type { OwnOrigins } from './own-origin.ts'
import { isPassword, withHashRoom } from './passwords.ts'

export type LoginParts = {
  clients: ClientAddresses
  cookie: ServiceCookie
  origins: OwnOrigins
  providers: readonly LoginProvider[]
}

export type LoginAccess = {
  store: Store
  clock: Clock
  logins: LoginParts
  log: Logger
  mails?: MailSender | undefined
  /** `perDayMax` limits the sign-up requests per UTC day. 0 means no limit. */
  signUp: SignUpSettings & { perDayMax: number }
}
export type Browser = { request: IncomingMessage; setCookies: string[]; about: RequestTrace }

const userAgentCharsMax = 300

/**
 * Throws 403 if the request comes from another site's page, or if the cookie would be sent unencrypted. Throws 400 if
 * the response could not set the cookie.
 */
export function assertLoginAllowed(
  { logins: { origins } }: Pick<LoginAccess, 'logins'>,
  request: IncomingMessage,
): void {
  if (!origins.mayLogIn) {
    throw new ErrandError(
      'FORBIDDEN',
      'Logging in requires HTTPS, but the base URL is an http URL. Set ERRAND_BASE_URL to an https URL.',
    )
  }
  origins.assert(request)
  if (request.headers['trpc-accept'] === 'application/jsonl') {
    throw badField(
      'trpc-accept',
      'Must not be application/jsonl, because a streamed response cannot set the login cookie',
    )
  }
}

/** Counts each attempt before it checks the password. */
export async function logIn(
  parts: LoginAccess,
  { browser, input }: { browser: Browser; input: z.output<typeof LoginInput> },
): Promise<LoggedIn> {
  assertLoginAllowed(parts, browser.request)
  let userId: string | undefined
  try {
    return await logInPerson(parts, { browser, input, onFound: (found) => (userId = found) })
  } catch (error) {
    // Log only these two errors, because the login throttle limits them. Clients could fill the log with any other
    // error.
    if (error instanceof ErrandError && (error.code === 'UNAUTHORIZED' || error.code === 'FORBIDDEN')) {
      const { requestId } = browser.about
      parts.log.info({ requestId, userId, code: error.code }, 'a login was rejected')
      // Do not record attempts for unknown addresses, because clients can try any number of addresses.
      if (userId !== undefined) await parts.store.audit.note({ action: 'login.failed', userId })
    }
    throw error
  }
}

type LogIn = { browser: Browser; input: z.output<typeof LoginInput>; onFound: (userId: string) => void }

async function logInPerson(parts: LoginAccess, { browser, input, onFound }: LogIn): Promise<LoggedIn> {
  const { logins } = parts
  const attempt = { email: input.email, client: logins.clients.of(browser.request) }
  const { isRight, user } = await withHashRoom(input.email, async (inTurn) => {
    const found = await admitAttempt(parts, {
      attempt,
      refusal: 'Too many login attempts. Wait before you try again.',
    })
    if (found) onFound(found.id)
    const fits = await inTurn(() => isPassword(input.password, found?.passwordHash ?? null))
    return { user: found, isRight: fits }
  })
  const passwordHash = user?.passwordHash ?? null
  if (!isRight || !user || passwordHash === null) {
    throw new ErrandError('UNAUTHORIZED', 'The email address or password is wrong. Check both and try again.')
  }
  if (user.suspendedAt !== null) throw new ErrandError('FORBIDDEN', 'This account is suspended. Contact an admin.')
  const login = { userId: user.id, method: 'password', provider: null, forget: attempt } as const
  const created = await beginLogin(parts, { browser, login: { ...login, ifPasswordHash: passwordHash } })
  if (!created)
    throw new ErrandError('UNAUTHORIZED', 'The email address or password is wrong. Check both and try again.')
  return { userId: user.id, email: user.email, expiresAt: isoTime(created.expiresAt) }
}

/**
 * Creates a login, sets its cookie, and ends the browser's previous login. Returns undefined if the user may not log
 * in.
 */
export async function beginLogin(
  { log, logins, store }: Omit<LoginAccess, 'clock'>,
  { browser, login }: { browser: Browser; login: Omit<CreateLogin, 'tokenHash' | 'userAgent'> },
): Promise<LoginRecord | undefined> {
  const { token, tokenHash } = newSecretToken()
  const userAgent = browser.request.headers['user-agent']?.slice(0, userAgentCharsMax) ?? null
  const created = await store.createLogin({ ...login, tokenHash, userAgent })
  if (!created) return undefined
  const earlier = hashSecretToken(logins.cookie.read(browser.request) ?? '')
  const replaced = earlier === undefined ? undefined : await store.findLogin(earlier)
  if (replaced) await store.endLogin({ userId: replaced.userId, loginId: replaced.id })
  browser.setCookies.push(logins.cookie.write(token, loginLifeMs / 1000))
  const { about } = browser
  const { method, provider, userId } = login
  about.userId = userId
  const fields = { requestId: about.requestId, userId, loginId: created.id, method, ...(provider && { provider }) }
  log.info(fields, 'a user logged in')
  return created
}

type Attempt = { attempt: AdmitLogin; refusal: string }

export async function admitAttempt(
  { clock, store }: LoginAccess,
  { attempt, refusal }: Attempt,
): Promise<LoginCandidate | undefined> {
  const admitted = await store.admitLogin(attempt)
  if (admitted.outcome === 'admitted') return admitted.user
  const retryAfterSeconds = secondsUntil(admitted.until, clock.now())
  throw new ErrandError('LOGIN_THROTTLED', refusal, { retryAfterSeconds })
}
