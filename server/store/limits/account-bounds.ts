import { ErrandError } from '../../kernel/errors.ts'

// Bounds on resources that an account can create for free.

/** Max size of a session's metadata as JSON. */
export const metadataBytesMax = 16_384

export const sessionsMax = 50_000
/**
 * Max sessions without messages per account. At this bound, the store removes long-expired empty sessions to make room.
 */
export const emptySessionsMax = 10_000
/**
 * Max empty sessions removed at a time. Only sessions that are open, have no metadata (unless created for a response),
 * and expired more than `emptiesKeptMs` ago are removed.
 */
export const emptiesRemovedMax = 500
export const emptiesKeptMs = 7 * 86_400_000
/** Max sessions that an account can create with an Idempotency-Key in a day. Keys are stored for a day. */
export const keyedSessionsMax = 20_000

/** Max active keys per account. */
const liveKeysMax = 1000
/** Max keys per account including ended ones, which are stored for `endedKeptMs`. */
const keysMax = 10_000
/** Retention of ended keys and invitations. */
export const endedKeptMs = 90 * 86_400_000

export const connectorsMax = 100

/** Max active platform keys per installation. */
const livePlatformKeysMax = 100
/** Max platform keys per installation including ended ones. */
const platformKeysMax = 10_000
/** Max users a platform key can create in its lifetime. Lists and writes stay fast up to this number. */
export const usersPerPlatformKeyMax = 1_000_000
/** Max active client tokens per user. */
const liveTokensMax = 1000

/** Throws CONFLICT if an account with this many keys cannot have another. */
export function assertKeyRoom({ all, live }: { all: number; live: number }): void {
  if (live >= liveKeysMax) {
    throw new ErrandError(
      'CONFLICT',
      `This account already has ${liveKeysMax} active keys, the maximum. Revoke one first.`,
    )
  }
  if (all >= keysMax) {
    const message = `This account already has ${keysMax} keys including those that ended in the last 90 days, the maximum. Wait until the oldest are removed.`
    throw new ErrandError('CONFLICT', message)
  }
}

/** Throws CONFLICT if an installation with this many platform keys cannot have another. */
export function assertPlatformKeyRoom({ all, live }: { all: number; live: number }): void {
  if (live >= livePlatformKeysMax) {
    const message = `There are already ${livePlatformKeysMax} active platform keys, the maximum. Revoke one first.`
    throw new ErrandError('CONFLICT', message)
  }
  if (all >= platformKeysMax) {
    const message = `There are already ${platformKeysMax} platform keys including those that ended, the maximum.`
    throw new ErrandError('CONFLICT', message)
  }
}

/** Throws CONFLICT if a user with this many client tokens cannot have another. */
export function assertTokenRoom(live: number): void {
  if (live < liveTokensMax) return
  const message = `This account already has ${liveTokensMax} active client tokens, the maximum. Revoke one or wait until the oldest expire.`
  throw new ErrandError('CONFLICT', message)
}
