import { rateWindowMs } from '../store/store.ts'
import type { RateState } from '../store/records.ts'

/** The X-RateLimit headers of a response, as names and values in turn; none when no limit is set. */
export function rateHeaders({ limit, used, oldestAt, now }: RateState): string[] {
  if (limit === 0) return []
  const resetMs = oldestAt === null ? now : oldestAt + rateWindowMs
  return [
    'X-RateLimit-Limit',
    String(limit),
    'X-RateLimit-Remaining',
    String(Math.max(0, limit - used)),
    'X-RateLimit-Reset',
    String(Math.ceil(resetMs / 1000)),
  ]
}
