import type { Units } from '../../kernel/money.ts'
import type { AccountRow } from '../tables/account-tables.ts'

// A user's limits are those of the plan, overridden by the user's own limits.

export type AccountLimits = {
  /** Executions (tasks and chats) per minute. 0 means no limit. Null means the limit in the settings. */
  executionsPerMinute: number | null
  tasksAtWork: number | null
  tasksWaiting: number | null
  /** Maximum spend per UTC day. Holds count as spend. */
  spendPerDay: Units | null
  /** Ids of the agents that the user can run, or null for all. */
  agents: readonly string[] | null
}

/** A user's plan, and the user's own limits as JSON. */
export type AccountPlan = Pick<AccountRow, 'plan' | 'limits'>

/** `byDefault` applies to users without a plan, and to users whose plan is no longer configured. */
export type Plans = {
  readonly named: ReadonlyMap<string, AccountLimits>
  readonly byDefault: AccountLimits
  readonly defaultName: string | null
}

/** Age at which the contents of ended tasks and idle sessions are deleted. Undefined means never. */
export type Retention = { tasksMs?: number | undefined; sessionsMs?: number | undefined }

export const rateWindowMs = 60_000

/** Maximum configurable rate limit. It is bounded because the executions of the last minute are kept in memory. */
export const executionsPerMinuteMax = 100_000
/** Maximum limit for a user's queued or running tasks: ten times the default size of the queue. */
export const tasksMax = 1_000_000

const noLimits: AccountLimits = {
  executionsPerMinute: null,
  tasksAtWork: null,
  tasksWaiting: null,
  spendPerDay: null,
  agents: null,
}

export const noPlans: Plans = { named: new Map(), byDefault: noLimits, defaultName: null }

/** Returns the first of a user's own limits that allows more than the plan, if any. */
export function limitAbovePlan(
  own: Partial<AccountLimits>,
  { agents, executionsPerMinute, ...counts }: AccountLimits,
): keyof AccountLimits | undefined {
  const isAbove = (name: keyof AccountLimits): boolean => {
    if (name === 'agents') return agents !== null && own.agents!.some((id) => !agents.includes(id))
    if (name !== 'executionsPerMinute') return counts[name] !== null && own[name]! > counts[name]
    return !!executionsPerMinute && (own[name] === 0 || own[name]! > executionsPerMinute)
  }
  return (Object.keys(own) as (keyof AccountLimits)[]).find((name) => own[name] !== null && isAbove(name))
}

const knownTextsMax = 10_000
/** Merged limits by plan and by the JSON of the user's own limits, so that the JSON is parsed only once. */
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
