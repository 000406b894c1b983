import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'

// Limits of plans, users and credentials can reject an execution even if the balance is sufficient. The transaction
// that admits the execution checks all of them.

/** Reset period of a spending limit, in UTC. Weeks begin on Monday. */
export const limitResets = ['never', 'day', 'week', 'month'] as const
export type LimitReset = (typeof limitResets)[number]

/** Spending limit of a key, client token or user. Holds count as spend. */
export type SpendLimit = { ownerId: string; amount: Units; reset: LimitReset }

/** Limit that never rejects an execution. The spend is still counted. */
export const unlimitedSpend = Number.MAX_SAFE_INTEGER

/** A token without a cap also gets a limit, so that its spend is counted. */
export function tokenSpend({ id, maxCost }: { id: string; maxCost: Units | null }): SpendLimit {
  return { ownerId: id, amount: maxCost ?? unlimitedSpend, reset: 'never' }
}

export type CredentialLimits = {
  spend: SpendLimit | null
  rate: { keyId: string; perMinute: number } | null
  /** Id of the client token if it allows only one execution. */
  onceTokenId: string | null
  /** Spending limit of the key that created the client token. It applies in addition to the token's own limit. */
  makerSpend?: SpendLimit | null
}

export type SpendState = SpendLimit & {
  startsAt: EpochMs
  resetsAt: EpochMs | null
  charged: Units
  held: Units
  /** Limit stored in the spend window. Null if the window does not exist yet. */
  keptLimit: Units | null
  reachedAt: EpochMs | null
}

export type KeyRateState = { limit: number; used: number; resetsAt: EpochMs }
