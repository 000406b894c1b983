import { hash } from 'node:crypto'
import type { EpochMs } from '../../kernel/clock.ts'

export const loginWindowMs = 15 * 60_000

/**
 * Maximum number of attempts within the window. `pair` limits one client's attempts for one email address, which
 * stops guessing without blocking the user's other clients. `email` limits the attempts for one email address from
 * all clients, which stops guessing from many clients. `client` limits one client's attempts for all addresses, which
 * stops trying one password on many users. All clients without a known address together count as one client for
 * `pair`, and are exempt from `client`.
 */
export const loginTriesMax = { pair: 10, email: 50, client: 100 }

/** Returns the time at which another attempt is allowed, or 0 if there were fewer than `limit` attempts. */
export function fullUntil(newest: readonly { at: EpochMs }[], limit: number): EpochMs {
  return newest.length < limit ? 0 : newest.at(-1)!.at + loginWindowMs
}

export function hashEmail(email: string): string {
  return hash('sha256', email.toLowerCase(), 'hex')
}
