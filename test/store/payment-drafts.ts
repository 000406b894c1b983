import { newId } from '../../server/kernel/ids.ts'
import type { Units } from '../../server/kernel/money.ts'
import type { AppliedState, PaymentState, TopupRecord } from '../../server/store/payments/payment-records.ts'
import type { StoreWorld } from './store-world.ts'

// Top-ups and provider states for the tests of a store.

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

/** A state in which nothing was paid yet, with what differs from that. */
export function stateOf({ id: topupId }: Pick<TopupRecord, 'id'>, changes: Partial<PaymentState> = {}): PaymentState {
  const nothing = { paid: null, reason: null, checkoutId: null, receiptUrl: null, method: null }
  return { topupId, status: 'open', ...nothing, paymentId: `pi_${topupId}`, refunded: 0, disputed: 0, ...changes }
}

/** Applies what the provider answers now, as if it was read just now. */
export async function tell(
  world: StoreWorld,
  topup: TopupRecord,
  changes: Partial<PaymentState>,
): Promise<AppliedState> {
  const { payments } = world.store
  const known = await payments.findTopup({ topupId: topup.id, checkoutId: null, paymentId: null })
  return payments.applyState({ state: stateOf(topup, changes), version: known?.version ?? 0 })
}

/** A payment of which so much was refunded and disputed since. */
export function paid(amount: Units, since: Partial<PaymentState> = {}): Partial<PaymentState> {
  return { status: 'paid', paid: { amount, currency: 'usd' }, ...since }
}

export const failed: Partial<PaymentState> = { status: 'failed', reason: 'card_declined' }

/** What an account has and owes. */
export async function moneyOf(world: StoreWorld, userId: string): Promise<{ balance: Units; owed: Units }> {
  const { balance, owed } = (await world.store.getAccount(userId))!
  return { balance, owed }
}
