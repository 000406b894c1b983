import type { RateState } from '../store/limits/limit-types.ts'
import type { EpochMs } from '../kernel/clock.ts'
import { rateWindowMs } from '../store/limits/account-limits.ts'

export function remainingOf({ limit, used }: RateState): number {
  return Math.max(0, limit - used)
}

export function resetAt({ now, oldestAt }: RateState): EpochMs {
  return oldestAt === null ? now : oldestAt + rateWindowMs
}

/** Returns the X-RateLimit headers as alternating names and values, or an empty array if there is no rate limit. */
export function rateHeaders(rate: RateState): string[] {
  if (rate.limit === 0) return []
  return [
    'X-RateLimit-Limit',
    String(rate.limit),
    'X-RateLimit-Remaining',
    String(remainingOf(rate)),
    'X-RateLimit-Reset',
    String(Math.ceil(resetAt(rate) / 1000)),
  ]
}
