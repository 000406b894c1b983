import { createHmac, timingSafeEqual } from 'node:crypto'
import { assert } from '../kernel/assert.ts'
import type { Clock } from '../kernel/clock.ts'

type SignedLinksOptions = { secret: string; baseUrl: () => string; clock: Clock; lifeSeconds: number }

/**
 * Creates and verifies links that let anyone download one payload until they expire:
 * `{baseUrl}/api/payloads/{id}?expires={Unix seconds}&signature={HMAC-SHA256 of id and expiry, base64url}`.
 */
export class SignedLinks {
  readonly #options: SignedLinksOptions

  constructor(options: SignedLinksOptions) {
    // HMAC accepts an empty key, but then anyone could forge links.
    assert(options.secret.length >= 16, 'the signing secret has at least 16 characters')
    this.#options = options
  }

  create(payloadId: string): string {
    const { baseUrl, clock, lifeSeconds } = this.#options
    const expires = String(Math.floor(clock.now() / 1000) + lifeSeconds)
    return `${baseUrl()}/api/payloads/${payloadId}?expires=${expires}&signature=${this.#sign(payloadId, expires)}`
  }

  isValid({ payloadId, expires, signature }: { payloadId: string; expires: string; signature: string }): boolean {
    if (!/^\d{1,12}$/.test(expires)) return false
    const given = Buffer.from(signature)
    const expected = Buffer.from(this.#sign(payloadId, expires))
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false
    return Number(expires) * 1000 > this.#options.clock.now()
  }

  #sign(payloadId: string, expires: string): string {
    return createHmac('sha256', this.#options.secret).update(`${payloadId}\n${expires}`).digest('base64url')
  }
}
