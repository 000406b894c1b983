import { ErrandError } from '../../kernel/errors.ts'

export const metadataBytesMax = 16_384

export const sessionsMax = 50_000
/**
 * Maximum number of sessions without messages per account. At this bound, the store deletes old empty sessions to make
 * room.
 */
export const emptySessionsMax = 10_000
/**
 * Maximum number of empty sessions to delete at a time. The store deletes only sessions that were never completed and
 * that expired more than `emptiesKeptMs` ago. They must have no metadata, unless they were created for a response.
 */
export const emptiesRemovedMax = 500
export const emptiesKeptMs = 7 * 86_400_000
/**
 * Maximum number of sessions that an account can create with an Idempotency-Key per day. The keys are stored for a
 * day.
 */
export const keyedSessionsMax = 20_000

const liveKeysMax = 1000
/** Maximum number of keys per account, including expired and revoked keys, which are stored for `endedKeptMs`. */
const keysMax = 10_000
export const endedKeptMs = 90 * 86_400_000

export const connectorsMax = 100

const livePlatformKeysMax = 100
const platformKeysMax = 10_000
/** Maximum number of users that a platform key can ever create. Lists and writes remain fast up to this number. */
export const usersPerPlatformKeyMax = 1_000_000
const liveTokensMax = 1000

export function assertKeyRoom({ all, live }: { all: number; live: number }): void {
  if (live >= liveKeysMax) {
    throw new ErrandError(
      'CONFLICT',
      `This account already has the maximum of ${liveKeysMax} active keys. Revoke one first.`,
    )
  }
  if (all >= keysMax) {
    const message = `This account already has ${keysMax} keys, the maximum, counting those that ended in the last 90 days. Wait until the oldest are removed.`
    throw new ErrandError('CONFLICT', message)
  }
}

export function assertPlatformKeyRoom({ all, live }: { all: number; live: number }): void {
  if (live >= livePlatformKeysMax) {
    const message = `There are already ${livePlatformKeysMax} active platform keys, the maximum. Revoke one first.`
    throw new ErrandError('CONFLICT', message)
  }
  if (all >= platformKeysMax) {
    const message = `There are already ${platformKeysMax} platform keys, the maximum, counting ended keys. Use an existing key.`
    throw new ErrandError('CONFLICT', message)
  }
}

export function assertTokenRoom(live: number): void {
  if (live < liveTokensMax) return
  const message = `This account already has ${liveTokensMax} active client tokens, the maximum. Revoke one or wait until the oldest expire.`
  throw new ErrandError('CONFLICT', message)
}
