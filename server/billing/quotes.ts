import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Secrets } from '../kernel/secret-vault.ts'
import { assert } from '../kernel/assert.ts'
import type { Clock, EpochMs } from '../kernel/clock.ts'
import { badField, ErrandError } from '../kernel/errors.ts'

export const quoteLifeMs = 10 * 60_000

const prefix = 'quote_'
const nonceBytes = 16
const purpose = 'errand: quotes'

/**
 * User and request that a quote is valid for. `hash` covers the type of the request and all fields that affect the
 * price.
 */
export type QuoteSubject = { userId: string; hash: string }
/** `id` is stored when a quote is used, so that it can be used only once. */
export type OpenedQuote<Terms> = { id: string; terms: Terms }

type Body<Terms> = { id: string; expiresAt: EpochMs; terms: Terms }

/**
 * Creates and verifies price quotes, which are valid for ten minutes. Quotes are not stored, because the id contains
 * the terms: `quote_{base64url of JSON}.{HMAC-SHA256, base64url}`. The HMAC key is derived from the service's secret.
 * The signature also covers the user and the request, so the quote is invalid for any other user or request.
 */
export class Quotes {
  readonly #read: () => Secrets
  readonly #clock: Clock

  constructor({ clock, read }: { clock: Clock; read: () => Secrets }) {
    this.#read = read
    this.#clock = clock
  }

  issue(subject: QuoteSubject, terms: unknown): { quoteId: string; expiresAt: EpochMs } {
    const expiresAt = this.#clock.now() + quoteLifeMs
    const id = randomBytes(nonceBytes).toString('base64url')
    const body = Buffer.from(JSON.stringify({ id, expiresAt, terms })).toString('base64url')
    const [key] = this.#keys()
    return { quoteId: `${prefix}${body}.${sign(key!, subject, body)}`, expiresAt }
  }

  /** Throws 400 if the quote is invalid or was created for another user or request. Throws 409 if it has expired. */
  open<Terms>(subject: QuoteSubject, quoteId: string): OpenedQuote<Terms> {
    const [body = '', signature = ''] = quoteId.slice(prefix.length).split('.', 2)
    const isOurs = quoteId === `${prefix}${body}.${signature}` && this.#isSigned(subject, body, signature)
    if (!isOurs) throw badField('quoteId', 'Must be a quote for this request. Request a new quote')
    const { expiresAt, id, terms } = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as Body<Terms>
    if (expiresAt <= this.#clock.now()) throw new ErrandError('CONFLICT', 'The quote has expired. Request a new quote.')
    return { id, terms }
  }

  #isSigned(subject: QuoteSubject, body: string, signature: string): boolean {
    return this.#keys().some((key) => isSame(sign(key, subject, body), signature))
  }

  /** Reads the secrets on each call, so that quotes signed with a removed secret are invalid immediately. */
  #keys(): Buffer[] {
    const { current, previous } = this.#read()
    return [current, ...previous].map(deriveKey)
  }
}

export function quoteUsed(): ErrandError {
  return new ErrandError('CONFLICT', 'The quote has already been used. Request a new quote.')
}

function deriveKey(secret: string): Buffer {
  assert(secret.length >= 16, 'a secret has at least 16 characters')
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
}

function sign(key: Buffer, { hash, userId }: QuoteSubject, body: string): string {
  return createHmac('sha256', key).update(`${userId}\n${hash}\n${body}`).digest('base64url')
}

/** Compares the encoded signatures, because several base64url strings decode to the same bytes. */
function isSame(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)]
  return one.length === other.length && timingSafeEqual(one, other)
}
