import type { EpochMs } from '../../kernel/clock.ts'
import type { StoreLimits } from '../store.ts'

const repeatMs = 24 * 3_600_000

/** Doubles the last block's duration if that block started in the last 24 hours, up to the maximum. */
export function nextBlockSeconds(
  { abuseBlockMaxSeconds, abuseBlockSeconds }: StoreLimits,
  { lastAt, lastSeconds, now }: { now: EpochMs; lastAt: EpochMs | null; lastSeconds: number | null },
): number {
  if (lastAt === null || lastSeconds === null || now - lastAt >= repeatMs) return abuseBlockSeconds
  return Math.max(abuseBlockSeconds, Math.min(lastSeconds * 2, abuseBlockMaxSeconds))
}
