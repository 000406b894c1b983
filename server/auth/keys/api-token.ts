import { createHmac, hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const prefixes = { key: 'errand_sk_', platform: 'errand_pk_', client: 'errand_ct_' } as const
export type TokenKind = keyof typeof prefixes

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomChars = 30
const checksumChars = 6
const tokenPattern = new RegExp(`^errand_(sk|pk|ct)_([0-9A-Za-z]{${randomChars}})([0-9A-Za-z]{${checksumChars}})$`)
const kinds: Record<string, TokenKind> = { sk: 'key', pk: 'platform', ct: 'client' }

/**
 * Creates a token: a prefix such as `errand_sk_`, 30 random base62 characters (178 bits) and a 6-character checksum.
 */
export function newToken(kind: TokenKind): string {
  let random = ''
  for (let char = 0; char < randomChars; char++) random += alphabet[randomInt(alphabet.length)]
  return prefixes[kind] + random + checksum(random)
}

/** Always returns the same token for the same secret and purpose. */
export function derivedToken(kind: TokenKind, { purpose, secret }: { purpose: string; secret: string }): string {
  const bytes = createHmac('sha256', secret).update(purpose).digest().subarray(0, randomChars)
  const random = Array.from(bytes, (byte) => alphabet[byte % alphabet.length]).join('')
  return prefixes[kind] + random + checksum(random)
}

/** Returns undefined if the checksum does not match, so that a mistyped or made-up token needs no database read. */
export function kindOfToken(text: string): TokenKind | undefined {
  const [, kind = '', random = '', sum] = tokenPattern.exec(text) ?? []
  return sum !== undefined && sum === checksum(random) ? kinds[kind] : undefined
}

/** Tokens have 178 random bits, so a fast hash is sufficient. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex')
}

function checksum(random: string): string {
  let rest = crc32(random)
  let text = ''
  for (let char = 0; char < checksumChars; char++) {
    text = alphabet[rest % alphabet.length] + text
    rest = Math.floor(rest / alphabet.length)
  }
  return text
}
