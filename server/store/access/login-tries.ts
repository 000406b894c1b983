import { hash } from 'node:crypto'
import type { EpochMs } from '../../kernel/clock.ts'

export const loginWindowMs = 15 * 60_000

/**
 * Maximum number of login attempts within the window. `pair` limits one client's attempts for one email address, and
 * does not lock out the user's other clients. `email` limits one address across all clients, to prevent guessing from
 * many clients. `client` limits one client across all addresses, to prevent trying one password on many users. Clients
 * without a known address share one `pair` count and are exempt from `client`.
 */
export const loginTriesMax = { pair: 10, email: 50, client: 100 }

/** Returns the time at which another attempt is allowed, or 0 if there were fewer than `limit` attempts. */
export function fullUntil(newest: readonly { at: EpochMs }[], limit: number): EpochMs {
  return newest.length < limit ? 0 : newest.at(-1)!.at + loginWindowMs
}

export function hashEmail(email: string): string {
  return hash('sha256', email.toLowerCase(), 'hex')
}
