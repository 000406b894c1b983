import { expect } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import type { Units } from '../../server/kernel/money.ts'
import type { LimitReset } from '../../server/store/limits/execution-limits.ts'
import { nothingUsed } from '../../server/store/sessions/turn-endings.ts'
import type { ContractTest } from './store-contract.ts'
import { agentError } from './store-world.ts'
import { aDay, begun, day, draftTurn, settle, spending, spentOf } from './window-calls.ts'

const response = { text: '{}', payloadId: null }

/** Contract of spend limits by key, client token and user. */
export function describeWindows(contractTest: ContractTest): void {
  describeTasks(contractTest)
  describePeriods(contractTest)
  describeTurns(contractTest)
}

function describeTasks(contractTest: ContractTest): void {
  contractTest('a key can spend its limit exactly, and rejected requests write nothing', async (world) => {
    const userId = await world.createUser()
    const limits = spending('key_a', 250)
    await world.pending(userId, { limits })
    await world.pending(userId, { limits })
    const window = { ownerId: 'key_a', amount: 250, charged: 200, held: 0, startsAt: 0, resetsAt: null }
    await world.expectRefused(world.draft(userId, { limits }), { reason: 'limit', required: 100, window })
    await world.pending(userId, { limits, cost: 50 })
    await world.expectRefused(world.draft(userId, { limits, cost: 1 }), { reason: 'limit', window: { charged: 250 } })
    await world.pending(userId, { limits, cost: 0 })
    // The limit does not affect other keys or requests without a key.
    await world.pending(userId, { limits: spending('key_b', 100) })
    await world.pending(userId)
    expect(await spentOf(world, limits)).toEqual([250, 0])
  })

  contractTest('checks the limit before the balance, and both can reject', async (world) => {
    const userId = await world.createUser(150)
    await world.expectRefused(world.draft(userId, { limits: spending('key_a', 50) }), { reason: 'limit' })
    await world.expectRefused(world.draft(userId, { limits: spending('key_a', 500), cost: 151 }), { reason: 'balance' })
    expect(await spentOf(world, spending('key_a', 500))).toEqual([0, 0])
  })

  contractTest('admits exactly as many of 200 parallel first requests as fit the limit', async (world) => {
    const userId = await world.createUser()
    const limits = spending('key_a', 1730, 'day')
    const results = await Promise.all(Array.from({ length: 200 }, () => world.admit(userId, { limits })))
    expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(17)
    expect(results.filter((result) => 'reason' in result && result.reason === 'limit')).toHaveLength(183)
    expect(await spentOf(world, limits)).toEqual([1700, 0])
    expect(await world.balance(userId)).toBe(100_000 - 1700)
  })

  contractTest(
    'limits of key, client token and user apply together without disabling each other',
    async (world) => {
      const userId = await world.createUser()
      const key = spending('key_a', 300, 'month')
      const token = spending('ctok_a', 100)
      await world.pending(userId, { limits: key })
      await world.pending(userId, { limits: token })
      await world.expectRefused(world.draft(userId, { limits: token }), { window: { ownerId: 'ctok_a', charged: 100 } })
      await world.pending(userId, { limits: key })
      await world.pending(userId)
      await world.expectRefused(world.draft(userId, { cost: 101 }), { window: { ownerId: userId, charged: 400 } })
      await world.pending(userId, { limits: key })
      await world.expectRefused(world.draft(userId, { limits: key }), { window: { ownerId: 'key_a', charged: 300 } })
      const resetsAt = Date.UTC(2026, 0, 16)
      await world.expectRefused(world.draft(userId), { window: { ownerId: userId, charged: 500, resetsAt } })
      // A user whose plan has no such limit can continue.
      const paid = await world.createUser()
      await world.store.changeAccountLimits({ userId: paid, plan: 'paid', changes: {} })
      for (let tasks = 0; tasks < 8; tasks++) await world.pending(paid)
      expect((await world.store.readLimits(paid))!.spend).toBeNull()
    },
    { limits: { plans: aDay } },
  )

  contractTest('refunded or unused money can be spent again, but only once', async (world) => {
    const userId = await world.createUser()
    const limits = spending('key_a', 300)
    const [failed, canceled, expired] = [
      await world.processing(userId, { limits }),
      await world.pending(userId, { limits }),
      await world.pending(userId, { limits, expiresInMs: 1000 }),
    ]
    await world.expectRefused(world.draft(userId, { limits }), { reason: 'limit' })
    const end = { taskId: failed.id, attempt: 1, error: agentError, countsAsAbuse: false }
    await Promise.all(Array.from({ length: 4 }, () => world.store.failTask(end)))
    expect(await spentOf(world, limits)).toEqual([200, 0])
    const cancel = { userId, taskId: canceled, error: agentError, mayStopWork: true }
    await Promise.all(Array.from({ length: 4 }, () => world.store.cancelTask(cancel)))
    expect(await spentOf(world, limits)).toEqual([100, 0])
    world.clock.advance(1000)
    for (let tries = 0; tries < 2; tries++) await world.store.expireTask({ taskId: expired, error: agentError })
    expect(await spentOf(world, limits)).toEqual([0, 0])
    const metered = await world.processing(userId, { limits, cost: 300, meters: { page: 20 } })
    await world.expectRefused(world.draft(userId, { limits, cost: 1 }), { reason: 'limit' })
    await world.store.completeTask({ taskId: metered.id, attempt: 1, response, usage: { page: 4 } })
    expect(await spentOf(world, limits)).toEqual([80, 0])
    await world.pending(userId, { limits, cost: 220 })
  })

  contractTest('a task retried with its Idempotency-Key counts once', async (world) => {
    const userId = await world.createUser()
    const draft = world.draft(userId, { limits: spending('key_a', 100), idempotency: { key: 'one', bodyHash: 'a' } })
    const again = () => world.store.admitTask({ ...draft, taskId: newId('task', world.clock.now()) })
    const results = await Promise.all([world.store.admitTask(draft), again(), again(), again()])
    expect(results.map(({ outcome }) => outcome).toSorted()).toEqual(['accepted', 'replayed', 'replayed', 'replayed'])
    expect(await spentOf(world, spending('key_a', 100))).toEqual([100, 0])
  })
}

