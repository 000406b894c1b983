import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { LimitReset, SpendState } from './execution-limits.ts'
import type { AccountLimits, AccountPlan } from './account-limits.ts'

/**
 * Number of executions in the window that ends at `now`, and the time of the oldest one. If `limit` is 0, executions
 * are not counted.
 */
export type RateState = { limit: number; used: number; oldestAt: EpochMs | null; now: EpochMs }

/**
 * Undefined fields remain unchanged. Null removes the plan, or the user's own limit, so that the plan's limit applies
 * again.
 */
export type ChangeAccountLimits = {
  userId: string
  plan?: string | null
  changes: { [Name in keyof AccountLimits]?: AccountLimits[Name] }
  /**
   * Whether to reject the change if one of the changed limits would exceed the plan's. If the plan changes, all of the
   * user's own limits are checked.
   */
  isWithinPlan?: boolean
}

export type ChangeLimitsResult =
  | { outcome: 'changed' }
  | { outcome: 'refused'; reason: 'unknown' }
  | { outcome: 'refused'; reason: 'above-plan'; limit: keyof AccountLimits }

export type LimitsState = {
  /** The plan may no longer be configured. */
  plan: string | null
  own: Partial<AccountLimits>
  /** Effective limits: those of the plan, overridden by the user's own. */
  limits: AccountLimits & { executionsPerMinute: number }
  spend: SpendState | null
  tasksWaiting: number
  tasksAtWork: number
  /** Size of the payloads stored today. A `limit` of 0 means no limit. */
  payloads: { limit: number; bytes: number; resetsAt: EpochMs }
}

/** Null means no limit. */
export type KeyLimits = {
  spendLimit: Units | null
  spendReset: LimitReset | null
  rateLimit: number | null
  agents: string[] | null
}
export type UpdateKey = { userId: string; keyId: string; changes: Partial<KeyLimits> }

/** `account` was read together with the credential. */
export type RateOf = { userId: string; account: AccountPlan }
