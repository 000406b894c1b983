import { hash } from 'node:crypto'
import type { EpochMs } from '../../kernel/clock.ts'

export const loginWindowMs = 15 * 60_000

/**
 * Max attempts within the window. `pair` limits one client's attempts for one email: it stops guessing without locking
 * out the user's other clients. `email` limits the attempts for one email from all clients: it stops guessing from many
 * clients. `client` limits one client's attempts for all emails: it stops trying one password on many users. Clients
 * without a known address count as one client for `pair` and are exempt from `client`.
 */
export const loginTriesMax = { pair: 10, email: 50, client: 100 }

/** Returns when the oldest of the newest `limit` attempts leaves the window; 0 if there are fewer attempts. */
export function fullUntil(newest: readonly { at: EpochMs }[], limit: number): EpochMs {
  return newest.length < limit ? 0 : newest.at(-1)!.at + loginWindowMs
}

export function hashEmail(email: string): string {
  return hash('sha256', email.toLowerCase(), 'hex')
}
