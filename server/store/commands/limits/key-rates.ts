import type { EpochMs } from '../../../kernel/clock.ts'
import type { CredentialLimits, KeyRateState } from '../../execution-limits.ts'
import { rateWindowMs } from '../../store.ts'
import type { Answer, Reads, Tx } from '../command.ts'

// Executions a minute with a key that has a limit of its own: of whole minutes of UTC, a row each key. Those of a user are
// counted over any minute, from the executions themselves.

type KeyRate = NonNullable<CredentialLimits['rate']>

/** Of a user whose account is locked, or will be by the time that this is read. */
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
