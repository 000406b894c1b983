import { ErrandError } from '../kernel/errors.ts'

// What one account can have, of what is free to make.

/** Of a session's metadata, as JSON. */
export const metadataBytesMax = 16_384

export const sessionsMax = 50_000
/** Sessions that nobody has said a word in. Where there are as many, those that expired long ago make room. */
export const emptySessionsMax = 10_000
/** Of those so many make room at a time: open ones with nothing in them, that expired so long ago. */
export const emptiesRemovedMax = 500
export const emptiesKeptMs = 7 * 86_400_000
/** Sessions that were made with an Idempotency-Key, which is kept for a day. */
export const keyedSessionsMax = 20_000

/** Keys that work, of one account; and with those that ended, which are kept for as long as `endedKeptMs`. */
const liveKeysMax = 1000
const keysMax = 10_000
/** Keys and invitations that ended are kept for this long. */
export const endedKeptMs = 90 * 86_400_000

export const connectorsMax = 100

/** Throws CONFLICT when an account with so many keys can have no other. */
export function assertKeyRoom({ all, live }: { all: number; live: number }): void {
  if (live >= liveKeysMax) {
    throw new ErrandError('CONFLICT', `An account has at most ${liveKeysMax} keys that work; revoke one first.`)
  }
  if (all >= keysMax) {
    const message = `An account has at most ${keysMax} keys, with those that ended in the last 90 days; wait until the oldest are gone.`
    throw new ErrandError('CONFLICT', message)
  }
}
