import type { TopupRow, TransactionRow } from './audit-rows.ts'
import type { Checks } from './sim-checks.ts'
import type { ProviderState, SimState, SimTopup } from './sim-state.ts'

/** A change of a payment at the provider, with amounts in units. */
export type SimChange =
  | { kind: 'paid' | 'failed' | 'expired' | 'noted' }
  | { kind: 'refunded'; refunded: number }
  | { kind: 'withdrawn' | 'reinstated'; disputeId: string; amount: number }

const expiryMs = 7 * 86_400_000

type NewTopup = Pick<SimTopup, 'id' | 'userId' | 'amount' | 'createdAt'> & Partial<Pick<SimTopup, 'isAuto' | 'saves'>>

const nothing = { isPaid: false, hasFailed: false, hasExpired: false, refunded: 0 }

export function newTopup(of: NewTopup): SimTopup {
  return { isAuto: false, saves: false, wasAsked: false, at: 0, ...of, ...nothing, disputes: new Map() }
}

/** Returns the disputed amount that was withdrawn and not returned: never more than the paid amount minus refunds. */
export function disputedOf({ amount, disputes, refunded }: ProviderState & { amount: number }): number {
  let disputed = 0
  for (const { reinstated, withdrawn } of disputes.values()) disputed += Math.max(0, withdrawn - reinstated)
  return Math.min(disputed, amount - refunded)
}

export function nothingYet(): ProviderState {
  return { ...nothing, disputes: new Map() }
}

/** Returns the next state of a payment without modifying `state`. */
export function stateAfter(state: ProviderState, change: SimChange, amount: number): ProviderState {
  const next = { ...structuredClone(state), amount }
  learn(next, change)
  return next
}

/** Whether a row or a model top-up matches this payment state. */
export function isIn(state: ProviderState, { amount, disputed, refunded, status }: Shown): boolean {
  return statusOf(state) === status && state.refunded === refunded && disputedOf({ ...state, amount }) === disputed
}

type Shown = { status: string; amount: number; refunded: number; disputed: number }

export function shownOf(topup: SimTopup): Shown {
  const { amount, refunded } = topup
  return { status: statusOf(topup), amount, refunded, disputed: disputedOf(topup) }
}

function statusOf({ hasExpired, hasFailed, isPaid }: ProviderState): string {
  return isPaid ? 'paid' : hasFailed ? 'failed' : hasExpired ? 'expired' : 'open'
}

export function worthOf(topup: SimTopup): number {
  return topup.isPaid ? topup.amount - topup.refunded - disputedOf(topup) : 0
}

/** Applies a change to a payment as the provider does. */
export function learn(topup: ProviderState & { amount: number }, change: SimChange): void {
  if (change.kind === 'paid') topup.isPaid = true
  if (change.kind === 'failed') topup.hasFailed = true
  if (change.kind === 'expired') topup.hasExpired = true
  if (change.kind === 'refunded') topup.refunded = Math.min(topup.amount, change.refunded)
  if (change.kind !== 'withdrawn' && change.kind !== 'reinstated') return
  const known = topup.disputes.get(change.disputeId) ?? { withdrawn: 0, reinstated: 0 }
  topup.disputes.set(change.disputeId, { ...known, [change.kind]: change.amount })
}

/** Returns balance and debt for this worth and held amount. A user with debt has no free balance. */
export function accountOf({ held, worth }: { worth: number; held: number }): { balance: number; owed: number } {
  const owed = Math.max(0, held - worth)
  return { balance: worth + owed, owed }
}

export function checkTopup(checks: Checks, { row, topup }: { topup: SimTopup; row: TopupRow }, now: number): void {
  const said = statusOf(topup)
  // The service may have closed an old unpaid top-up.
  const status = said === 'open' && row.status === 'expired' && now - topup.createdAt >= expiryMs ? 'expired' : said
  checks.same(
    [row.user_id, row.status, row.amount, row.refunded, row.disputed],
    [topup.userId, status, topup.amount, topup.refunded, disputedOf(topup)],
    `owner, status, amount, refunded and disputed of ${topup.id}`,
  )
}

export function checkPosted(checks: Checks, { topups }: SimState, row: TransactionRow): void {
  const topup = checks.present(topups.get(row.topup_id!), `the top-up of ${row.id} was asked for`)
  checks.that(topup.isPaid, `${topup.id}, which ${row.id} is of, is paid`)
  checks.same(row.user_id, topup.userId, `the owner of ${row.id}, which is of ${topup.id}`)
  if (row.type === 'credit') checks.same(row.amount, topup.amount, `the credit of ${topup.id}`)
  else checks.same(row.type, 'topup_reversal', `the type of ${row.id}, which is of ${topup.id}`)
}
