import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { LimitReset, SpendState } from '../execution-limits.ts'
import type { AccountLimits, AccountPlan } from './account-limits.ts'

// What the commands and reads of limits are given, and answer.

/** What is left out stays; null removes a limit of the user, so that the plan's holds again, or the plan. */
export type ChangeAccountLimits = {
  userId: string
  plan?: string | null
  changes: { [Name in keyof AccountLimits]?: AccountLimits[Name] }
}

export type LimitsState = {
  /** As it is kept, whether the configuration has it or not. */
  plan: string | null
  /** Those of the user that hold in the place of the plan's. */
  own: Partial<AccountLimits>
  /** What holds. */
  limits: AccountLimits & { executionsPerMinute: number }
  /** Of this day, where that is limited. */
  spend: SpendState | null
  tasksWaiting: number
  tasksAtWork: number
  /** Bytes of payloads stored on this day, and the limit on them; 0 without one. */
  payloads: { limit: number; bytes: number; resetsAt: EpochMs }
}

/** What a key may be used for, beside its scopes; null where it is not limited. */
export type KeyLimits = {
  spendLimit: Units | null
  spendReset: LimitReset | null
  rateLimit: number | null
  agents: string[] | null
}
/** What is left out stays. */
export type UpdateKey = { userId: string; keyId: string; changes: Partial<KeyLimits> }

/** A user, with the plan that was read with the credential. */
export type RateOf = { userId: string; account: AccountPlan }
