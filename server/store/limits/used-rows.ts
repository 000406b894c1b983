import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'

// Limit usage, which each engine stores in its own way. If one process owns the store, usage is kept in memory and
// written once for many commands.

/** Spend under a limit in the period starting at `startsAt`. */
export type WindowRow = {
  ownerId: string
  startsAt: EpochMs
  limit: Units
  /** Includes spend carried over from windows of other periods. */
  charged: Units
  held: Units
  reachedAt: EpochMs | null
}
export type WindowOf = Pick<WindowRow, 'ownerId' | 'startsAt'>
export type Spent = Pick<WindowRow, 'charged' | 'held'>
/** `amount`: the current limit. `keptLimit`: the limit stored with the window; null before the window exists. */
export type AddedToWindow = WindowOf & Spent & { userId: string; amount: Units; keptLimit: Units | null }

/** Executions with a key in the minute starting at `startsAt`. */
export type KeyRateRow = { startsAt: EpochMs; used: number }
