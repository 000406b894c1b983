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

/** Of the installation, and with those that ended. */
const livePlatformKeysMax = 100
const platformKeysMax = 10_000
/** Users that one platform key makes in its life: every list and write stays fast with as many. */
export const usersPerPlatformKeyMax = 1_000_000
/** Of one user. */
const liveTokensMax = 1000

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

/** Throws CONFLICT when an installation with so many platform keys can have no other. */
export function assertPlatformKeyRoom({ all, live }: { all: number; live: number }): void {
  if (live < livePlatformKeysMax && all < platformKeysMax) return
  const message = `There are at most ${livePlatformKeysMax} platform keys that work, and ${platformKeysMax} with those that ended; revoke one first.`
  throw new ErrandError('CONFLICT', message)
}

/** Throws CONFLICT when a user with so many client tokens can have no other. */
export function assertTokenRoom(live: number): void {
  if (live < liveTokensMax) return
  const message = `An account has at most ${liveTokensMax} client tokens that work; wait until the oldest have ended, or revoke one.`
  throw new ErrandError('CONFLICT', message)
}