const periods: [reset: LimitReset, from: number, next: number][] = [
  ['day', Date.UTC(2026, 1, 28), Date.UTC(2026, 2, 1)],
  // Daylight saving time starts in Europe on this day, which makes no difference.
  ['day', Date.UTC(2026, 2, 29), Date.UTC(2026, 2, 30)],
  ['week', Date.UTC(2026, 11, 28), Date.UTC(2027, 0, 4)],
  ['month', Date.UTC(2026, 11, 1), Date.UTC(2027, 0, 1)],
  ['month', Date.UTC(2028, 1, 1), Date.UTC(2028, 2, 1)],
  ['month', Date.UTC(2026, 8, 1), Date.UTC(2026, 9, 1)],
]

function describePeriods(contractTest: ContractTest): void {
  contractTest('periods restart at UTC midnight, on Mondays and on the first of a month', async (world) => {
    const userId = await world.createUser(1_000_000)
    const sorted = periods.map((period, at) => [...period, at] as const).toSorted(([, a], [, b]) => a - b)
    for (const [reset, from, next, at] of sorted) {
      const limits = spending(`key_${at}`, 100, reset)
      if (world.clock.now() < from - 1) world.clock.advance(from - 1 - world.clock.now())
      const moveTo = (time: number) => world.clock.advance(time - world.clock.now())
      if (world.clock.now() === from - 1) await world.pending(userId, { limits })
      moveTo(Math.max(from, world.clock.now()))
      await world.pending(userId, { limits })
      const window = { startsAt: from, resetsAt: next, charged: 100 }
      await world.expectRefused(world.draft(userId, { limits }), { reason: 'limit', window })
      moveTo(next - 1)
      await world.expectRefused(world.draft(userId, { limits }), { window })
      moveTo(next)
      await world.pending(userId, { limits })
    }
  })

  contractTest('spending toward a limit that never resets still counts after years', async (world) => {
    const userId = await world.createUser()
    const limits = spending('key_a', 100)
    await world.pending(userId, { limits })
    for (let years = 0; years < 3; years++) {
      world.clock.advance(366 * day)
      await world.purge()
      await world.expectRefused(world.draft(userId, { limits }), { window: { charged: 100, resetsAt: null } })
    }
  })

  contractTest('a refund after midnight counts for the day of its charge', async (world) => {
    const userId = await world.createUser()
    const limits = spending('key_a', 300, 'day')
    const task = await world.processing(userId, { limits })
    const midnight = world.clock.now() - (world.clock.now() % day) + day
    world.clock.advance(midnight - world.clock.now())
    await world.pending(userId, { limits })
    await world.pending(userId, { limits })
    await world.store.failTask({ taskId: task.id, attempt: 1, error: agentError, countsAsAbuse: false })
    expect(await spentOf(world, limits)).toEqual([200, 0])
    await world.pending(userId, { limits })
    await world.expectRefused(world.draft(userId, { limits }), { window: { startsAt: midnight, charged: 300 } })
  })

  contractTest('a chat across midnight is held and charged on the day it was admitted', async (world) => {
    const userId = await world.createUser()
    const limits = spending('key_a', 100, 'day')
    const turnId = await begun(world, userId, { limits, hold: 60 })
    world.clock.advance(day)
    expect(await spentOf(world, limits)).toEqual([0, 0])
    const today = await begun(world, userId, { limits, hold: 90 })
    expect(await world.store.growHold({ turnId, by: 40, least: 40 })).toMatchObject({ outcome: 'held', held: 100 })
    expect(await world.store.growHold({ turnId, by: 1, least: 1 })).toMatchObject({ reason: 'limit' })
    await settle(world, turnId, 70)
    expect(await spentOf(world, limits)).toEqual([0, 90])
    await settle(world, today, 20)
    expect(await spentOf(world, limits)).toEqual([20, 0])
  })

  contractTest('deletes old spending windows without affecting open work or the ledger check', async (world) => {
    const userId = await world.createUser()
    const limits = spending('key_a', 500, 'day')
    const [open, done] = [await world.processing(userId, { limits }), await world.completed(userId, { limits })]
    const turnId = await begun(world, userId, { limits })
    const since = world.clock.now()
    world.clock.advance(200 * day)
    await world.purge()
    expect(await world.verify()).toMatchObject({ ok: true })
    await world.store.failTask({ taskId: open.id, attempt: 1, error: agentError, countsAsAbuse: false })
    expect(await world.store.growHold({ turnId, by: 900, least: 900 })).toMatchObject({ outcome: 'held' })
    expect(await settle(world, turnId, 600)).toMatchObject({ charged: 600 })
    expect(await world.read(userId, done.id)).toMatchObject({ cost: 100, createdAt: since })
    expect(await spentOf(world, limits)).toEqual([0, 0])
  })
}

