import { formatUsd } from '../kernel/money.ts'
import type { PaymentEvent, TopupRecord } from '../store/payment-records.ts'
import { portOf, resolveTopup, takeEvent, type PaymentParts } from './manage-topups.ts'

const dayMs = 86_400_000
const pageMax = 100

type Parts = Pick<PaymentParts, 'clock' | 'log' | 'port' | 'store'>

/** What the provider knows of a top-up and we do not, or know otherwise. */
export type PaymentDifference = { topupId: string; userId: string; what: string; isApplied: boolean }
export type Reconciled = { events: number; topups: number; differences: PaymentDifference[] }

/**
 * Asks the provider for the events of the last days, and for the state of the top-ups that were made in them. Where it is to
 * be applied, what is missing goes the way of every event.
 */
export async function reconcilePayments(
  parts: Parts,
  { applies, days }: { applies: boolean; days: number },
): Promise<Reconciled> {
  const { clock, store } = parts
  const port = portOf(parts)
  const since = clock.now() - days * dayMs
  const differences: PaymentDifference[] = []
  const events = await port.eventsSince(since)
  for (const event of events) differences.push(...(await compare(parts, { event, applies })))
  let topups = 0
  let after: string | undefined
  for (;;) {
    const page = await store.payments.listTopups({ limit: pageMax, ...(after !== undefined && { after }) })
    const recent = page.filter(({ createdAt }) => createdAt >= since)
    for (const topup of recent) {
      topups++
      for (const event of await port.stateOf(topup)) differences.push(...(await compare(parts, { event, applies })))
    }
    if (recent.length < pageMax) return { events: events.length, topups, differences: once(differences) }
    after = recent.at(-1)!.id
  }
}

/** An event that was missed and the state that it led to say the same. */
function once(differences: readonly PaymentDifference[]): PaymentDifference[] {
  const byText = new Map(differences.map((one) => [`${one.topupId} ${one.what}`, one]))
  return [...byText.values()]
}

async function compare(
  parts: Parts,
  { applies, event: told }: { event: PaymentEvent; applies: boolean },
): Promise<PaymentDifference[]> {
  const { event, topup } = await resolveTopup(parts, told)
  if (!topup) return []
  const { id: topupId, userId } = topup
  const { outcome, topup: next } = await parts.store.payments.foreseeEvent(event)
  if (outcome.startsWith('another')) {
    const what = `${event.type} ${event.eventId} is of ${outcome.replace('-', ' ')} than the top-up`
    return [{ topupId, userId, what, isApplied: false }]
  }
  const isLess = topup.status === 'paid' && (event.change.kind === 'failed' || event.change.kind === 'expired')
  if (isLess && event.eventId.startsWith('asked_')) {
    return [{ topupId, userId, what: 'is paid here, and not at the provider', isApplied: false }]
  }
  const changes = outcome === 'applied' && next ? describeChanges(topup, next) : []
  if (changes.length === 0) return []
  if (applies) await takeEvent(parts, event)
  return [{ topupId, userId, what: changes.join(', '), isApplied: applies }]
}

function describeChanges(from: TopupRecord, to: TopupRecord): string[] {
  const changes = []
  if (from.status !== to.status) changes.push(`is ${to.status} at the provider, and ${from.status} here`)
  if (from.refunded !== to.refunded) {
    changes.push(`${formatUsd(to.refunded)} USD was refunded, and ${formatUsd(from.refunded)} here`)
  }
  if (from.disputed !== to.disputed) {
    changes.push(`${formatUsd(to.disputed)} USD is disputed, and ${formatUsd(from.disputed)} here`)
  }
  if (from.receiptUrl === null && to.receiptUrl !== null) changes.push('its receipt is missing here')
  return changes
}
