import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { LimitReset, SpendState } from './execution-limits.ts'
import type { AccountLimits, AccountPlan } from './account-limits.ts'

/**
 * Number of the user's executions in the window ending at `now`, and the time of the oldest. If `limit` is 0,
 * executions are not counted.
 */
export type RateState = { limit: number; used: number; oldestAt: EpochMs | null; now: EpochMs }

/**
 * Undefined fields stay unchanged. Null removes the plan, or a limit of the user's own so that the plan's applies
 * again.
 */
export type ChangeAccountLimits = {
  userId: string
  plan?: string | null
  changes: { [Name in keyof AccountLimits]?: AccountLimits[Name] }
}

export type LimitsState = {
  /** Stored name of the plan, even if that plan is not configured. */
  plan: string | null
  /** The user's own limits, which override the plan's. */
  own: Partial<AccountLimits>
  /** Effective limits. */
  limits: AccountLimits & { executionsPerMinute: number }
  /** Spend on the current day, if there is a limit on it. */
  spend: SpendState | null
  tasksWaiting: number
  tasksAtWork: number
  /** Bytes of payloads stored today, and the daily limit. `limit` is 0 if there is none. */
  payloads: { limit: number; bytes: number; resetsAt: EpochMs }
}

/** Limits of a key apart from its scopes; null fields are unlimited. */
export type KeyLimits = {
  spendLimit: Units | null
  spendReset: LimitReset | null
  rateLimit: number | null
  agents: string[] | null
}
/** Undefined fields stay unchanged. */
export type UpdateKey = { userId: string; keyId: string; changes: Partial<KeyLimits> }

/** A user and the plan that was read together with the credential. */
export type RateOf = { userId: string; account: AccountPlan }
