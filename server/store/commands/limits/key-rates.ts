import type { EpochMs } from '../../../kernel/clock.ts'
import type { CredentialLimits, KeyRateState } from '../../execution-limits.ts'
import { rateWindowMs } from '../../store.ts'
import type { Answer, Reads, Tx } from '../command.ts'
import { columns, statement } from '../statement.ts'

// Executions a minute with a key that has a limit of its own: of whole minutes of UTC, a row each key. Those of a user are
// counted over any minute, from the executions themselves.

type Row = { startsAt: EpochMs; used: number }
type KeyRate = NonNullable<CredentialLimits['rate']>

const get = statement<Row>('key_rate_get', `SELECT ${columns('startsAt used')} FROM key_rates WHERE key_id = :keyId`)
const put = statement(
  'key_rate_put',
  `INSERT INTO key_rates (key_id, starts_at, used) VALUES (:keyId, :startsAt, :used)
    ON CONFLICT (key_id) DO UPDATE SET starts_at = excluded.starts_at, used = excluded.used`,
)

/** Of a user whose account is locked, or will be by the time that this is read. */
export function askKeyRate(on: Reads, { keyId, perMinute: limit }: KeyRate): Answer<(now: EpochMs) => KeyRateState> {
  return on.get(get, { keyId }).map((row) => (now: EpochMs) => {
    const startsAt = now - (now % rateWindowMs)
    const used = row?.startsAt === startsAt ? row.used : 0
    return { limit, used, resetsAt: startsAt + rateWindowMs }
  })
}

export function countKeyRate(tx: Tx, keyId: string, { resetsAt, used }: KeyRateState): void {
  tx.send(put, { keyId, startsAt: resetsAt - rateWindowMs, used: used + 1 })
}
