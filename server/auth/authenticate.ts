import { scopes } from '../store/access/key-types.ts'
import type { IncomingMessage } from 'node:http'
import type { Clock, EpochMs } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { NetworkList } from '../outbound/network-list.ts'
import type { PlatformKeyHolder, UserRef } from '../store/platform/platform-types.ts'
import { loginIdleMs } from '../store/access/people-types.ts'
import { tokenSpend } from '../store/limits/execution-limits.ts'
import type { Store } from '../store/store.ts'
import { hashToken, kindOfToken, type TokenKind } from './keys/api-token.ts'
import { unlimited, type AnyCaller, type Caller } from '../procedures/caller.ts'
import type { LastUses } from './last-uses.ts'
import type { ClientAddresses } from './logins/client-address.ts'
import type { ServiceCookie } from './logins/login-cookie.ts'
import { hashSecretToken } from './logins/login-token.ts'
import type { OwnOrigins } from './logins/own-origin.ts'
import { assertNoActingUser, readActingUser } from './platform/acting-user.ts'

export type Authenticator = (request: IncomingMessage) => Promise<AnyCaller>

type AuthenticatorParts = {
  store: Store
  clock: Clock
  keyUses: LastUses
  loginUses: LastUses
  platformUses: LastUses
  clients: ClientAddresses
  cookie: ServiceCookie
  origins: OwnOrigins
}

/**
 * Kind and hash of a valid token. Cached by Authorization header, because computing them took 5% of a read request's
 * time.
 */
type KnownToken = { kind: TokenKind; tokenHash: string }
const knownMax = 10_000
const knownCharsMax = 64

/**
 * Authenticates a request by its Authorization header, or by the login cookie if it has no such header. Throws 401 with
 * the reason if the credential is missing or invalid.
 */
export function createAuthenticator(parts: AuthenticatorParts): Authenticator {
  const known = new Map<string, KnownToken>()
  return async (request) => {
    const { authorization } = request.headers
    if (authorization === undefined) return await byCookie(parts, request)
    const remembered = known.get(authorization)
    const { kind, tokenHash } = remembered ?? readToken(authorization)
    const caller = await (kind === 'key'
      ? byKey(parts, tokenHash, request)
      : kind === 'platform'
        ? byPlatformKey(parts, tokenHash, request)
        : byClientToken(parts, tokenHash))
    if (!remembered) keep(known, authorization, { kind, tokenHash })
    if (kind !== 'platform') assertNoActingUser(request)
    return caller
  }
}

async function byCookie(parts: AuthenticatorParts, request: IncomingMessage): Promise<Caller> {
  const token = parts.cookie.read(request)
  if (token === undefined) {
    throw unauthorized('Authentication is required. Send the header Authorization: Bearer <API_KEY>.')
  }
  const caller = await byLogin(parts, token)
  // Browsers send the cookie even with requests from other sites' pages. A request that changes data must therefore
  // come from one of our pages.
  if (request.method !== 'GET' && request.method !== 'HEAD') parts.origins.assert(request)
  assertNoActingUser(request)
  return caller
}

function readToken(authorization: string): KnownToken {
  const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
  if (token === undefined)
    throw unauthorized('The Authorization header is malformed. Send Authorization: Bearer <API_KEY>.')
  const kind = kindOfToken(token)
  if (kind === undefined) throw unauthorized('The API key is invalid or revoked. Send an active key.')
  return { kind, tokenHash: hashToken(token) }
}

async function byKey(
  { clock, keyUses, store }: AuthenticatorParts,
  tokenHash: string,
  request: IncomingMessage,
): Promise<Caller> {
  const key = await store.findKey(tokenHash)
  if (!key || key.revokedAt !== null) throw invalidKey('API key', request)
  const now = clock.now()
  assertNotExpired(key, now, 'API key')
  assertNotSuspended(key)
  keyUses.used(key.id, now)
  const { account, agents, email, isAdmin, limits, userId } = key
  const credential = { kind: 'key', keyId: key.id } as const
  return { userId, account, email, isAdmin, scopes: key.scopes, limits, agents, credential }
}

function keep(known: Map<string, KnownToken>, authorization: string, token: KnownToken): void {
  if (authorization.length > knownCharsMax) return
  if (known.size >= knownMax) known.clear()
  known.set(authorization, token)
}

