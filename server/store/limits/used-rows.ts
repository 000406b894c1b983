import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'

// Rows that store how much of each limit is used. If only one process uses the store, it keeps these rows in memory and
// writes each of them once per batch of commands.

export type WindowRow = {
  ownerId: string
  startsAt: EpochMs
  limit: Units
  /** Includes spend that was carried over from windows of other periods. */
  charged: Units
  held: Units
  reachedAt: EpochMs | null
}
export type WindowOf = Pick<WindowRow, 'ownerId' | 'startsAt'>
export type Spent = Pick<WindowRow, 'charged' | 'held'>
/**
 * `amount` is the current limit. `keptLimit` is the limit stored with the window, or null if the window does not
 * exist yet.
 */
export type AddedToWindow = WindowOf & Spent & { userId: string; amount: Units; keptLimit: Units | null }

export type KeyRateRow = { startsAt: EpochMs; used: number }
