import type { IncomingMessage } from 'node:http'
import type { Clock } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { scopes } from '../store/records.ts'
import { loginIdleMs } from '../store/people.ts'
import type { Store } from '../store/store.ts'
import { hashToken, isToken } from './keys/api-token.ts'
import type { Caller } from './caller.ts'
import type { LastUses } from './last-uses.ts'
import type { ServiceCookie } from './logins/login-cookie.ts'
import { hashSecretToken } from './logins/login-token.ts'
import type { OwnOrigins } from './logins/own-origin.ts'

export type Authenticator = (request: IncomingMessage) => Promise<Caller>

type AuthenticatorParts = {
  store: Store
  clock: Clock
  keyUses: LastUses
  loginUses: LastUses
  cookie: ServiceCookie
  origins: OwnOrigins
}

/** The hashes of keys that exist, by their headers: to check and hash a key again is a twentieth of the time of a read. */
type KnownHashes = Map<string, string>
const knownMax = 10_000
const knownCharsMax = 64

/**
 * Finds the caller of a request by its Authorization header, or without one by the cookie of a browser login; throws 401,
 * with the reason, when there is none. A header that is present decides, even beside a good cookie.
 */
export function createAuthenticator(parts: AuthenticatorParts): Authenticator {
  const withKnown = { ...parts, knownHashes: new Map<string, string>() }
  return (request) => {
    const { authorization } = request.headers
    return authorization === undefined ? byCookie(parts, request) : byKey(withKnown, authorization)
  }
}

async function byCookie(parts: AuthenticatorParts, request: IncomingMessage): Promise<Caller> {
  const token = parts.cookie.read(request)
  if (token === undefined) {
    throw unauthorized('Authentication is required: send the header Authorization: Bearer <API_KEY>.')
  }
  const caller = await byLogin(parts, token)
  // A cookie comes along with whatever makes the browser send a request; what changes something must come from our pages.
  if (request.method !== 'GET' && request.method !== 'HEAD') parts.origins.assert(request)
  return caller
}

async function byKey(
  { clock, keyUses, knownHashes, store }: AuthenticatorParts & { knownHashes: KnownHashes },
  authorization: string,
): Promise<Caller> {
  const known = knownHashes.get(authorization)
  const tokenHash = known ?? hashOf(authorization)
  const key = await store.findKey(tokenHash)
  if (!key || key.revokedAt !== null) throw unauthorized('The API key is invalid.')
  if (known === undefined) keep(knownHashes, authorization, tokenHash)
  const now = clock.now()
  if (key.expiresAt !== null && key.expiresAt <= now) throw unauthorized('The API key has expired.')
  assertNotSuspended(key)
  keyUses.used(key.id, now)
  const { agents, email, isAdmin, limits, userId } = key
  return { userId, email, isAdmin, scopes: key.scopes, keyId: key.id, loginId: null, limits, agents }
}

function hashOf(authorization: string): string {
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
  if (token === undefined) throw unauthorized('The Authorization header must be: Bearer <API_KEY>.')
  // One text for all of these: it does not reveal which keys exist.
  if (!isToken(token)) throw unauthorized('The API key is invalid.')
  return hashToken(token)
}

function keep(known: KnownHashes, authorization: string, tokenHash: string): void {
  if (authorization.length > knownCharsMax) return
  if (known.size >= knownMax) known.clear()
  known.set(authorization, tokenHash)
}

async function byLogin({ clock, loginUses, store }: AuthenticatorParts, token: string): Promise<Caller> {
  const tokenHash = hashSecretToken(token)
  const login = tokenHash === undefined ? undefined : await store.findLogin(tokenHash)
  const now = clock.now()
  if (!login || login.expiresAt <= now || login.lastUsedAt + loginIdleMs <= now) {
    throw unauthorized('The browser login has ended; log in again.')
  }
  assertNotSuspended(login)
  loginUses.used(login.id, now)
  const { userId, email, isAdmin } = login
  return { userId, email, isAdmin, scopes, keyId: null, loginId: login.id, limits: null, agents: null }
}

function assertNotSuspended({ suspendedAt }: { suspendedAt: number | null }): void {
  if (suspendedAt !== null) throw new ErrandError('FORBIDDEN', 'This account is suspended.')
}

function unauthorized(message: string): ErrandError {
  return new ErrandError('UNAUTHORIZED', message)
}
