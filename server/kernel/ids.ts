import { randomFillSync } from 'node:crypto'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const randomBytesPerId = 16
/** Random bytes, generated in bulk because each call to the generator is slow. */
const pool = Buffer.allocUnsafe(4096)
let poolAt = pool.length

export type IdPrefix =
  | 'task'
  | 'txn'
  | 'user'
  | 'key'
  | 'pay'
  | 'req'
  | 'ses'
  | 'msg'
  | 'turn'
  | 'run'
  | 'con'
  | 'login'
  | 'inv'
  | 'evt'
  | 'hook'
  | 'top'
  | 'pkey'
  | 'ctok'
  | 'mail'

/**
 * Returns an id: a prefix such as `task_` followed by 26 characters. Ten of them encode the time, and sixteen encode 80
 * random bits. Ids cannot be guessed, and rows created one after another are adjacent in an index.
 */
export function newId(prefix: IdPrefix, now: number): string {
  if (poolAt + randomBytesPerId > pool.length) {
    randomFillSync(pool)
    for (let at = 0; at < pool.length; at++) pool[at] = alphabet.charCodeAt(pool[at]! & 31)
    poolAt = 0
  }
  const random = pool.toString('latin1', poolAt, poolAt + randomBytesPerId)
  poolAt += randomBytesPerId
  return `${prefix}_${encodeTime(now)}${random}`
}

let encodedTime = -1
let encodedText = ''

function encodeTime(now: number): string {
  if (now === encodedTime) return encodedText
  let text = ''
  let rest = now
  for (let digit = 0; digit < 10; digit++) {
    text = alphabet[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  encodedTime = now
  encodedText = text
  return text
}

/** Whether a string has the format of our ids. Check this first to avoid looking up malformed ids. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.length === prefix.length + 27 && text.startsWith(`${prefix}_`) && /^[0-9a-z]+$/.test(text.slice(-26))
}
