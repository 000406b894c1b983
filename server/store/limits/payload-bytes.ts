import type { EpochMs } from '../../kernel/clock.ts'
import { must } from '../../kernel/assert.ts'
import type { PayloadsFull } from '../tasks/task-types.ts'
import { periodEnd, periodStart } from './spend-period.ts'
import type { StoreLimits } from '../store.ts'
import type { AccountRow } from '../tables/account-tables.ts'
import type { Tx } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'

// Payload bytes are counted per UTC day in the account's row, in the transaction that stores a payload. Task results
// are always stored, even beyond the limit.

const add = statement(
  'account_payload_bytes',
  `UPDATE accounts SET
      payload_bytes = CASE WHEN payloads_since >= :today THEN payload_bytes + :bytes ELSE :bytes END,
      payloads_since = CASE WHEN payloads_since >= :today THEN payloads_since ELSE :now END
    WHERE user_id = :userId`,
)

type Stored = Pick<AccountRow, 'payloadBytes' | 'payloadsSince'>

/** The caller must have locked the account. */
export function countPayloads(tx: Tx, { bytes, now, userId }: { userId: string; bytes: number; now: EpochMs }): void {
  if (bytes > 0) tx.send(add, { userId, bytes, now, today: periodStart('day', now) })
}

export function payloadsToday({ payloadBytes, payloadsSince }: Stored, now: EpochMs) {
  const today = periodStart('day', now)
  const bytes = payloadsSince !== null && payloadsSince >= today ? payloadBytes : 0
  return { bytes, resetsAt: must(periodEnd('day', today), 'a daily period has an end') }
}

/** Returns the daily limit and its usage if storing `bytes` more bytes would exceed the limit. */
export function fullOfPayloads(
  account: Stored,
  { bytes, limits: { payloadBytesPerDay: limit }, now }: { bytes: number; limits: StoreLimits; now: EpochMs },
): PayloadsFull | undefined {
  if (limit === 0 || bytes === 0) return undefined
  const { bytes: stored, resetsAt } = payloadsToday(account, now)
  return stored + bytes > limit ? { limit, stored, required: bytes, resetsAt } : undefined
}
