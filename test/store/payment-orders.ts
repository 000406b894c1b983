import { expect, test } from 'vitest'
import type { PaymentChange, TopupRecord } from '../../server/store/payment-records.ts'
import { ofTier } from '../run/tiers.ts'
import { SimRandom } from '../sim/sim-random.ts'
import { changes, eventOf, moneyOf, openTopup } from './payment-drafts.ts'
import { noLimits, openWorld, type StoreEngine, type StoreWorld } from './store-world.ts'

// Whatever is delivered of what a provider tells, in whatever order and however often, ends in one balance and one debt,
// which are worked out here in another way: from the set of what was delivered and the sum of what was spent.

const whole = 100_000
const cent = 100

type History = { topup: TopupRecord; told: PaymentChange[] }

/** What a provider tells of a payment from its beginning to the end, in its own order. */
function tellAll(random: SimRandom): PaymentChange[] {
  const told: PaymentChange[] = [{ kind: 'pending' }]
  if (random.chance(0.2)) told.push(changes.failed)
  if (random.chance(0.1)) told.push({ kind: 'expired' })
  if (random.chance(0.9)) told.push(changes.paid(whole))
  let refunded = 0
  for (let n = random.between(0, 3); n > 0; n--) {
    refunded += random.between(1, 400) * cent
    told.push(changes.refunded(refunded))
  }
  for (let n = random.between(0, 2); n > 0; n--) {
    const [amount, id] = [random.between(1, 1000) * cent, `dp_${n}`]
    told.push({ kind: 'noted' }, changes.withdrawn(amount, id))
    const end = random.pick(['won', 'lost', 'open'])
    if (end === 'won') told.push(changes.reinstated(amount, id))
    if (end !== 'open') told.push({ kind: 'noted' })
  }
  return told
}

/** What is left of it by losses, repetitions and delays. */
function deliver<Told>(random: SimRandom, told: readonly Told[]): Told[] {
  const kept = told.filter(() => random.chance(0.9))
  const repeated = kept.flatMap((one) => (random.chance(0.3) ? [one, one] : [one]))
  for (let left = repeated.length; left > 1; left--) {
    const at = random.between(0, left - 1)
    ;[repeated[at], repeated[left - 1]] = [repeated[left - 1]!, repeated[at]!]
  }
  return repeated
}

/** How much a top-up adds to what its user has, by what was delivered of it: less than nothing where it was spent twice. */
function worthOf(delivered: readonly PaymentChange[]): number {
  if (!delivered.some(({ kind }) => kind === 'paid')) return 0
  let refunded = 0
  const disputes = new Map<string, { withdrawn: number; reinstated: number }>()
  for (const change of delivered) {
    if (change.kind === 'refunded') refunded = Math.max(refunded, change.refunded)
    if (change.kind !== 'withdrawn' && change.kind !== 'reinstated') continue
    const known = disputes.get(change.disputeId) ?? { withdrawn: 0, reinstated: 0 }
    disputes.set(change.disputeId, { ...known, [change.kind]: change.amount })
  }
  const open = [...disputes.values()].map(({ reinstated, withdrawn }) => (withdrawn > reinstated ? withdrawn : 0))
  const disputed = open.reduce((sum, one) => sum + one, 0)
  return whole - Math.min(refunded, whole) - Math.min(disputed, whole)
}

async function play(world: StoreWorld, random: SimRandom): Promise<void> {
  const userId = await world.createUser(0)
  const histories: History[] = []
  for (let n = random.between(1, 2); n > 0; n--) {
    histories.push({ topup: await openTopup(world, userId, whole), told: tellAll(random) })
  }
  // The same event has the same id each time that it comes.
  const events = histories.flatMap(({ told, topup }) =>
    told.map((change) => ({ topup, event: eventOf(topup, change) })),
  )
  const delivered = deliver(random, events)
  let other = 0
  for (const { event } of delivered) {
    await world.store.payments.applyEvent(event)
    const { balance, owed } = await moneyOf(world, userId)
    expect(Math.min(balance, owed), 'nobody owes who has something').toBe(0)
    const step = random.weighted({ nothing: 8, adjust: 4, spend: 1, credit: 2, fail: 1 })
    const amount = random.between(1, 300) * cent
    if (step === 'credit') {
      await world.store.credit({ userId, amount, description: 'A gift', idempotencyKey: null })
      other += amount
    } else if (step !== 'nothing' && balance >= amount) {
      if (step === 'fail') await world.failed(userId, { cost: amount, countsAsAbuse: false })
      else other -= amount
      if (step === 'spend') await world.completed(userId, { cost: amount })
      const adjustment = { userId, amount: -amount, description: 'Taken', idempotencyKey: null }
      if (step === 'adjust') await world.store.credit(adjustment)
    }
  }
  const worth = histories.reduce((sum, { topup }) => {
    return sum + worthOf(delivered.filter((one) => one.topup === topup).map(({ event }) => event.change))
  }, other)
  expect(await moneyOf(world, userId)).toEqual({ balance: Math.max(0, worth), owed: Math.max(0, -worth) })
}

/** `atOnce` of them share the commits of SQLite, or the connections of PostgreSQL. */
type Counts = { small: number; all: number; atOnce: number }

export function describePaymentOrders(engine: StoreEngine, { atOnce, ...counts }: Counts): void {
  const count = Number(process.env['ERRAND_PAYMENT_ORDERS'] ?? ofTier(counts.small, counts.all))
  test(
    `${engine.name}: ${count} orders, losses and repetitions of what is told of payments end in one balance each`,
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
