import type { EpochMs } from '../../kernel/clock.ts'
import { unitsPerUsd, type Units } from '../../kernel/money.ts'
import { periodEnd, periodStart } from '../limits/spend-period.ts'
import type { StoreLimits } from '../store.ts'
import type { AccountRow } from '../tables/account-tables.ts'
import type { Tx } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'

// An account's chat write-offs per UTC day. The operator bears this loss, so an account that causes too much of it is
// blocked until the next day. The sum is in the account's row, which the admission reads and locks anyway.

const note = statement(
  'account_write_off',
  'UPDATE accounts SET written_off = :writtenOff, written_off_on = :today WHERE user_id = :userId',
)

/** Adds an amount to the account's write-offs for the day. The caller must have locked the account. */
export function noteWriteOff(tx: Tx, account: AccountRow, { amount, now }: { amount: Units; now: EpochMs }): void {
  const today = periodStart('day', now)
  const before = account.writtenOffOn === today ? account.writtenOff : 0
  const writtenOff = Math.min(before + amount, Number.MAX_SAFE_INTEGER)
  tx.send(note, { userId: account.userId, writtenOff, today })
}

/** Returns the time at which the block on the account's chats ends, or null if there is none. */
export function writeOffBlock(
  { writtenOff, writtenOffOn }: AccountRow,
  { limits: { maxWrittenOffUsdPerDay }, now }: { limits: StoreLimits; now: EpochMs },
): EpochMs | null {
  const today = periodStart('day', now)
  if (maxWrittenOffUsdPerDay === 0 || writtenOffOn !== today) return null
  return writtenOff > maxWrittenOffUsdPerDay * unitsPerUsd ? periodEnd('day', today) : null
}