async function byPlatformKey(
  parts: AuthenticatorParts,
  tokenHash: string,
  request: IncomingMessage,
): Promise<AnyCaller> {
  const { clients, clock, platformUses, store } = parts
  const key = await store.platform.findKey(tokenHash)
  if (!key || key.revokedAt !== null) throw invalidKey('platform key', request)
  const now = clock.now()
  assertNotExpired(key, now, 'platform key')
  if (key.addresses && !new NetworkList(key.addresses).has(clients.addressOf(request))) {
    throw new ErrandError(
      'FORBIDDEN',
      'This platform key does not allow requests from this IP address. Send the request from an allowed address.',
    )
  }
  const asked = readActingUser(request)
  platformUses.used(key.id, now, clients.addressOf(request))
  if (asked) return await actFor(parts, key, asked)
  return { platform: { keyId: key.id, scopes: key.scopes } }
}

/** Returns a caller with the user's identity, but without the rights that only the user may exercise. */
async function actFor({ store }: AuthenticatorParts, key: PlatformKeyHolder, asked: UserRef): Promise<Caller> {
  if (!key.scopes.includes('act')) {
    throw new ErrandError(
      'FORBIDDEN',
      'This platform key cannot act on behalf of users. Use a key with the scope "act".',
    )
  }
  const user = await store.platform.findUser(asked)
  // Treat admins like unknown users, because platform keys cannot act on behalf of admins.
  if (!user || user.isAdmin)
    throw new ErrandError(
      'FORBIDDEN',
      'Platform keys cannot act on behalf of the user named in the Errand-User header. Check the id.',
    )
  assertNotSuspended(user)
  return {
    ...unlimited,
    userId: user.id,
    account: user.account,
    email: user.email,
    isAdmin: false,
    scopes: ['read', 'execute', ...(['pay', 'connectors'] as const).filter((scope) => key.scopes.includes(scope))],
    credential: { kind: 'acting', platformKeyId: key.id },
  }
}

async function byClientToken({ clock, store }: AuthenticatorParts, tokenHash: string): Promise<Caller> {
  const token = await store.platform.findToken(tokenHash)
  const now = clock.now()
  if (!token || token.revokedAt !== null || token.expiresAt <= now || token.makerEndsAt <= now) {
    throw unauthorized('The client token is invalid, expired or revoked. Request a new one.')
  }
  assertNotSuspended(token)
  const { account, agents, email, id: tokenId, isOnce, makerLimits, maxCost, sessionId, taskId, userId } = token
  return {
    userId,
    account,
    email,
    isAdmin: false,
    scopes: token.scopes,
    limits: {
      spend: tokenSpend({ id: tokenId, maxCost }),
      rate: makerLimits?.rate ?? null,
      onceTokenId: isOnce ? tokenId : null,
      makerSpend: makerLimits?.spend ?? null,
    },
    agents,
    credential: { kind: 'clientToken', tokenId, sessionId, taskId },
  }
}

async function byLogin({ clock, loginUses, store }: AuthenticatorParts, token: string): Promise<Caller> {
  const tokenHash = hashSecretToken(token)
  const login = tokenHash === undefined ? undefined : await store.findLogin(tokenHash)
  const now = clock.now()
  if (!login || login.expiresAt <= now || login.lastUsedAt + loginIdleMs <= now) {
    throw unauthorized('The browser login is no longer valid. Log in again.')
  }
  assertNotSuspended(login)
  loginUses.used(login.id, now)
  const { account, userId, email, isAdmin } = login
  return { ...unlimited, userId, account, email, isAdmin, scopes, credential: { kind: 'login', loginId: login.id } }
}

function assertNotExpired({ expiresAt }: { expiresAt: EpochMs | null }, now: EpochMs, what: string): void {
  if (expiresAt !== null && expiresAt <= now) throw unauthorized(`The ${what} has expired. Create a new one.`)
}

function assertNotSuspended({ suspendedAt }: { suspendedAt: number | null }): void {
  if (suspendedAt !== null) throw new ErrandError('FORBIDDEN', 'This account is suspended. Contact an admin.')
}

/**
 * The message quotes the start of the key, because a program may be sending an old key from its environment. The
 * message is the same for unknown and revoked keys, so that it does not reveal which keys exist.
 */
function invalidKey(what: string, { headers }: IncomingMessage): ErrandError {
  const start = /errand_\w{7}/.exec(headers.authorization ?? '')?.[0]
  return unauthorized(`The ${what} ${start}… is invalid or revoked. Send an active key.`)
}

function unauthorized(message: string): ErrandError {
  return new ErrandError('UNAUTHORIZED', message)
}
