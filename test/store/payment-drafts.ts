import { newId } from '../../server/kernel/ids.ts'
import type { Units } from '../../server/kernel/money.ts'
import type { AppliedEvent, PaymentChange, PaymentEvent, TopupRecord } from '../../server/store/payment-records.ts'
import type { StoreWorld } from './store-world.ts'

// Top-ups and events as the tests of a store need them.

let events = 0

export async function openTopup(world: StoreWorld, userId: string, amount: Units = 100_000): Promise<TopupRecord> {
  const topupId = newId('top', world.clock.now())
  const made = await world.store.payments.createTopup({
    topupId,
    userId,
    provider: 'stripe',
    amount,
    idempotency: null,
  })
  if (made.outcome === 'refused') throw new Error(made.reason)
  return made.topup
}

/** With an id of its own where none is given. */
export function eventOf(
  topup: TopupRecord,
  change: PaymentChange,
  { eventId = `evt_${++events}`, ...ids }: Partial<PaymentEvent> = {},
): PaymentEvent {
  const named = { topupId: topup.id, checkoutId: null, paymentId: `pi_${topup.id}`, ...ids }
  return { provider: 'stripe', eventId, type: change.kind, ...named, change }
}

export function tell(
  world: StoreWorld,
  topup: TopupRecord,
  ...[change, ids]: [PaymentChange, Partial<PaymentEvent>?]
): Promise<AppliedEvent> {
  return world.store.payments.applyEvent(eventOf(topup, change, ids))
}

export const changes = {
  paid: (amount: Units): PaymentChange => ({ kind: 'paid', amount, currency: 'usd', receiptUrl: null, method: null }),
  refunded: (refunded: Units): PaymentChange => ({ kind: 'refunded', refunded, currency: 'usd' }),
  withdrawn: (amount: Units, disputeId = 'dp_1'): PaymentChange => {
    return { kind: 'withdrawn', disputeId, amount, currency: 'usd' }
  },
  reinstated: (amount: Units, disputeId = 'dp_1'): PaymentChange => {
    return { kind: 'reinstated', disputeId, amount, currency: 'usd' }
  },
  failed: { kind: 'failed', reason: 'card_declined' } as PaymentChange,
}

/** What an account has and owes. */
export async function moneyOf(world: StoreWorld, userId: string): Promise<{ balance: Units; owed: Units }> {
  const { balance, owed } = (await world.store.getAccount(userId))!
  return { balance, owed }
}
