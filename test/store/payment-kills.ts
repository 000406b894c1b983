import { expect } from 'vitest'
import type { PaymentState } from '../../server/store/payments/payment-types.ts'
import { failed, moneyOf, openTopup, paid, tell } from './payment-drafts.ts'
import type { StoreWorld } from './store-world.ts'

// Applies payment states while one statement of the database fails. Each state must be applied completely or not at
// all, and a retry must apply it only once.

const whole = 100_000

const history: readonly (Partial<PaymentState> | { cost: number })[] = [
  { status: 'open' },
  failed,
  paid(whole, { refunded: 10_000 }),
  { cost: 70_000 },
  paid(whole, { refunded: 10_000, disputed: 40_000 }),
  paid(whole, { refunded: 10_000, disputed: 70_000 }),
  paid(whole, { refunded: 20_000, disputed: 70_000 }),
  paid(whole, { refunded: 20_000, disputed: 40_000 }),
]
/** Final balance and debt: 100,000 paid, minus 20,000, 70,000 and 40,000. */
const end = { balance: 0, owed: 30_000 }

/**
 * Makes the nth statement from now fail once. `hasStruck` returns whether that statement was reached. `stride`:
 * interval of the statements to test.
 */
export type Striker = { strikeAt: (n: number) => void; hasStruck: () => boolean; stride: number }

function again<Value>(call: () => Promise<Value>): Promise<Value> {
  return call().catch(call)
}

/**
 * Runs the payment's history with a failure at each statement, or at every `stride`th one. Returns the number of
 * statements.
 */
export async function killAtEach(world: StoreWorld, { hasStruck, strikeAt, stride }: Striker): Promise<number> {
  const isShared = world.store.shared !== undefined
  for (let n = 1 + Math.floor(Math.random() * stride); ; n += stride) {
    const userId = await world.createUser(0)
    await world.store.payments.setNotifyBelow({ userId, notifyBelow: 5000 })
    const topup = await openTopup(world, userId, whole)
    strikeAt(n)
    for (const change of history) {
      if ('cost' in change) {
        const spend = { userId, amount: -change.cost, description: 'Spent', idempotencyKey: 'spend' }
        await again(() => world.store.credit(spend))
        continue
      }
      const before = await again(() => moneyOf(world, userId))
      const isLost = await tell(world, topup, change).then(
        () => false,
        () => true,
      )
      // A shared database may have committed even if its response was lost.
      if (isLost && !isShared) expect(await moneyOf(world, userId)).toEqual(before)
      // The provider resends its event until it is answered, and here once more.
      const { outcome } = await again(() => tell(world, topup, change))
      if (!isLost) expect(outcome).toBe('nothing-new')
      expect(await again(() => tell(world, topup, change))).toMatchObject({ outcome: 'nothing-new' })
    }
    expect(await again(() => moneyOf(world, userId)), `struck at statement ${n}`).toEqual(end)
    const types = (await world.events(userId)).map(({ type }) => type)
    for (const once of ['payment.succeeded', 'payment.failed', 'balance.low']) {
      expect(
        types.filter((type) => type === once),
        `struck at statement ${n}`,
      ).toHaveLength(1)
    }
    if (!hasStruck()) {
      expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
      return n - 1
    }
  }
}
