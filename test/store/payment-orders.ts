import { expect, test } from 'vitest'
import type { PaymentState, TopupRecord } from '../../server/store/payments/payment-types.ts'
import { ofTier } from '../run/tiers.ts'
import { SimRandom } from '../sim/sim-random.ts'
import { moneyOf, openTopup, paid, stateOf } from './payment-drafts.ts'
import { noLimits, openWorld, type StoreEngine, type StoreWorld } from './store-world.ts'

// Several readers follow a payment that keeps changing at the provider. Each reads the row, then the provider's state,
// and applies that state later, possibly after other readers. Whatever the order, losses and repeats, an older state
// must never overwrite a newer one, and the last event must lead to the last state.

const whole = 100_000
const cent = 100

/** All states of a payment at the provider, oldest first. */
function historyOf(random: SimRandom): Partial<PaymentState>[] {
  const states: Partial<PaymentState>[] = [{}]
  if (random.chance(0.2)) states.push({ status: 'failed', reason: 'card_declined' })
  if (random.chance(0.1)) states.push({ status: 'expired' })
  if (random.chance(0.1)) return states
  const disputes = new Map<string, number>()
  let refunded = 0
  const now = () => paid(whole, { refunded, disputed: [...disputes.values()].reduce((sum, one) => sum + one, 0) })
  states.push(now())
  for (let n = random.between(0, 5); n > 0; n--) {
    const what = random.pick(['refund', 'refund', 'failed refund', 'dispute', 'won', 'lost'])
    if (what === 'refund') refunded += random.between(1, 400) * cent
    if (what === 'failed refund') refunded = Math.max(0, refunded - random.between(1, 400) * cent)
    if (what === 'dispute') disputes.set(`dp_${n}`, random.between(1, 1000) * cent)
    if (what === 'won') disputes.delete([...disputes.keys()][0] ?? '')
    states.push(now())
  }
  return states
}

/** Returns how much the top-up contributes to its user's balance in this state. */
function worthOf({ disputed = 0, refunded = 0, status }: Partial<PaymentState>): number {
  return status === 'paid' ? whole - Math.min(whole, refunded + disputed) : 0
}

type Reading = { version: number; state: PaymentState; index: number }
type Payment = { topup: TopupRecord; states: Partial<PaymentState>[]; at: number; applied: number; readings: Reading[] }

/** Reads the row and then the provider's state, in the same order as the service. */
async function read(world: StoreWorld, payment: Payment): Promise<Reading> {
  const { at, states, topup } = payment
  const ref = { topupId: topup.id, checkoutId: null, paymentId: null }
  const { version } = (await world.store.payments.findTopup(ref))!
  return { version, state: stateOf(topup, states[at]), index: at }
}

async function apply(world: StoreWorld, payment: Payment, reading: Reading): Promise<void> {
  let { index } = reading
  let { outcome } = await world.store.payments.applyState(reading)
  while (outcome === 'stale') {
    const newer = await read(world, payment)
    index = newer.index
    outcome = (await world.store.payments.applyState(newer)).outcome
  }
  expect(index, 'no older state is applied after a newer one').toBeGreaterThanOrEqual(payment.applied)
  expect(['applied', 'nothing-new']).toContain(outcome)
  payment.applied = index
}

async function play(world: StoreWorld, random: SimRandom): Promise<void> {
  const userId = await world.createUser(0)
  const payments: Payment[] = []
  for (let n = random.between(1, 2); n > 0; n--) {
    const topup = await openTopup(world, userId, whole)
    payments.push({ topup, states: historyOf(random), at: 0, applied: 0, readings: [] })
  }
  let other = 0
  const isOpen = () => payments.some(({ at, readings, states }) => at < states.length - 1 || readings.length > 0)
  while (isOpen()) {
    const payment = random.pick(payments)
    const what = random.weighted({ change: 4, read: 3, apply: 4, other: 3 })
    if (what === 'change' && payment.at < payment.states.length - 1) {
      payment.at++
      // The event of the last change always arrives; earlier events may be lost.
      if (payment.at === payment.states.length - 1) payment.readings.push(await read(world, payment))
    }
    if (what === 'read' && payment.at < payment.states.length - 1) payment.readings.push(await read(world, payment))
    if (what === 'apply' && payment.readings.length > 0) {
      const [reading] = payment.readings.splice(random.between(0, payment.readings.length - 1), 1)
      await apply(world, payment, reading!)
      if (random.chance(0.2)) await apply(world, payment, reading!)
    }
    const { balance, owed } = await moneyOf(world, userId)
    expect(Math.min(balance, owed), 'nobody owes who has something').toBe(0)
    if (what !== 'other') continue
    const step = random.weighted({ adjust: 4, spend: 1, credit: 2, fail: 1 })
    const amount = random.between(1, 300) * cent
    if (step === 'credit') {
      await world.store.credit({ userId, amount, description: 'A gift', idempotencyKey: null })
      other += amount
    } else if (balance >= amount) {
      if (step === 'fail') await world.failed(userId, { cost: amount, countsAsAbuse: false })
      else other -= amount
      if (step === 'spend') await world.completed(userId, { cost: amount })
      const adjustment = { userId, amount: -amount, description: 'Taken', idempotencyKey: null }
      if (step === 'adjust') await world.store.credit(adjustment)
    }
  }
  const worth = payments.reduce((sum, { at, states }) => sum + worthOf(states[at]!), other)
  expect(await moneyOf(world, userId)).toEqual({ balance: Math.max(0, worth), owed: Math.max(0, -worth) })
}

/**
 * Number of payments per tier. `atOnce` of them run concurrently, sharing SQLite's commits or PostgreSQL's connections.
 */
type Counts = { small: number; all: number; atOnce: number }

export function describePaymentOrders(engine: StoreEngine, { atOnce, ...counts }: Counts): void {
  const count = Number(process.env['ERRAND_PAYMENT_ORDERS'] ?? ofTier(counts.small, counts.all))
  test(
    `${engine.name}: ${count} payments reach their final states in any order of reads and writes`,
    async () => {
      const seed = Number(process.env['ERRAND_PAYMENT_SEED'] ?? Math.floor(Math.random() * 1e9))
      process.stdout.write(`${engine.name}: payment orders with ERRAND_PAYMENT_SEED=${seed}\n`)
      const world = await openWorld(engine, noLimits)
      try {
        for (let first = 0; first < count; first += atOnce) {
          const some = Array.from({ length: Math.min(atOnce, count - first) }, async (_, n) => {
            await play(world, new SimRandom(seed, first + n)).catch((error: unknown) => {
              throw new Error(`history ${first + n} of seed ${seed}`, { cause: error })
            })
          })
          await Promise.all(some)
        }
        expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
      } finally {
        await world.close()
      }
    },
    Math.max(280_000, count * 200),
  )
}
