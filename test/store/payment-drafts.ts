import { newId } from '../../server/kernel/ids.ts'
import type { Units } from '../../server/kernel/money.ts'
import type { AppliedState, PaymentState, TopupRecord } from '../../server/store/payments/payment-types.ts'
import type { StoreWorld } from './store-world.ts'

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

/** Returns an unpaid state, with overrides. */
export function stateOf({ id: topupId }: Pick<TopupRecord, 'id'>, changes: Partial<PaymentState> = {}): PaymentState {
  const nothing = { paid: null, reason: null, checkoutId: null, receiptUrl: null, method: null }
  return { topupId, status: 'open', ...nothing, paymentId: `pi_${topupId}`, refunded: 0, disputed: 0, ...changes }
}

/** Applies a state as if the service had just read it from the provider. */
export async function tell(
  world: StoreWorld,
  topup: TopupRecord,
  changes: Partial<PaymentState>,
): Promise<AppliedState> {
  const { payments } = world.store
  const known = await payments.findTopup({ topupId: topup.id, checkoutId: null, paymentId: null })
  return payments.applyState({ state: stateOf(topup, changes), version: known?.version ?? 0 })
}

/** Returns a paid state, optionally with refunds and disputes. */
export function paid(amount: Units, since: Partial<PaymentState> = {}): Partial<PaymentState> {
  return { status: 'paid', paid: { amount, currency: 'usd' }, ...since }
}

export const failed: Partial<PaymentState> = { status: 'failed', reason: 'card_declined' }

export async function moneyOf(world: StoreWorld, userId: string): Promise<{ balance: Units; owed: Units }> {
  const { balance, owed } = (await world.store.getAccount(userId))!
  return { balance, owed }
}
