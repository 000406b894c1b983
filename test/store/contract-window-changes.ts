import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import type { LimitReset } from '../../server/store/limits/execution-limits.ts'
import type { Units } from '../../server/kernel/money.ts'
import type { UpdateKey } from '../../server/store/limits/limit-types.ts'
import { draftKey } from './key-drafts.ts'
import type { ContractTest } from './store-contract.ts'
import { agentError, type StoreWorld, type Tampering } from './store-world.ts'
import { ofTier } from '../run/tiers.ts'
import { WindowHistory } from './window-history.ts'
import { aDay, begun, day, settle, spending, spentOf, threeWaiting } from './window-calls.ts'

/** Contract of changed, exhausted and damaged spend limits. */
export function describeWindowChanges(contractTest: ContractTest): void {
  describeChanges(contractTest)
  describeReached(contractTest)
  describeUndone(contractTest)
  describeDamages(contractTest)
  for (let seed = 1; seed <= ofTier(1, 5); seed++) {
    contractTest(`spending windows match the store's results after random changes, seed ${seed}`, (world) =>
      new WindowHistory(world, seed).run(ofTier(400, 2000)),
    )
  }
}

function describeChanges(contractTest: ContractTest): void {
  contractTest('a limit lowered below current spending still allows refunds and settlements', async (world) => {
    const { store } = world
    const userId = await world.createUser()
    const draft = draftKey(userId)
    const { id } = await store.createKey({ ...draft, spendLimit: 500, spendReset: 'week' })
    const limits = async () => (await store.findKey(draft.tokenHash))!.limits
    const change = (spendLimit: Units | null) => store.updateKey({ userId, keyId: id, changes: { spendLimit } })
    const task = await world.processing(userId, { limits: await limits(), cost: 200 })
    const turnId = await begun(world, userId, { limits: await limits(), hold: 100 })
    await change(50)
    expect(await store.growHold({ turnId, by: 1, least: 1 })).toMatchObject({ reason: 'limit' })
    const window = { amount: 50, charged: 200, held: 100 }
    await world.expectRefused(world.draft(userId, { limits: await limits(), cost: 1 }), { reason: 'limit', window })
    await world.pending(userId, { limits: await limits(), cost: 0 })
    expect(await settle(world, turnId, 900)).toMatchObject({ charged: 100, writtenOff: 800 })
    await store.failTask({ taskId: task.id, attempt: 1, error: agentError, countsAsAbuse: false })
    await world.expectRefused(world.draft(userId, { limits: await limits(), cost: 1 }), { window: { charged: 100 } })
    await change(130)
    await world.pending(userId, { limits: await limits(), cost: 30 })
    const open = await begun(world, userId, { limits: await limits(), required: 0, hold: 10 })
    await change(null)
    // Removing the limit also applies to work in progress.
    expect(await store.growHold({ turnId: open, by: 700, least: 700 })).toMatchObject({ outcome: 'held' })
    await settle(world, open, 700)
    expect(await limits()).toBeNull()
    await change(900)
    await world.expectRefused(world.draft(userId, { limits: await limits(), cost: 71 }), { window: { charged: 830 } })
    await world.pending(userId, { limits: await limits(), cost: 70 })
  })

  contractTest(
    'a refund does not allow spending above a lowered limit, even in open chats',
    async (world) => {
      const { store } = world
      const userId = await world.createUser()
      const draft = draftKey(userId)
      const { id } = await store.createKey({ ...draft, spendLimit: 400, spendReset: 'week' })
      for (const lower of [
        () => store.updateKey({ userId, keyId: id, changes: { spendLimit: 120 } }),
        () => store.changeAccountLimits({ userId, changes: { spendPerDay: 240 } }),
      ]) {
        const { limits } = must(await store.findKey(draft.tokenHash), 'the key exists')
        const task = await world.processing(userId, { limits, cost: 200 })
        const turnId = await begun(world, userId, { limits, hold: 100 })
        await lower()
        await store.failTask({ taskId: task.id, attempt: 1, error: agentError, countsAsAbuse: false })
        expect(await store.growHold({ turnId, by: 100, least: 21 })).toMatchObject({ reason: 'limit' })
        expect(await store.growHold({ turnId, by: 100, least: 1 })).toMatchObject({ outcome: 'held', held: 120 })
        expect(await settle(world, turnId, 300)).toMatchObject({ charged: 120, writtenOff: 180 })
        await store.updateKey({ userId, keyId: id, changes: { spendLimit: 520 } })
      }
    },
    { limits: { plans: aDay } },
  )

  contractTest('changing the reset period of a key keeps the spending of the current period', async (world) => {
    const { store } = world
    const userId = await world.createUser(1_000_000)
    const draft = draftKey(userId)
    const { id: keyId } = await store.createKey({ ...draft, spendLimit: 10_000, spendReset: 'day' })
    const limits = async () => must(await store.findKey(draft.tokenHash), 'the key exists').limits
    const change = (spendReset: LimitReset) => store.updateKey({ userId, keyId, changes: { spendReset } })
    const spent = async () => spentOf(world, (await limits())!)
    // A Wednesday whose week lies within one month.
    const start = Date.UTC(2026, 6, 15, 12)
    world.clock.advance(start - world.clock.now())
    await world.completed(userId, { limits: await limits(), cost: 100 })
    await world.failed(userId, { limits: await limits(), cost: 50 })
    world.clock.advance(day)
    await world.completed(userId, { limits: await limits(), cost: 30 })
    await settle(world, await begun(world, userId, { limits: await limits() }), 7)
    await world.pending(userId, { limits: await limits(), cost: 3 })
    expect(await spent()).toEqual([40, 0])
    for (const [more, reset] of (['week', 'month', 'never'] as const).entries()) {
      await change(reset)
      expect(await spent(), reset).toEqual([140 + more, 0])
      await world.completed(userId, { limits: await limits(), cost: 1 })
      expect(await spent(), reset).toEqual([141 + more, 0])
      await change('day')
      expect(await spent(), `a day after ${reset}`).toEqual([41 + more, 0])
    }
    await store.updateKey({ userId, keyId, changes: { spendReset: 'month', spendLimit: 143 } })
    await world.expectRefused(world.draft(userId, { limits: await limits(), cost: 1 }), { window: { charged: 143 } })
  })

  contractTest(
    "lowering or raising a user's daily limit takes effect immediately",
    async (world) => {
      const { store } = world
      const userId = await world.createUser()
      const change = (spendPerDay: Units | null) => store.changeAccountLimits({ userId, changes: { spendPerDay } })
      await world.pending(userId, { cost: 400 })
      const turnId = await begun(world, userId, { hold: 50 })
      await change(100)
      expect(await store.growHold({ turnId, by: 10, least: 10 })).toMatchObject({ reason: 'limit' })
      await world.expectRefused(world.draft(userId, { cost: 1 }), { window: { amount: 100, charged: 400, held: 50 } })
      await change(1000)
      expect(await store.growHold({ turnId, by: 600, least: 1 })).toMatchObject({ held: 600 })
      await settle(world, turnId, 300)
      await world.pending(userId, { cost: 300 })
      await change(null)
      await world.expectRefused(world.draft(userId, { cost: 1 }), { window: { amount: 500, charged: 1000 } })
    },
    { limits: { plans: aDay } },
  )
}

