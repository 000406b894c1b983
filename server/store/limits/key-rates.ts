import type { EpochMs } from '../../kernel/clock.ts'
import type { CredentialLimits, KeyRateState } from './execution-limits.ts'
import { rateWindowMs } from '../limits/account-limits.ts'
import type { Answer, Reads, Tx } from '../commands/command.ts'

// A key's executions are counted per UTC minute in one row. A user's rate limit instead counts the executions of the
// last 60 seconds.

type KeyRate = NonNullable<CredentialLimits['rate']>

/** The caller must lock the user's account before it awaits the answer. */
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
