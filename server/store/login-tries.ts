import { hash } from 'node:crypto'
import type { EpochMs } from '../kernel/clock.ts'

export const loginWindowMs = 15 * 60_000

/**
 * Tries within the window, for one address from one client, for one address from anywhere, and from one client for any
 * address. The first bounds guessing and leaves a user's other clients alone; the others bound guessing by many clients,
 * and of one password for many users. Clients that cannot be told apart count as one in the first, and not in the last.
 */
export const loginTriesMax = { pair: 10, email: 50, client: 100 }

/** When the oldest of as many tries as are allowed leaves the window; 0 while there are fewer. */
export function fullUntil(newest: readonly { at: EpochMs }[], limit: number): EpochMs {
  return newest.length < limit ? 0 : newest.at(-1)!.at + loginWindowMs
}

export function hashEmail(email: string): string {
  return hash('sha256', email.toLowerCase(), 'hex')
}