function describeUndone(contractTest: ContractTest): void {
  contractTest(
    'rolled-back admissions use up no limit, and simultaneous admissions still count',
    async (world) => {
      const userId = await world.createUser()
      const limits = { ...spending('key_a', 350, 'day'), rate: { keyId: 'key_a', perMinute: 3 } }
      const draft = world.draft(userId, { limits })
      const results = await Promise.allSettled([
        world.store.admitTask(draft),
        // The database rejects this row, but only after its cost was counted.
        world.admit(userId, { limits, endpointId: null as never }),
        world.admit(userId, { limits }),
      ])
      expect(results).toMatchObject([
        { value: { outcome: 'accepted' } },
        { status: 'rejected' },
        { value: { outcome: 'accepted' } },
      ])
      expect(await spentOf(world, limits)).toEqual([200, 0])
      expect(await world.store.readLimits(userId)).toMatchObject({ spend: { charged: 200 }, tasksWaiting: 2 })
      await world.pending(userId, { limits, cost: 150 })
      await world.expectRefused(world.draft(userId, { limits }), { reason: 'key-rate', keyRate: { used: 3 } })
      world.clock.advance(60_000)
      await world.expectRefused(world.draft(userId, { limits }), { reason: 'waiting' })
      await world.store.cancelTask({ userId, taskId: draft.taskId, error: agentError, mayStopWork: true })
      await world.expectRefused(world.draft(userId, { limits, cost: 101 }), { reason: 'limit' })
      await world.pending(userId, { limits })
    },
    { limits: { plans: threeWaiting } },
  )

  contractTest('a rolled-back change leaves spending windows of simultaneous admissions intact', async (world) => {
    const { store } = world
    const userId = await world.createUser()
    const draft = draftKey(userId)
    const { id: keyId } = await store.createKey({ ...draft, spendLimit: 300, spendReset: 'day' })
    const { limits } = must(await store.findKey(draft.tokenHash), 'the key exists')
    const change = (spendLimit: Units) => store.updateKey({ userId, keyId, changes: { spendLimit } })
    const results = await Promise.allSettled([
      world.admit(userId, { limits }),
      // This fails because another key has the same token, but only after it has purged the user's old windows.
      store.createKey({ ...draft, userId }),
      world.admit(userId, { limits }),
      change(200),
      store.createKey({ ...draft, userId }),
    ])
    const statuses = results.map(({ status }) => status)
    expect(statuses).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'rejected'])
    // Changes the limit alone, because PostgreSQL runs parallel commands in any order.
    const lowered = { ...limits!, spend: { ...limits!.spend!, amount: 200 } }
    const refused = await world.admit(userId, { limits: lowered, cost: 1 })
    expect(refused).toMatchObject({ reason: 'limit', window: { charged: 200 } })
    expect(await spentOf(world, limits!)).toEqual([200, 0])
    await change(250)
    const now = must(await store.findKey(draft.tokenHash), 'the key exists').limits
    await world.expectRefused(world.draft(userId, { limits: now, cost: 51 }), { reason: 'limit' })
    await world.pending(userId, { limits: now, cost: 50 })
  })
}

