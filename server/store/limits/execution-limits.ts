import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'

// Limits of plans, users and credentials that can reject an execution although the account could pay for it. The
// transaction that admits the execution checks all of them.

/** When a spending limit resets, in UTC. Weeks begin on Monday. */
export const limitResets = ['never', 'day', 'week', 'month'] as const
export type LimitReset = (typeof limitResets)[number]

/** Max spend per period, charged or held, of a key, client token or user. */
export type SpendLimit = { ownerId: string; amount: Units; reset: LimitReset }

/** Amount of a limit that only counts. */
export const unlimitedSpend = Number.MAX_SAFE_INTEGER

/** A client token's cap. Without a cap its spend is counted all the same. */
export function tokenSpend({ id, maxCost }: { id: string; maxCost: Units | null }): SpendLimit {
  return { ownerId: id, amount: maxCost ?? unlimitedSpend, reset: 'never' }
}

/** Limits that a credential sets for executions. */
export type CredentialLimits = {
  spend: SpendLimit | null
  /** Executions a minute per key. */
  rate: { keyId: string; perMinute: number } | null
  /** Id of the client token, if it admits only one execution. */
  onceTokenId: string | null
  /** Limit of the key that created the client token, in addition to the token's own. */
  makerSpend?: SpendLimit | null
}

/** Spend under a limit in its current period. */
export type SpendState = SpendLimit & {
  startsAt: EpochMs
  /** Null if the limit never resets. */
  resetsAt: EpochMs | null
  charged: Units
  held: Units
  /** Limit stored in the period's window; null if the window does not exist yet. */
  keptLimit: Units | null
  /** Time of the first rejection because of this limit. */
  reachedAt: EpochMs | null
}

/** Executions with a key in the current UTC minute. */
export type KeyRateState = { limit: number; used: number; resetsAt: EpochMs }
