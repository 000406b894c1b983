import { randomBytes } from 'node:crypto'
import { hashToken } from '../keys/api-token.ts'

const tokenBytes = 32
const tokenPattern = /^[\w-]{43}$/

/** A secret for a cookie or a link: 256 random bits in base64url. Only its hash is stored. */
export function newSecretToken(): { token: string; tokenHash: string } {
  const token = randomBytes(tokenBytes).toString('base64url')
  return { token, tokenHash: hashToken(token) }
}

/** The hash of a token as it was handed out; undefined for any other text, which then costs no read of the database. */
export function hashSecretToken(text: string): string | undefined {
  return tokenPattern.test(text) ? hashToken(text) : undefined
}
