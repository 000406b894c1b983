import type { EpochMs } from '../../kernel/clock.ts'
import type { CredentialLimits, KeyRateState } from './execution-limits.ts'
import { rateWindowMs } from '../limits/account-limits.ts'
import type { Answer, Reads, Tx } from '../commands/command.ts'

// Executions per minute with a key that has its own limit, counted by UTC minute in one row per key. A user's
// executions are counted over a sliding minute, from the executions themselves.

type KeyRate = NonNullable<CredentialLimits['rate']>

/** The user's account must be locked by the time the answer is read. */
export function askKeyRate(on: Reads, { keyId, perMinute: limit }: KeyRate): Answer<(now: EpochMs) => KeyRateState> {
  return on.used.keyRate(keyId).map((row) => (now: EpochMs) => {
    const startsAt = now - (now % rateWindowMs)
    const used = row?.startsAt === startsAt ? row.used : 0
    return { limit, used, resetsAt: startsAt + rateWindowMs }
  })
}

export function countKeyRate(tx: Tx, keyId: string, { resetsAt, used }: KeyRateState): void {
  tx.used.setKeyRate(keyId, { startsAt: resetsAt - rateWindowMs, used: used + 1 })
}
