import { randomBytes } from 'node:crypto'
import { hashToken } from '../keys/api-token.ts'

const tokenBytes = 32
const tokenPattern = /^[\w-]{43}$/

/** Creates a secret for a cookie or a link: 256 random bits, encoded as base64url. Only its hash is stored. */
export function newSecretToken(): { token: string; tokenHash: string } {
  const token = randomBytes(tokenBytes).toString('base64url')
  return { token, tokenHash: hashToken(token) }
}

/** Returns undefined if the string cannot be a token, to save a database read. */
export function hashSecretToken(text: string): string | undefined {
  return tokenPattern.test(text) ? hashToken(text) : undefined
}
