import { limitAbovePlan, limitsOf, noPlans, type AccountLimits } from './account-limits.ts'
import type { ChangeAccountLimits, ChangeLimitsResult, LimitsState } from './limit-types.ts'
import type { StoreLimits } from '../store.ts'
import type { Op, Reads, Tx } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'
import { payloadsToday } from './payload-bytes.ts'
import { limitWindows, readWindows } from './spend-windows.ts'

const set = statement(
  'account_set_limits',
  'UPDATE accounts SET plan = :plan, limits = :limits WHERE user_id = :userId',
)
const plansInUse = statement<{ plan: string }>(
  'account_plans_in_use',
  'SELECT DISTINCT plan FROM accounts WHERE plan IS NOT NULL ORDER BY plan LIMIT 1000',
)
const atWork = statement<{ count: number }>(
  'account_at_work',
  `SELECT CAST(coalesce(sum(count), 0) AS bigint) AS count FROM counters
    WHERE user_id = :userId AND kind = 'task' AND status = 'processing'`,
)

export function* readLimits(on: Reads, userId: string, settings: StoreLimits): Op<LimitsState | undefined> {
  const asked = { account: on.account(userId), waiting: on.waiting(userId), atWork: on.get(atWork, { userId }) }
  const account = yield* asked.account
  if (!account) return undefined
  const now = yield* on.now()
  const { executionsPerMinute, ...limits } = limitsOf(account, settings.plans ?? noPlans)
  const { spendPerDay } = limits
  const [spend = null] =
    spendPerDay === null ? [] : yield* readWindows(on, [{ ownerId: userId, amount: spendPerDay, reset: 'day' }], now)
  return {
    plan: account.plan,
    own: ownOf(account.limits),
    limits: { ...limits, executionsPerMinute: executionsPerMinute ?? settings.executionsPerMinute },
    spend,
    tasksWaiting: yield* asked.waiting,
    tasksAtWork: (yield* asked.atWork)!.count,
    payloads: { limit: settings.payloadBytesPerDay, ...payloadsToday(account, now) },
  }
}

export function* changeAccountLimits(
  tx: Tx,
  { changes, isWithinPlan = false, plan, userId }: ChangeAccountLimits,
  settings: StoreLimits,
): Op<ChangeLimitsResult> {
  const account = yield* tx.lockAccount({ userId })
  if (!account) return { outcome: 'refused', reason: 'unknown' }
  const all = { ...ownOf(account.limits), ...changes }
  if (isWithinPlan) {
    const { executionsPerMinute } = settings
    const ofPlan = limitsOf({ plan: plan === undefined ? account.plan : plan, limits: null }, settings.plans ?? noPlans)
    const bounds = { ...ofPlan, executionsPerMinute: ofPlan.executionsPerMinute ?? executionsPerMinute }
    const limit = limitAbovePlan(plan === undefined ? changes : all, bounds)
    if (limit !== undefined) return { outcome: 'refused', reason: 'above-plan', limit }
  }
  const merged = Object.entries(all).filter(([, value]) => value !== null)
  // Sorted so that users with the same limits have the same JSON, which is a cache key.
  const own = merged.toSorted(([a], [b]) => (a < b ? -1 : 1))
  const changed = {
    plan: plan === undefined ? account.plan : plan,
    limits: own.length === 0 ? null : JSON.stringify(Object.fromEntries(own)),
  }
  tx.holdersChanged('users')
  yield* tx.run(set, { userId, ...changed })
  const { spendPerDay } = limitsOf(changed, settings.plans ?? noPlans)
  // A CLI command that runs without the configuration does not know the plan's limit, so the next admission applies it.
  if (settings.plans || spendPerDay !== null) {
    limitWindows(tx, { ownerId: userId, amount: spendPerDay ?? Infinity })
  }
  return { outcome: 'changed' }
}

function ownOf(limits: string | null): Partial<AccountLimits> {
  return limits === null ? {} : (JSON.parse(limits) as Partial<AccountLimits>)
}

export function* readPlansInUse(on: Reads): Op<string[]> {
  return (yield* on.all(plansInUse)).map(({ plan }) => plan)
}