async function reached(world: StoreWorld, userId: string): Promise<unknown[]> {
  const events = (await world.events(userId)).filter(({ type }) => type === 'key.limit_reached')
  return events.map(({ body }) => (JSON.parse(body) as { data: unknown }).data)
}

function describeReached(contractTest: ContractTest): void {
  contractTest('the first rejection in each period reports that a key reached its limit', async (world) => {
    const { store } = world
    const userId = await world.createUser()
    const draft = draftKey(userId)
    const { id } = await store.createKey({ ...draft, spendLimit: 150, spendReset: 'day' })
    const { limits } = must(await store.findKey(draft.tokenHash), 'the key exists')
    await world.pending(userId, { limits })
    expect(await store.foreseeAdmission(world.draft(userId, { limits }))).toMatchObject({ reason: 'limit' })
    expect(await reached(world, userId)).toEqual([])
    await Promise.all(Array.from({ length: 10 }, () => world.admit(userId, { limits })))
    const midnight = world.clock.now() - (world.clock.now() % day) + day
    const told = { keyId: id, limitUsd: '0.0150', resetsAt: new Date(midnight).toISOString() }
    expect(await reached(world, userId)).toEqual([told])
    await world.expectRefused(world.draft(userId, { limits }), { reason: 'limit' })
    world.clock.advance(day)
    // Nothing is spent yet, but the request alone exceeds the day's limit.
    await world.admit(userId, { limits, cost: 151 })
    const next = { ...told, resetsAt: new Date(midnight + day).toISOString() }
    expect(await reached(world, userId)).toEqual([told, next])
    world.clock.advance(day)
    const turnId = await begun(world, userId, { limits, hold: 150 })
    for (let grows = 0; grows < 3; grows++) await store.growHold({ turnId, by: 1, least: 1 })
    expect(await reached(world, userId)).toHaveLength(3)
    await settle(world, turnId, 150)
    expect(await world.admit(userId, { limits })).toMatchObject({ reason: 'limit' })
    expect(await reached(world, userId)).toHaveLength(3)
  })

  contractTest('reports each reached key limit once, even within one period', async (world) => {
    const { store } = world
    const userId = await world.createUser()
    const draft = draftKey(userId)
    const { id: keyId } = await store.createKey({ ...draft, spendLimit: 150, spendReset: 'day' })
    const limits = async () => must(await store.findKey(draft.tokenHash), 'the key exists').limits
    const refuse = async (cost: number) =>
      world.expectRefused(world.draft(userId, { limits: await limits(), cost }), { reason: 'limit' })
    const told = async () =>
      (await reached(world, userId)).map((data) => (data as { limitUsd: string }).limitUsd).toSorted()
    const change = (changes: UpdateKey['changes']) => store.updateKey({ userId, keyId, changes })
    await refuse(151)
    const stale = await limits()
    await change({ spendLimit: 300 })
    // The limit known at authentication rejects this request, but the current limit has not been reached.
    await world.expectRefused(world.draft(userId, { limits: stale, cost: 151 }), { reason: 'limit' })
    expect(await told()).toEqual(['0.0150'])
    const turnId = await begun(world, userId, { limits: await limits(), hold: 300 })
    for (let grows = 0; grows < 2; grows++) await store.growHold({ turnId, by: 1, least: 1 })
    await refuse(1)
    expect(await told()).toEqual(['0.0150', '0.0300'])
    await change({ rateLimit: 100, spendLimit: 300 })
    await refuse(1)
    expect(await told()).toHaveLength(2)
    await change({ spendLimit: 200 })
    await refuse(1)
    await refuse(1)
    expect(await told()).toEqual(['0.0150', '0.0200', '0.0300'])
    await settle(world, turnId, 10)
  })

  contractTest(
    'reaching a limit of a user or client token writes no event',
    async (world) => {
      const userId = await world.createUser()
      expect(await world.admit(userId, { limits: spending('ctok_a', 10) })).toMatchObject({ reason: 'limit' })
      expect(await world.admit(userId, { cost: 501 })).toMatchObject({ reason: 'limit' })
      expect(await reached(world, userId)).toEqual([])
    },
    { limits: { plans: aDay } },
  )
}

