import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

const prefix = 'errand_sk_'
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomChars = 30
const checksumChars = 6
const tokenPattern = new RegExp(`^${prefix}[0-9A-Za-z]{${randomChars + checksumChars}}$`)

/** A new API key: `errand_sk_`, 30 random characters of base62 (178 bits) and a checksum of 6. */
export function newToken(): string {
  let random = ''
  for (let char = 0; char < randomChars; char++) random += alphabet[randomInt(alphabet.length)]
  return prefix + random + checksum(random)
}

/** Whether the checksum fits, so that a mistyped or made-up key costs no read of the database. */
export function isToken(text: string): boolean {
  if (!tokenPattern.test(text)) return false
  const random = text.slice(prefix.length, prefix.length + randomChars)
  return text.endsWith(checksum(random))
}

/** What is stored of a key. It is random through and through, so a fast hash is as good as a slow one. */
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
