import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import type { LoginProvider } from '../agents/agent-schema.ts'
import { secondsUntil } from '../billing/refusals.ts'
import { isoTime, type Clock } from '../kernel/clock.ts'
import { badField, ErrandError } from '../kernel/errors.ts'
import type { LoginRecord } from '../store/records.ts'
import { loginLifeMs, type CreateLogin } from '../store/people.ts'
import type { Store, Page } from '../store/store.ts'
import type { Caller } from './caller.ts'
import type { ClientAddresses } from './client-address.ts'
import type { ServiceCookie } from './login-cookie.ts'
import type { ChangePasswordInput, ListLoginsOutput, LoggedIn, LoginInput } from './login-schema.ts'
import { hashSecretToken, newSecretToken } from './login-token.ts'
import type { OwnOrigins } from './own-origin.ts'
import { assertNotObvious, hashPassword, isPassword } from './passwords.ts'

/** What logging in works with, beside the store. */
export type LoginParts = {
  clients: ClientAddresses
  cookie: ServiceCookie
  origins: OwnOrigins
  providers: readonly LoginProvider[]
}

type Parts = { store: Store; clock: Clock; logins: LoginParts }
/** The request of a browser, and where its answer's cookies go. */
export type Browser = { request: IncomingMessage; setCookies: string[] }

const userAgentCharsMax = 300

/**
 * Throws 403 where a login may not begin: on another site's page, or where its cookie would travel in the clear; and 400
 * where its cookie could not be set.
 */
export function assertLoginAllowed({ logins: { origins } }: Pick<Parts, 'logins'>, request: IncomingMessage): void {
  if (!origins.mayLogIn) {
    throw new ErrandError('FORBIDDEN', 'Logging in needs https: the base URL of the service is http.')
  }
  origins.assert(request)
  if (request.headers['trpc-accept'] === 'application/jsonl') {
    throw badField('trpc-accept', 'Must be left out to log in: the head of a streamed answer goes before its cookie')
  }
}

/** Logs in by email address and password. Each try is counted before the password is looked at. */
export async function logIn(
  parts: Parts,
  { browser, input }: { browser: Browser; input: z.output<typeof LoginInput> },
): Promise<LoggedIn> {
  const { clock, logins, store } = parts
  assertLoginAllowed(parts, browser.request)
  const attempt = { email: input.email, client: logins.clients.of(browser.request) }
  const admitted = await store.admitLogin(attempt)
  if (admitted.outcome === 'refused') {
    const retryAfterSeconds = secondsUntil(admitted.until, clock.now())
    throw new ErrandError('LOGIN_THROTTLED', 'There were too many attempts to log in; wait before the next.', {
      retryAfterSeconds,
    })
  }
  const { user } = admitted
  const passwordHash = user?.passwordHash ?? null
  if (!(await isPassword(input.password, passwordHash)) || !user || passwordHash === null) {
    throw new ErrandError('UNAUTHORIZED', 'The email address or the password is wrong.')
  }
  if (user.suspendedAt !== null) throw new ErrandError('FORBIDDEN', 'This account is suspended.')
  const login = { userId: user.id, method: 'password', provider: null, forget: attempt } as const
  const created = await beginLogin(parts, { browser, login: { ...login, ifPasswordHash: passwordHash } })
  if (!created) throw new ErrandError('UNAUTHORIZED', 'The email address or the password is wrong.')
  return { userId: user.id, email: user.email, expiresAt: isoTime(created.expiresAt) }
}

/** Makes a login and its cookie; the login that the browser had before ends. Undefined when the user may not log in. */
export async function beginLogin(
  { logins, store }: Pick<Parts, 'logins' | 'store'>,
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
  return created
}

/** Ends this login, or nothing for a caller with a key. The cookie is removed either way. */
export async function logOut({ logins, store }: Parts, { browser, caller }: { browser: Browser; caller: Caller }) {
  const { loginId, userId } = caller
  if (loginId === null) throw new ErrandError('FORBIDDEN', 'Only a browser login can log out; revoke a key instead.')
  await store.endLogin({ userId, loginId })
  browser.setCookies.push(logins.cookie.remove())
  return { message: 'Logged out.' }
}

export async function logOutEverywhere(
  { logins, store }: Parts,
  { browser, caller: { loginId, userId } }: { browser: Browser; caller: Caller },
) {
  const ended = await store.endLogins(userId)
  if (loginId !== null) browser.setCookies.push(logins.cookie.remove())
  return { message: `Ended ${ended} ${ended === 1 ? 'login' : 'logins'}.` }
}

export async function listLogins(
  { store }: Parts,
  { caller: { loginId, userId }, limit, offset }: Page & { caller: Caller },
): Promise<z.output<typeof ListLoginsOutput>> {
  const { logins, total } = await store.listLogins({ userId, limit, offset })
  const shown = logins.map(({ createdAt, expiresAt, id, lastUsedAt, method, provider, userAgent }) => ({
    id,
    method,
    provider,
    userAgent,
    createdAt: isoTime(createdAt),
    lastUsedAt: isoTime(lastUsedAt),
    expiresAt: isoTime(expiresAt),
    current: id === loginId,
  }))
  return { logins: shown, total, limit, offset }
}

/** Sets another password and ends the account's other logins. The tries count as those to log in do. */
export async function changePassword(
  { clock, logins, store }: Parts,
  { browser, caller, input }: { browser: Browser; caller: Caller; input: z.output<typeof ChangePasswordInput> },
) {
  const { email, loginId, userId } = caller
  if (loginId === null) throw new ErrandError('FORBIDDEN', 'Changing the password needs a browser login.')
  assertNotObvious('newPassword', { email, password: input.newPassword })
  const attempt = { email, client: logins.clients.of(browser.request) }
  const admitted = await store.admitLogin(attempt)
  if (admitted.outcome === 'refused') {
    const retryAfterSeconds = secondsUntil(admitted.until, clock.now())
    throw new ErrandError('LOGIN_THROTTLED', 'The password was wrong too often; wait before the next try.', {
      retryAfterSeconds,
    })
  }
  const from = admitted.user?.passwordHash ?? null
  if (from === null) {
    throw new ErrandError('CONFLICT', 'This account has no password. An admin can make a link that sets one.')
  }
  if (!(await isPassword(input.currentPassword, from))) throw badField('currentPassword', 'Is not the current password')
  const passwordHash = await hashPassword(input.newPassword)
  if (!(await store.setPassword({ userId, passwordHash, from, keepLoginId: loginId, forget: attempt }))) {
    throw new ErrandError('CONFLICT', 'The password was changed meanwhile.')
  }
  return { message: 'The password is changed. All other logins of this account have ended.' }
}
