import { hash } from 'node:crypto'
import type { EpochMs } from '../../kernel/clock.ts'

export const loginWindowMs = 15 * 60_000

/**
 * Max attempts within the window: for one email from one client, for one email from any client, and from one client for
 * any email. The first stops guessing without locking out the user's other clients. The second stops guessing from many
 * clients, and the third stops trying one password on many users. Clients that cannot be told apart count as one for
 * the first limit and are exempt from the third.
 */
export const loginTriesMax = { pair: 10, email: 50, client: 100 }

/** Time when the oldest of `limit` attempts leaves the window; 0 if there are fewer. */
export function fullUntil(newest: readonly { at: EpochMs }[], limit: number): EpochMs {
  return newest.length < limit ? 0 : newest.at(-1)!.at + loginWindowMs
}

export function hashEmail(email: string): string {
  return hash('sha256', email.toLowerCase(), 'hex')
}
