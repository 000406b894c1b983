import { expect } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import {
  openTopupMs,
  pagelessTopupMs,
  rechargePauseMs,
  unpaidTopupsMax,
} from '../../server/store/payments/payment-types.ts'
import { openTopup, paid, tell } from './payment-drafts.ts'
import type { ContractTest } from './store-contract.ts'

const day = 86_400_000

export function describeTopups(contractTest: ContractTest): void {
  contractTest('a top-up without a checkout page expires and reopens when it gets one', async (world) => {
    const userId = await world.createUser(0)
    const { payments } = world.store
    const [failing, crashed, paged] = [
      await openTopup(world, userId),
      await openTopup(world, userId),
      await openTopup(world, userId),
    ]
    const statusOf = async ({ id: topupId }: { id: string }) => (await payments.getTopup({ userId, topupId }))!.status
    const page = (topupId: string) => ({ userId, topupId, checkoutId: `cs_${topupId}`, checkoutUrl: 'https://x' })
    await payments.noteCheckout(page(paged.id))
    for (const { id: topupId } of [failing, paged]) await payments.closePageless({ userId, topupId })
    world.clock.advance(pagelessTopupMs - 1)
    await world.purge()
    expect(await Promise.all([failing, crashed, paged].map(statusOf))).toEqual(['expired', 'open', 'open'])
    world.clock.advance(1)
    await world.purge()
    expect(await Promise.all([failing, crashed, paged].map(statusOf))).toEqual(['expired', 'expired', 'open'])
    expect(await payments.noteCheckout(page(failing.id))).toMatchObject({ status: 'open', checkoutUrl: 'https://x' })
    world.clock.advance(openTopupMs)
    await world.purge()
    expect(await statusOf(paged)).toBe('expired')
    expect(await payments.noteCheckout(page(paged.id))).toMatchObject({ status: 'expired' })
  })

  contractTest('automatic top-ups pause between each other and stop at the monthly maximum', async (world) => {
    const userId = await world.createUser(0)
    const { payments } = world.store
    const method = { customerId: 'cus_1', methodId: 'pm_1', methodLabel: 'visa 4242' }
    await tell(world, await openTopup(world, userId, 100), paid(100, { method }))
    const recharge = { below: 5_000_000, to: 6_000_000, monthlyMax: 100_000_000 }
    await payments.setRecharge({ userId, recharge })
    // Moves the clock away from the end of a month.
    world.clock.advance(Math.max(0, Date.UTC(2099, 4, 10) - world.clock.now()))
    const begin = () => {
      const topupId = newId('top', world.clock.now())
      return payments.beginRecharge({ userId, topupId, least: 100, most: 300_000, monthlyMax: 700_000 })
    }
    const amounts = []
    for (let n = 0; n < 4; n++) {
      const due = await begin()
      if (!due) break
      amounts.push(due.topup.amount)
      await tell(world, due.topup, paid(due.topup.amount))
      expect(await begin()).toBeUndefined()
      world.clock.advance(rechargePauseMs - 1)
      expect(await begin()).toBeUndefined()
      world.clock.advance(1)
    }
    expect(amounts).toEqual([300_000, 300_000, 100_000])
  })

  contractTest('finds a top-up by each of its ids, only for its own user', async (world) => {
    const userId = await world.createUser(0)
    const topup = await openTopup(world, userId)
    const { payments } = world.store
    const none = { topupId: null, checkoutId: null, paymentId: null }
    const page = { userId, topupId: topup.id, checkoutId: 'cs_1', checkoutUrl: 'https://pay.example/1' }
    expect(await payments.noteCheckout(page)).toMatchObject({ checkoutUrl: 'https://pay.example/1' })
    await tell(world, topup, { paymentId: 'pi_1' })
    for (const known of [{ topupId: topup.id }, { checkoutId: 'cs_1' }, { paymentId: 'pi_1' }]) {
      expect(await payments.findTopup({ ...none, ...known })).toMatchObject({ id: topup.id })
    }
    const other = await world.createUser(0)
    expect(await payments.getTopup({ userId: other, topupId: topup.id })).toBeUndefined()
    expect(await payments.listTopups({ userId: other, limit: 10 })).toEqual([])
    expect(await payments.listTopups({ userId: other, after: topup.id, limit: 10 })).toEqual([])
  })

  contractTest('lists top-ups newest first, in pages, by user and status', async (world) => {
    const userId = await world.createUser(0)
    const made = []
    for (let n = 0; n < 5; n++) {
      made.push(await openTopup(world, userId, 100 * (n + 1)))
      world.clock.advance(1)
    }
    await tell(world, made[1]!, paid(200))
    const { payments } = world.store
    const ids = async (input: object) => (await payments.listTopups({ limit: 2, ...input })).map(({ id }) => id)
    const newest = made.map(({ id }) => id).toReversed()
    expect(await ids({ userId })).toEqual(newest.slice(0, 2))
    expect(await ids({ userId, after: newest[1] })).toEqual(newest.slice(2, 4))
    expect(await ids({ after: newest[3] })).toEqual(newest.slice(4))
    expect(await ids({ status: 'paid' })).toEqual([made[1]!.id])
    const at = made[1]!.createdAt
    expect(await ids({ userId, from: at, until: at + 2, limit: 5 })).toEqual([made[2]!.id, made[1]!.id])
    expect(await ids({ from: at, until: at + 2, after: newest[2] })).toEqual([made[1]!.id])
    expect(await ids({ from: at, until: at + 1, after: newest[0] })).toEqual([made[1]!.id])
  })

  contractTest('sums the paid top-ups of a period by UTC day', async (world) => {
    const userId = await world.createUser(0)
    const { payments } = world.store
    world.clock.advance(day - (world.clock.now() % day))
    const first = world.clock.now()
    await tell(world, await openTopup(world, userId, 100), paid(100))
    await openTopup(world, userId, 900)
    world.clock.advance(day - 1)
    await tell(world, await openTopup(world, userId, 200), paid(200, { refunded: 50, disputed: 10 }))
    world.clock.advance(1)
    await tell(world, await openTopup(world, userId, 400), paid(400))
    const dayOne = { day: first / day, topups: 2, paid: 300, refunded: 50, disputed: 10 }
    const dayTwo = { day: first / day + 1, topups: 1, paid: 400, refunded: 0, disputed: 0 }
    expect(await payments.sumDays({ from: 0, until: first + 2 * day })).toEqual([dayOne, dayTwo])
    expect(await payments.sumDays({ from: first, until: first + day })).toEqual([dayOne])
    expect(await payments.sumDays({ from: first + day, until: first + 2 * day })).toEqual([dayTwo])
  })

  contractTest('a retry creates no second top-up; a different body or too many are rejected', async (world) => {
    const userId = await world.createUser(0)
    const { payments } = world.store
    const input = (bodyHash: string) => ({
      topupId: newId('top', world.clock.now()),
      userId,
      provider: 'stripe' as const,
      amount: 100,
      idempotency: { key: 'one', bodyHash },
    })
    const made = await payments.createTopup(input('a'))
    expect(await payments.createTopup(input('a'))).toEqual({ ...made, outcome: 'replayed' })
    expect(await payments.createTopup(input('b'))).toEqual({ outcome: 'refused', reason: 'idempotency-conflict' })
    for (let n = 1; n < unpaidTopupsMax; n++) await openTopup(world, userId)
    const many = { ...input('c'), idempotency: null }
    expect(await payments.createTopup(many)).toEqual({ outcome: 'refused', reason: 'too-many' })
    world.clock.advance(day)
    await world.store.updateUser({ userId, isSuspended: true })
    expect(await payments.createTopup(many)).toEqual({ outcome: 'refused', reason: 'suspended' })
    await world.store.updateUser({ userId, isSuspended: false })
    expect(await payments.createTopup(many)).toMatchObject({ outcome: 'created' })
  })
}
