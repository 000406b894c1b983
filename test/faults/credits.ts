import { randomUUID } from 'node:crypto'
import { newSecretToken } from '../../server/auth/logins/login-token.ts'
import { must } from '../../server/kernel/assert.ts'
import { besidePlace } from './fault-place.ts'
import type { Place } from './row-source.ts'

type Credit = { idempotencyKey: string; amountUsd: string }

/**
 * An admin who credits one user over the API, and the results so far. Each idempotency key creates at most one
 * transaction.
 */
export class Credits {
  readonly userId: string
  readonly acknowledged = new Map<string, string>()
  #unknown: Credit[] = []
  readonly #cookie: string

  private constructor(userId: string, cookie: string) {
    this.userId = userId
    this.#cookie = cookie
  }

  static async open(place: Place, userId: string): Promise<Credits> {
    const { token, tokenHash } = newSecretToken()
    await besidePlace(place, async (store) => {
      const created = await store.createUser({ email: 'admin@example.com', passwordHash: null, isAdmin: true })
      if (created.outcome === 'refused') throw new Error('there is an admin already')
      const of = { method: 'password', provider: null, userAgent: null, forget: null } as const
      must(await store.createLogin({ userId: created.userId, tokenHash, ...of }), 'a user who may log in')
    })
    return new Credits(userId, `errand=${token}`)
  }

  get sent(): number {
    return this.acknowledged.size + this.#unknown.length
  }

  /** Resolves with the status; undefined if there was no response. */
  async give(url: string, amountUsd: string): Promise<number | undefined> {
    return await this.#send(url, { idempotencyKey: randomUUID(), amountUsd })
  }

  async repeatUnknown(url: string): Promise<void> {
    const credits = this.#unknown
    this.#unknown = []
    for (const credit of credits) {
      const status = await this.#send(url, credit)
      if (status !== 200) throw new Error(`a repeated credit was answered ${status}`)
    }
  }

  async #send(url: string, credit: Credit): Promise<number | undefined> {
    const { amountUsd, idempotencyKey } = credit
    try {
      const response = await fetch(`${url}/api/users/${this.userId}/credit`, {
        method: 'POST',
        headers: {
          Cookie: this.#cookie,
          Origin: url,
          'Sec-Fetch-Site': 'same-origin',
          'Content-Type': 'application/json',
          'Idempotency-Key': idempotencyKey,
        },
        body: JSON.stringify({ amountUsd, reason: 'For the load' }),
      })
      const body = (await response.json()) as { transactionId: string }
      if (response.status === 200) this.acknowledged.set(idempotencyKey, body.transactionId)
      else this.#unknown.push(credit)
      return response.status
    } catch {
      this.#unknown.push(credit)
      return undefined
    }
  }
}
