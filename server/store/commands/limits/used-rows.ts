import type { EpochMs } from '../../../kernel/clock.ts'
import type { Units } from '../../../kernel/money.ts'

// What is used of limits. Each engine reads and writes it in its own way: where one process owns the store it is in memory, and
// written once for many commands.

/** What is spent within a limit in the period that begins then. */
export type WindowRow = {
  ownerId: string
  startsAt: EpochMs
  limit: Units
  /** With what was carried over from windows of other periods. */
  charged: Units
  held: Units
  reachedAt: EpochMs | null
}
export type WindowOf = Pick<WindowRow, 'ownerId' | 'startsAt'>
export type Spent = Pick<WindowRow, 'charged' | 'held'>
/** `amount` is the limit as it is now, and `keptLimit` as the window has it; null where there is none yet. */
export type AddedToWindow = WindowOf & Spent & { userId: string; amount: Units; keptLimit: Units | null }

/** Executions with a key in the minute that begins then. */
export type KeyRateRow = { startsAt: EpochMs; used: number }
