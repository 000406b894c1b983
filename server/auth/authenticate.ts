import type { Clock } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import type { Store } from '../store/store.ts'
import { hashToken, isToken } from './api-token.ts'
import type { Caller } from './caller.ts'
import type { KeyUses } from './key-uses.ts'

export type Authenticator = (authorization: string | undefined) => Promise<Caller>

type AuthenticatorParts = { store: Store; clock: Clock; keyUses: KeyUses }

/** Finds the caller of a request by its Authorization header; throws 401, with the reason, when there is none. */
export function createAuthenticator({ store, clock, keyUses }: AuthenticatorParts): Authenticator {
  return async (authorization) => {
    if (authorization === undefined) {
      throw unauthorized('Authentication is required: send the header Authorization: Bearer <API_KEY>.')
    }
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1]
    if (token === undefined) throw unauthorized('The Authorization header must be: Bearer <API_KEY>.')
    // One text for all of these: it tells a stranger nothing about which keys exist.
    if (!isToken(token)) throw unauthorized('The API key is invalid.')
    const key = await store.findKey(hashToken(token))
    if (!key || key.revokedAt !== null) throw unauthorized('The API key is invalid.')
    const now = clock.now()
    if (key.expiresAt !== null && key.expiresAt <= now) throw unauthorized('The API key has expired.')
    keyUses.used(key.id, now)
    const { userId, email, isAdmin, scopes } = key
    return { userId, email, isAdmin, scopes, keyId: key.id }
  }
}

function unauthorized(message: string): ErrandError {
  return new ErrandError('UNAUTHORIZED', message)
}
