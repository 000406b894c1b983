import { expect } from 'vitest'
import type { PaymentChange } from '../../server/store/payment-records.ts'
import { changes, eventOf, moneyOf, openTopup } from './payment-drafts.ts'
import type { StoreWorld } from './store-world.ts'

// Events of a payment while the database fails at one statement of them: each is kept whole or not at all, and sent again
// it is kept once.

const whole = 100_000
const { failed, paid, refunded, reinstated, withdrawn } = changes

/** With a refund before the payment is known, and what was spent in between. */
const told: readonly (PaymentChange | { kind: 'spend'; cost: number })[] = [
  { kind: 'pending' },
  refunded(10_000),
  failed,
  paid(whole),
  { kind: 'spend', cost: 70_000 },
  withdrawn(40_000, 'dp_lost'),
  withdrawn(30_000, 'dp_won'),
  refunded(20_000),
  reinstated(30_000, 'dp_won'),
]
/** 100,000 less 20,000, 70,000 and 40,000. */
const end = { balance: 0, owed: 30_000 }

/** Strikes the nth statement from now on, once; `hasStruck` says whether there was one. */
export type Striker = { strikeAt: (n: number) => void; hasStruck: () => boolean; stride: number }

/** What is struck is asked for once more. */
function again<Value>(ask: () => Promise<Value>): Promise<Value> {
  return ask().catch(ask)
}

/** Plays the payment once for each statement of it, or for one of so many; how many there were. */
export async function killAtEach(world: StoreWorld, { hasStruck, strikeAt, stride }: Striker): Promise<number> {
  const isShared = world.store.shared !== undefined
  for (let n = 1 + Math.floor(Math.random() * stride); ; n += stride) {
    const userId = await world.createUser(0)
    await world.store.payments.setNotifyBelow({ userId, notifyBelow: 5000 })
    const topup = await openTopup(world, userId, whole)
    strikeAt(n)
    for (const change of told) {
      if (change.kind === 'spend') {
        const spend = { userId, amount: -change.cost, description: 'Spent', idempotencyKey: 'spend' }
        await again(() => world.store.credit(spend))
        continue
      }
      const event = eventOf(topup, change)
      const before = await again(() => moneyOf(world, userId))
      const isLost = await world.store.payments.applyEvent(event).then(
        () => false,
        () => true,
      )
      // Where it is known that nothing was kept.
      if (isLost && !isShared) expect(await moneyOf(world, userId)).toEqual(before)
      // Sent again, as a provider does that got no answer; and once more.
      const { outcome } = await again(() => world.store.payments.applyEvent(event))
      if (!isLost) expect(outcome).toBe('repeated')
      expect(await again(() => world.store.payments.applyEvent(event))).toMatchObject({ outcome: 'repeated' })
    }
    expect(await again(() => moneyOf(world, userId)), `struck at statement ${n}`).toEqual(end)
    const types = (await world.events(userId)).map(({ type }) => type)
    expect(
      types.filter((type) => type === 'payment.succeeded'),
      `struck at statement ${n}`,
    ).toHaveLength(1)
    expect(
      types.filter((type) => type === 'balance.low'),
      `struck at statement ${n}`,
    ).toHaveLength(1)
    if (!hasStruck()) {
      expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
      return n - 1
    }
  }
}
