import { formatUsd } from '../kernel/money.ts'
import type { AppliedState, TopupRecord, TopupRef } from '../store/payments/payment-types.ts'
import { judgeState } from '../store/payments/payment-state.ts'
import { portOf, type PaymentParts } from './manage-topups.ts'
import type { FoundPayment } from './payment-port.ts'
import { readTopup, refreshTopup, resolveRef } from './refresh-topup.ts'

const dayMs = 86_400_000
const pageMax = 100

type Parts = Pick<PaymentParts, 'clock' | 'log' | 'port' | 'store'>

/**
 * A top-up whose state differs between this database and the provider. `userId` is null if neither knows the account.
 */
export type PaymentDifference = { topupId: string; userId: string | null; what: string; isApplied: boolean }
export type Reconciled = { topups: number; differences: PaymentDifference[] }

/**
 * Compares the top-ups of the last `days` days with their state at the provider. This includes top-ups that only the
 * provider knows, for example after a backup was restored. With `applies`, applies each difference as if an event had
 * reported it.
 */
export async function reconcilePayments(
  parts: Parts,
  { applies, days }: { applies: boolean; days: number },
): Promise<Reconciled> {
  const refs = await refsSince(parts, parts.clock.now() - days * dayMs)
  const differences: PaymentDifference[] = []
  for (const ref of refs) differences.push(...(await compare(parts, { applies, ref })))
  return { topups: refs.length, differences }
}

type NamedTopup = TopupRef & { topupId: string }

async function refsSince(parts: Parts, since: number): Promise<NamedTopup[]> {
  const port = portOf(parts)
  const refs = new Map<string, NamedTopup>()
  const add = (ref: NamedTopup) => {
    const known = refs.get(ref.topupId)
    const { checkoutId, paymentId } = ref
    refs.set(ref.topupId, {
      ...ref,
      checkoutId: known?.checkoutId ?? checkoutId,
      paymentId: known?.paymentId ?? paymentId,
    })
  }
  const payments = new Set<string>()
  for await (const named of port.namedSince(since)) {
    if (named.topupId === null && named.paymentId !== null) {
      if (payments.has(named.paymentId)) continue
      payments.add(named.paymentId)
    }
    const ref = await resolveRef(parts, named)
    if (ref) add(ref)
  }
  let after: string | undefined
  for (;;) {
    const page = await parts.store.payments.listTopups({ limit: pageMax, ...(after !== undefined && { after }) })
    const recent = page.filter(({ createdAt }) => createdAt >= since)
    for (const { checkoutId, id, paymentId } of recent) add({ topupId: id, checkoutId, paymentId })
    if (recent.length < pageMax) return [...refs.values()].toSorted((a, b) => (a.topupId < b.topupId ? -1 : 1))
    after = recent.at(-1)!.id
  }
}

type Compare = { applies: boolean; ref: NamedTopup }

async function compare(parts: Parts, { applies, ref }: Compare): Promise<PaymentDifference[]> {
  const { found, topup } = await readTopup(parts, ref)
  if (!topup) return found?.state.status === 'paid' ? [await restore(parts, { applies, found })] : []
  const { id: topupId, userId } = topup
  const difference = (what: string) => [{ topupId, userId, what, isApplied: false }]
  if (!found) return topup.status === 'paid' ? difference('is paid in this database but unknown to the provider') : []
  const { next, outcome } = judgeState(topup, found.state)
  if (outcome === 'not-paid') return difference('is paid in this database but not at the provider')
  if (outcome === 'another-amount' || outcome === 'another-currency') {
    const { amount, currency } = found.state.paid!
    const paid = `${formatUsd(amount)} ${currency.toUpperCase()}`
    return difference(`was paid with ${outcome.replace('-', ' ')}: ${paid} instead of ${formatUsd(topup.amount)} USD`)
  }
  const changes = describeChanges(topup, next)
  if (changes.length === 0) return []
  if (applies) await refreshTopup(parts, { ref, about: { type: 'reconcile' } })
  return [{ topupId, userId, what: changes.join(', '), isApplied: applies }]
}

type Restore = { applies: boolean; found: FoundPayment }

/**
 * Credits a paid top-up that is missing from this database, for example because a backup was restored. Credits it only
 * once, and only if its account still exists.
 */
async function restore({ log, port, store }: Parts, { applies, found }: Restore): Promise<PaymentDifference> {
  const { origin, state } = found
  const { topupId } = state
  const { userId } = origin
  const paid = state.paid!
  const what = `is paid at the provider (${formatUsd(paid.amount)} ${paid.currency.toUpperCase()}) but missing from this database`
  const difference = { topupId, userId, isApplied: false }
  if (userId === null)
    return { ...difference, what: `${what}. The payment does not name an account, so credit it manually` }
  if (!(await store.getUser(userId))) {
    return { ...difference, what: `${what}. The account ${userId} is missing too, so it cannot be credited` }
  }
  if (!applies) return { ...difference, what }
  const input = { ...origin, userId, state: { ...state, paid }, provider: port!.provider }
  const { outcome }: AppliedState = await store.payments.restoreTopup(input)
  const isApplied = outcome === 'applied' || outcome === 'stale'
  log.info({ topupId, userId, outcome }, isApplied ? 'restored a top-up' : 'could not restore a top-up')
  return { ...difference, what: isApplied ? what : `${what}; it was not credited: ${outcome}`, isApplied }
}

function describeChanges(from: TopupRecord, to: TopupRecord): string[] {
  const changes = []
  if (from.status !== to.status) changes.push(`is ${to.status} at the provider but ${from.status} in this database`)
  if (from.refunded !== to.refunded) {
    changes.push(
      `${formatUsd(to.refunded)} USD was refunded at the provider but ${formatUsd(from.refunded)} USD in this database`,
    )
  }
  if (from.disputed !== to.disputed) {
    changes.push(
      `${formatUsd(to.disputed)} USD is disputed at the provider but ${formatUsd(from.disputed)} USD in this database`,
    )
  }
  if (from.receiptUrl === null && to.receiptUrl !== null) changes.push('its receipt is missing from this database')
  return changes
}