const damages: { title: string; change: Tampering; finds: { expected: string; actual: string } }[] = [
  {
    title: 'a window with a higher charge than its tasks and chats cost',
    change: { what: 'window', ownerId: 'key_a', charged: 7, held: 0 },
    finds: { expected: '0.0130', actual: '0.0137' },
  },
  {
    title: 'a window with a lower hold than its open chats have',
    change: { what: 'window', ownerId: 'key_a', charged: 0, held: -7 },
    finds: { expected: '0.0050', actual: '0.0043' },
  },
  {
    title: 'a window above its limit',
    change: { what: 'window-limit', ownerId: 'key_a', limit: 179 },
    finds: { expected: '0.0179', actual: '0.0180' },
  },
]

function describeDamages(contractTest: ContractTest): void {
  for (const { change, finds, title } of damages) {
    contractTest(
      `the ledger check finds ${title}`,
      async (world) => {
        const userId = await world.createUser()
        const limits = spending('key_a', 500)
        await world.completed(userId, { limits })
        await world.failed(userId, { limits })
        await settle(world, await begun(world, userId, { limits }), 30)
        await begun(world, userId, { limits })
        expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
        await world.tamper(change)
        const { differences } = await world.verify()
        expect(differences).toEqual([expect.objectContaining({ userId, ...finds })])
      },
      { tampers: true },
    )
  }
}
