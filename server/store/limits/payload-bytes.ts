import type { EpochMs } from '../../kernel/clock.ts'
import { must } from '../../kernel/assert.ts'
import type { PayloadsFull } from '../tasks/task-types.ts'
import { periodEnd, periodStart } from './spend-period.ts'
import type { StoreLimits } from '../store.ts'
import type { AccountRow } from '../tables/account-tables.ts'
import type { Tx } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'

// Payload bytes per UTC day, counted in the account's row by the transaction that stores the payload. Results are
// always stored, so they can take the day's total above the limit.

const add = statement(
  'account_payload_bytes',
  `UPDATE accounts SET
      payload_bytes = CASE WHEN payloads_since >= :today THEN payload_bytes + :bytes ELSE :bytes END,
      payloads_since = CASE WHEN payloads_since >= :today THEN payloads_since ELSE :now END
    WHERE user_id = :userId`,
)

type Stored = Pick<AccountRow, 'payloadBytes' | 'payloadsSince'>

/** Counts payloads for a locked account. */
export function countPayloads(tx: Tx, { bytes, now, userId }: { userId: string; bytes: number; now: EpochMs }): void {
  if (bytes > 0) tx.send(add, { userId, bytes, now, today: periodStart('day', now) })
}

/** Returns the count of the current UTC day, and when it resets. */
export function payloadsToday({ payloadBytes, payloadsSince }: Stored, now: EpochMs) {
  const today = periodStart('day', now)
  const bytes = payloadsSince !== null && payloadsSince >= today ? payloadBytes : 0
  return { bytes, resetsAt: must(periodEnd('day', today), 'a daily period has an end') }
}

/** Returns the daily limit and its usage if `bytes` more would exceed it; otherwise undefined. */
export function fullOfPayloads(
  account: Stored,
  { bytes, limits: { payloadBytesPerDay: limit }, now }: { bytes: number; limits: StoreLimits; now: EpochMs },
): PayloadsFull | undefined {
  if (limit === 0 || bytes === 0) return undefined
  const { bytes: stored, resetsAt } = payloadsToday(account, now)
  return stored + bytes > limit ? { limit, stored, required: bytes, resetsAt } : undefined
}
