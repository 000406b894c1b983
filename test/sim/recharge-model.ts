import type { TopupRow } from './audit-rows.ts'
import { learn, newTopup, worthOf } from './payment-model.ts'
import type { Checks } from './sim-checks.ts'
import type { SimPerson, SimState, SimTopup } from './sim-state.ts'

// Auto-recharge as docs/guides/payments.md describes it, independently of the service's code.

type RechargeBounds = { least: number; most: number; monthlyMax: number }
/** Bounds of one payment and of a month in units, as configured for the simulation. */
export const simTopups: RechargeBounds = { least: 10_000, most: 10_000_000, monthlyMax: 10_000_000 }
/** An automatic payment that the provider made or attempted. */
export type MadeCharge = { isPaid: boolean; amount: number }

const centUnits = 100
export const pauseMs = 600_000

export function mayBeCharged({ hasMethod, isSuspended, recharge }: SimPerson): boolean {
  return recharge !== null && hasMethod && !isSuspended
}

function isUnderWay({ hasExpired, hasFailed, isAuto, isPaid }: SimTopup): boolean {
  return isAuto && !isPaid && !hasFailed && !hasExpired
}

export function rechargeUnderWay({ topups }: SimState, { userId }: SimPerson): SimTopup | undefined {
  return [...topups.values()].find((topup) => topup.userId === userId && isUnderWay(topup))
}

/**
 * Returns the recharge that is due now: enough whole cents to reach the target, one payment at a time, within the
 * maximum per UTC month.
 */
export function dueRecharge(
  state: SimState,
  person: SimPerson,
  { bounds, now }: { bounds: RechargeBounds; now: number },
): number {
  const { balance, owed, recharge, userId } = person
  if (!mayBeCharged(person) || balance >= recharge!.below || rechargeUnderWay(state, person)) return 0
  const last = [...state.topups.values()].filter((topup) => {
    const isCharged = topup.isPaid || isUnderWay(topup)
    return topup.userId === userId && topup.isAuto && isCharged && now - topup.createdAt < pauseMs
  })
  if (last.length > 0) return 0
  const month = new Date(now).toISOString().slice(0, 7)
  let charged = 0
  for (const topup of state.topups.values()) {
    const isOfMonth = new Date(topup.createdAt).toISOString().startsWith(month)
    const isCounted = topup.isPaid || isUnderWay(topup)
    if (topup.userId === userId && topup.isAuto && isOfMonth && isCounted) charged += topup.amount
  }
  const wanted = Math.max(bounds.least, Math.ceil((recharge!.to - balance + owed) / centUnits) * centUnits)
  const left = Math.floor((Math.min(recharge!.monthlyMax, bounds.monthlyMax) - charged) / centUnits) * centUnits
  const amount = Math.min(wanted, left, bounds.most)
  return amount < bounds.least ? 0 : amount
}

type Taken = {
  row: TopupRow
  state: SimState
  person: SimPerson
  bounds: RechargeBounds
  charges: readonly MadeCharge[]
}

/** Adds a new recharge row to the model. The recharge must have been due, and its state must match the provider's. */
export function takeRecharge(checks: Checks, { bounds, charges, person, row, state }: Taken): void {
  const what = `the recharge ${row.id} of ${person.userId}`
  checks.that(charges.length <= 1, `${what} is asked of the provider once`)
  let topup = state.topups.get(row.id)
  if (!topup) {
    const due = dueRecharge(state, person, { bounds, now: row.created_at })
    checks.same([row.user_id, row.amount], [person.userId, due], `owner and amount of ${what}`)
    topup = newTopup({ id: row.id, userId: person.userId, amount: due, createdAt: row.created_at, isAuto: true })
    state.topups.set(row.id, topup)
  }
  if (row.status === 'open' || !isUnderWay(topup)) return
  const [charge] = charges
  const ended = charge === undefined ? 'expired' : charge.isPaid ? 'paid' : 'failed'
  checks.same(row.status, ended, `the end of ${what}`)
  if (charge) checks.same(charge.amount, topup.amount, `what is charged by ${what}`)
  checks.that(!charge || topup.wasAsked || mayBeCharged(person), `${what} is asked for while that is switched on`)
  const before = worthOf(topup)
  learn(topup, { kind: ended })
  person.worth += worthOf(topup) - before
  if (ended === 'failed') person.recharge = null
}

export function rechargesOf({ topups }: SimState): Record<string, number> {
  const found: Record<string, number> = {}
  for (const topup of topups.values()) {
    const end = topup.isPaid ? 'paid' : topup.hasFailed ? 'declined' : topup.hasExpired ? 'given up' : 'under way'
    if (topup.isAuto) found[end] = (found[end] ?? 0) + 1
  }
  return found
}
