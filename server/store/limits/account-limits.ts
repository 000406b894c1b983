import type { Units } from '../../kernel/money.ts'
import type { AccountRow } from '../tables/account-tables.ts'

// What a user may do: the limits of a plan of the configuration, and those that hold for one user in their place.

export type AccountLimits = {
  /** Of one user, over tasks and chats; 0 for none, null for that of the settings. */
  executionsPerMinute: number | null
  /** Of those that agents are at work on. */
  tasksAtWork: number | null
  tasksWaiting: number | null
  /** Charged and held, on a day of UTC. */
  spendPerDay: Units | null
  /** Ids of the agents that may be run; null for all. */
  agents: readonly string[] | null
}

/** A user's plan by its name, and own limits as JSON; null for none. */
export type AccountPlan = Pick<AccountRow, 'plan' | 'limits'>

/** The plans of the configuration; `byDefault` holds for who has none, or one that the configuration no longer has. */
export type Plans = {
  readonly named: ReadonlyMap<string, AccountLimits>
  readonly byDefault: AccountLimits
  /** Null where no plan is the default one. */
  readonly defaultName: string | null
}

/** What a limit may be at most: the window of a minute is kept in memory, and queues hold no more. */
export const executionsPerMinuteMax = 100_000
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
/** Limits of a plan with those of a user over them, by the text of the latter: it is parsed once. */
const merged = new WeakMap<AccountLimits, Map<string, AccountLimits>>()

/** What holds for an account. */
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