function describeTurns(contractTest: ContractTest): void {
  contractTest('a chat holds no more than its limits allow and can grow to the maximum', async (world) => {
    const userId = await world.createUser()
    const limits = spending('key_a', 120)
    const turnId = await begun(world, userId, { limits, hold: 50 })
    expect(await spentOf(world, limits)).toEqual([0, 50])
    await world.expectRefused(world.draft(userId, { limits }), { reason: 'limit', window: { charged: 0, held: 50 } })
    const grow = (by: Units, least = by) => world.store.growHold({ turnId, by, least })
    expect(await grow(40)).toMatchObject({ outcome: 'held', held: 90 })
    expect(await grow(40)).toEqual({ outcome: 'refused', reason: 'limit' })
    expect(await grow(40, 10)).toMatchObject({ outcome: 'held', held: 120 })
    expect(await grow(1)).toEqual({ outcome: 'refused', reason: 'limit' })
    const other = await draftTurn(world, userId, { limits })
    expect(await world.store.openTurn(other)).toMatchObject({ reason: 'limit', window: { held: 120 }, required: 10 })
    expect(await settle(world, turnId, 70)).toMatchObject({ charged: 70, writtenOff: 0 })
    expect(await spentOf(world, limits)).toEqual([70, 0])
    const last = await world.store.openTurn({ ...other, hold: 1000 })
    expect(last).toMatchObject({ outcome: 'opened', held: 50 })
    await world.store.settleTurn({
      turnId: other.turnId,
      outcome: 'failed',
      cost: 0,
      breakdown: nothingUsed,
      exchange: null,
    })
    expect(await spentOf(world, limits)).toEqual([70, 0])
  })

  contractTest('writes off usage beyond a spending limit', async (world) => {
    const userId = await world.createUser()
    const limits = spending('key_a', 150)
    await world.pending(userId, { limits })
    const turnId = await begun(world, userId, { limits, hold: 20 })
    // Usage beyond the hold is charged up to the window's limit, as it would be up to the balance.
    expect(await settle(world, turnId, 900)).toMatchObject({ charged: 50, writtenOff: 850 })
    expect(await spentOf(world, limits)).toEqual([150, 0])
    const free = await begun(world, userId)
    expect(await settle(world, free, 900)).toMatchObject({ charged: 900, writtenOff: 0 })
  })

  contractTest('an abandoned turn releases the part of the limit that it held', async (world) => {
    const userId = await world.createUser()
    const limits = spending('key_a', 100)
    await begun(world, userId, { limits, hold: 80 })
    expect(await world.store.closeAbandonedTurns()).toBe(1)
    expect(await spentOf(world, limits)).toEqual([0, 0])
    const turnId = await begun(world, userId, { limits, hold: 100 })
    await Promise.all(Array.from({ length: 4 }, () => settle(world, turnId, 60)))
    expect(await spentOf(world, limits)).toEqual([60, 0])
  })

  contractTest(
    "a user's daily limit applies to chats, except free ones",
    async (world) => {
      const userId = await world.createUser()
      const turnId = await begun(world, userId, { limits: spending('key_a', 600), hold: 400 })
      expect(await world.store.growHold({ turnId, by: 150, least: 150 })).toMatchObject({ reason: 'limit' })
      await settle(world, turnId, 500)
      expect((await world.store.readLimits(userId))!.spend).toMatchObject({ charged: 500, held: 0 })
      const free = await begun(world, userId, { required: 0, hold: 0 })
      expect(await settle(world, free, 0)).toMatchObject({ charged: 0 })
    },
    { limits: { plans: aDay } },
  )
}
