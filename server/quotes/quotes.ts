import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Secrets } from '../connectors/secret-vault.ts'
import { assert } from '../kernel/assert.ts'
import type { Clock, EpochMs } from '../kernel/clock.ts'
import { badField, ErrandError } from '../kernel/errors.ts'

export const quoteLifeMs = 10 * 60_000

const prefix = 'quote_'
const nonceBytes = 16
const purpose = 'errand: quotes'

/** What a quote is for: `hash` is that of the request, as far as it decides the price, and of what kind it is. */
export type QuoteSubject = { userId: string; hash: string }
/** By `id` a quote is used once. */
export type OpenedQuote<Terms> = { id: string; terms: Terms }

type Body<Terms> = { id: string; expiresAt: EpochMs; terms: Terms }

/**
 * Prices that hold for ten minutes. Nothing is kept of a quote: its id carries the terms, as
 * `quote_{base64url of JSON}.{HMAC-SHA256, base64url}` under a key derived from the service's secret. User and request are only
 * signed, so that the quote of another user or request is as wrong as a forged one.
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

  /** Throws 400 for what is no quote of the user's for the request, 409 for one that has expired. */
  open<Terms>(subject: QuoteSubject, quoteId: string): OpenedQuote<Terms> {
    const [body = '', signature = ''] = quoteId.slice(prefix.length).split('.', 2)
    const isOurs = quoteId === `${prefix}${body}.${signature}` && this.#isSigned(subject, body, signature)
    if (!isOurs) throw badField('quoteId', 'Must be a quote that was made for this request; make a new one')
    const { expiresAt, id, terms } = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as Body<Terms>
    if (expiresAt <= this.#clock.now()) throw new ErrandError('CONFLICT', 'The quote has expired; make a new one.')
    return { id, terms }
  }

  #isSigned(subject: QuoteSubject, body: string, signature: string): boolean {
    return this.#keys().some((key) => isSame(sign(key, subject, body), signature))
  }

  /** Of the secrets as they are now: one that was taken out of use makes no price any more. */
  #keys(): Buffer[] {
    const { current, previous } = this.#read()
    return [current, ...previous].map(deriveKey)
  }
}

/** The answer where a quote has admitted something already. */
export function quoteUsed(): ErrandError {
  return new ErrandError('CONFLICT', 'The quote was used; make a new one.')
}

function deriveKey(secret: string): Buffer {
  assert(secret.length >= 16, 'a secret has at least 16 characters')
  return Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
}

function sign(key: Buffer, { hash, userId }: QuoteSubject, body: string): string {
  return createHmac('sha256', key).update(`${userId}\n${hash}\n${body}`).digest('base64url')
}

/** As texts, of which only one means these bytes. */
function isSame(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)]
  return one.length === other.length && timingSafeEqual(one, other)
}
