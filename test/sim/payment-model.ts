import type { TopupRow, TransactionRow } from './audit-rows.ts'
import type { Checks } from './sim-checks.ts'
import type { SimState, SimTopup } from './sim-state.ts'

/** What an event of the provider says of a top-up; amounts in units. */
export type SimChange =
  | { kind: 'paid' | 'failed' | 'expired' | 'noted' }
  | { kind: 'refunded'; refunded: number }
  | { kind: 'withdrawn' | 'reinstated'; disputeId: string; amount: number }

/** An event as the provider has it. */
export type ToldEvent = { id: string; topupId: string; change: SimChange }

const expiryMs = 7 * 86_400_000

type NewTopup = Pick<SimTopup, 'id' | 'userId' | 'amount' | 'createdAt'> & Partial<Pick<SimTopup, 'isAuto' | 'saves'>>

export function newTopup(of: NewTopup): SimTopup {
  const nothing = { isPaid: false, hasFailed: false, hasExpired: false, refunded: 0, disputes: new Map() }
  return { isAuto: false, saves: false, wasAsked: false, ...of, ...nothing }
}

/** What is withdrawn and not given back. */
export function disputedOf({ amount, disputes }: SimTopup): number {
  let disputed = 0
  for (const { reinstated, withdrawn } of disputes.values()) disputed += Math.max(0, withdrawn - reinstated)
  return Math.min(disputed, amount)
}

/** How much a top-up adds to what its user has: less than nothing where it was both refunded and disputed. */
export function worthOf(topup: SimTopup): number {
  return topup.isPaid ? topup.amount - topup.refunded - disputedOf(topup) : 0
}

/** The order of events does not matter, nor that one comes again. */
export function learn(topup: SimTopup, change: SimChange): void {
  if (change.kind === 'paid') topup.isPaid = true
  if (change.kind === 'failed') topup.hasFailed = true
  if (change.kind === 'expired') topup.hasExpired = true
  if (change.kind === 'refunded') {
    topup.refunded = Math.min(topup.amount, Math.max(topup.refunded, change.refunded))
  }
  if (change.kind !== 'withdrawn' && change.kind !== 'reinstated') return
  const known = topup.disputes.get(change.disputeId) ?? { withdrawn: 0, reinstated: 0 }
  topup.disputes.set(change.disputeId, { ...known, [change.kind]: change.amount })
}

/** What there is of what somebody has, and what is owed, while so much is held: nobody owes who has something free. */
export function accountOf({ held, worth }: { worth: number; held: number }): { balance: number; owed: number } {
  const owed = Math.max(0, held - worth)
  return { balance: worth + owed, owed }
}

export function checkTopup(checks: Checks, { row, topup }: { topup: SimTopup; row: TopupRow }, now: number): void {
  const said = topup.isPaid ? 'paid' : topup.hasFailed ? 'failed' : topup.hasExpired ? 'expired' : 'open'
  // The service closes what nobody has paid for so long.
  const status = said === 'open' && row.status === 'expired' && now - topup.createdAt >= expiryMs ? 'expired' : said
  checks.same(
    [row.user_id, row.status, row.amount, row.refunded, row.disputed],
    [topup.userId, status, topup.amount, topup.refunded, disputedOf(topup)],
    `owner, status, amount, refunded and disputed of ${topup.id}`,
  )
}

/** What of a top-up is in the ledger. */
export function checkPosted(checks: Checks, { topups }: SimState, row: TransactionRow): void {
  const topup = checks.present(topups.get(row.topup_id!), `the top-up of ${row.id} was asked for`)
  checks.that(topup.isPaid, `${topup.id}, which ${row.id} is of, is paid`)
  checks.same(row.user_id, topup.userId, `the owner of ${row.id}, which is of ${topup.id}`)
  if (row.type === 'credit') checks.same(row.amount, topup.amount, `the credit of ${topup.id}`)
  else checks.same(row.type, 'topup_reversal', `the type of ${row.id}, which is of ${topup.id}`)
}
