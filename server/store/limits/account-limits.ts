import type { Units } from '../../kernel/money.ts'
import type { AccountRow } from '../tables/account-tables.ts'

// Limits of a user: a plan's limits from the configuration, and the user's own limits, which override the plan's.

export type AccountLimits = {
  /** Executions per minute, tasks and chats together; 0 for no limit, null for the limit in the settings. */
  executionsPerMinute: number | null
  tasksAtWork: number | null
  tasksWaiting: number | null
  /** Max spend per UTC day, charged and held. */
  spendPerDay: Units | null
  /** Ids of the agents that the user can run; null for all. */
  agents: readonly string[] | null
}

/** Name of a user's plan, and the user's own limits as JSON; null for none. */
export type AccountPlan = Pick<AccountRow, 'plan' | 'limits'>

/** Configured plans. `byDefault` applies to users without a plan, or with a plan that is no longer configured. */
export type Plans = {
  readonly named: ReadonlyMap<string, AccountLimits>
  readonly byDefault: AccountLimits
  /** Null if no plan is the default. */
  readonly defaultName: string | null
}

/** Ages after which the contents of ended tasks, and idle sessions, are deleted. Undefined for never. */
export type Retention = { tasksMs?: number | undefined; sessionsMs?: number | undefined }

/** Length of the sliding window in which a user's executions are counted. */
export const rateWindowMs = 60_000

/** Max configurable rate limit. The last minute's executions are kept in memory. */
export const executionsPerMinuteMax = 100_000
/** Max configurable limit on a user's queued or running tasks: ten times the default size of the complete queue. */
export const tasksMax = 1_000_000

const noLimits: AccountLimits = {
  executionsPerMinute: null,
  tasksAtWork: null,
  tasksWaiting: null,
  spendPerDay: null,
  agents: null,
}

export const noPlans: Plans = { named: new Map(), byDefault: noLimits, defaultName: null }

const knownTextsMax = 10_000
/** Cache of merged limits, by plan and the user's JSON, so that the JSON is parsed only once. */
const merged = new WeakMap<AccountLimits, Map<string, AccountLimits>>()

export function limitsOf({ limits, plan }: AccountPlan, plans: Plans): AccountLimits {
  const ofPlan = (plan === null ? undefined : plans.named.get(plan)) ?? plans.byDefault
  if (limits === null) return ofPlan
  let known = merged.get(ofPlan)
  if (!known) merged.set(ofPlan, (known = new Map()))
  let own = known.get(limits)
  if (!own) {
    own = { ...ofPlan, ...(JSON.parse(limits) as Partial<AccountLimits>) }
    if (known.size >= knownTextsMax) known.clear()
    known.set(limits, own)
  }
  return own
}
