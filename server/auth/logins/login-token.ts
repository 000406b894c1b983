import { randomBytes } from 'node:crypto'
import { hashToken } from '../keys/api-token.ts'

const tokenBytes = 32
const tokenPattern = /^[\w-]{43}$/

/** Creates a secret for a cookie or a link: 256 random bits in base64url. Only its hash is stored. */
export function newSecretToken(): { token: string; tokenHash: string } {
  const token = randomBytes(tokenBytes).toString('base64url')
  return { token, tokenHash: hashToken(token) }
}

/** Returns the hash of a token. Undefined for a string that cannot be a token, so that it costs no database read. */
export function hashSecretToken(text: string): string | undefined {
  return tokenPattern.test(text) ? hashToken(text) : undefined
}
