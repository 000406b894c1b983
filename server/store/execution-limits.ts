import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'

// What stands between an execution and an account that could pay for it: limits of plans, of users and of credentials. All
// are judged in the transaction of the admission.

/** When a limit on what is spent begins anew, by UTC; weeks begin on Monday. */
export const limitResets = ['never', 'day', 'week', 'month'] as const
export type LimitReset = (typeof limitResets)[number]

/** What may be spent with a key or client token, or by a user, charged and held, in each period. */
export type SpendLimit = { ownerId: string; amount: Units; reset: LimitReset }

/** What a credential allows of the executions that its user may begin. */
export type CredentialLimits = {
  spend: SpendLimit | null
  /** Executions a minute with a key. */
  rate: { keyId: string; perMinute: number } | null
  /** A client token that admits one execution. */
  onceTokenId: string | null
  /** Of the key that made a client token, beside the token's own. */
  makerSpend?: SpendLimit | null
}

/** What is spent within a limit in the period that it is in. */
export type SpendState = SpendLimit & {
  startsAt: EpochMs
  /** Null where the limit never begins anew. */
  resetsAt: EpochMs | null
  charged: Units
  held: Units
  /** As the period keeps it; null before anything was spent. */
  keptLimit: Units | null
  /** When something was first refused because of it. */
  reachedAt: EpochMs | null
}

/** Executions of this minute of UTC with a key. */
export type KeyRateState = { limit: number; used: number; resetsAt: EpochMs }
