import { expect } from 'vitest'
import type { CredentialLimits } from '../../server/store/limits/execution-limits.ts'
import type { AccountLimits, Plans } from '../../server/store/limits/account-limits.ts'
import type { CreateKey } from '../../server/store/store.ts'
import { draftSession } from './session-contract.ts'
import { draftKey } from './key-drafts.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const minute = 60_000
const nothing = { executionsPerMinute: null, tasksAtWork: null, tasksWaiting: null, spendPerDay: null, agents: null }
const all = { limit: 100, offset: 0 }

function plansOf(named: Record<string, Partial<AccountLimits>>, byDefault?: string): Plans {
  const plans = new Map(Object.entries(named).map(([name, limits]) => [name, { ...nothing, ...limits }]))
  const limits = (byDefault === undefined ? undefined : plans.get(byDefault)) ?? nothing
  return { named: plans, byDefault: limits, defaultName: byDefault ?? null }
}

const plans = plansOf(
  {
    free: { executionsPerMinute: 2, tasksWaiting: 3, spendPerDay: 500, agents: ['text'] },
    paid: { executionsPerMinute: 5 },
    open: { executionsPerMinute: 0 },
  },
  'free',
)
const ratePlans = plansOf({
  slow: { executionsPerMinute: 2 },
  fast: { executionsPerMinute: 5 },
  open: { executionsPerMinute: 0 },
})

const keyed = (keyId: string, perMinute: number): CredentialLimits => ({
  spend: null,
  rate: { keyId, perMinute },
  onceTokenId: null,
})

function openTurn(world: StoreWorld, userId: string, sessionId: string, limits: CredentialLimits | null = null) {
  const turn = { turnId: `turn_${sessionId}`, required: 10, hold: 50, idempotency: null }
  return world.store.openTurn({ ...turn, userId, sessionId, limits })
}

async function sessionOf(world: StoreWorld, userId: string, agentId = 'text'): Promise<string> {
  const draft = draftSession(world, userId, { agentId })
  expect(await world.store.createSession(draft)).toMatchObject({ outcome: 'created' })
  return draft.sessionId
}

/** Contract of the limits of plans, users and keys. Spending limits are in contract-windows. */
export function describeLimits(contractTest: ContractTest): void {
  describePlans(contractTest)
  describeRates(contractTest)
  describeWaiting(contractTest)
  describeKeyLimits(contractTest)
}

function describePlans(contractTest: ContractTest): void {
  contractTest(
    'a change within the plan rejects limits that allow more than the plan, and changes nothing',
    async (world) => {
      const { store } = world
      const userId = await world.createUser()
      const change = async (changes: Partial<AccountLimits>, plan?: string) => {
        const input = { userId, changes, isWithinPlan: true, ...(plan !== undefined && { plan }) }
        const result = await store.changeAccountLimits(input)
        return result.outcome === 'changed' ? 'changed' : result
      }
      const above = (limit: string) => ({ outcome: 'refused', reason: 'above-plan', limit })
      // The default plan is `free`.
      expect(await change({ tasksAtWork: 1, tasksWaiting: 4 })).toEqual(above('tasksWaiting'))
      expect(await change({ spendPerDay: 501 })).toEqual(above('spendPerDay'))
      expect(await change({ executionsPerMinute: 3 })).toEqual(above('executionsPerMinute'))
      expect(await change({ executionsPerMinute: 0 })).toEqual(above('executionsPerMinute'))
      expect(await change({ agents: ['text', 'code'] })).toEqual(above('agents'))
      expect((await store.readLimits(userId))!.own).toEqual({})
      const own = { executionsPerMinute: 2, tasksAtWork: 9, tasksWaiting: 3, spendPerDay: 500, agents: ['text'] }
      expect(await change(own)).toBe('changed')
      expect(await change({ spendPerDay: 600 }, 'paid')).toBe('changed')
      expect(await change({ tasksAtWork: 1 }, 'free')).toEqual(above('spendPerDay'))
      expect(await store.readLimits(userId)).toMatchObject({ plan: 'paid', own: { ...own, spendPerDay: 600 } })
      expect(await change({ spendPerDay: null }, 'free')).toBe('changed')
      // An admin's limit above the plan stays, unless the plan changes.
      await store.changeAccountLimits({ userId, changes: { tasksWaiting: 99 } })
      expect(await change({ tasksAtWork: 2 })).toBe('changed')
      expect((await store.readLimits(userId))!.own).toMatchObject({ tasksWaiting: 99, tasksAtWork: 2 })
    },
    { limits: { plans } },
  )

  contractTest(
    'a user gets the limits of their plan or the default plan, with individual overrides',
    async (world) => {
      const { store } = world
      const userId = await world.createUser()
      const read = async () => (await store.readLimits(userId))!
      const free = { executionsPerMinute: 2, tasksAtWork: null, tasksWaiting: 3, spendPerDay: 500, agents: ['text'] }
      expect(await read()).toMatchObject({ plan: null, own: {}, limits: free, tasksWaiting: 0, tasksAtWork: 0 })
      expect((await read()).spend).toMatchObject({ ownerId: userId, amount: 500, charged: 0, held: 0, reset: 'day' })
      expect(await store.changeAccountLimits({ userId, plan: 'paid', changes: {} })).toEqual({ outcome: 'changed' })
      const paid = { ...nothing, executionsPerMinute: 5 }
      expect(await read()).toEqual({
        plan: 'paid',
        own: {},
        limits: paid,
        spend: null,
        tasksWaiting: 0,
        tasksAtWork: 0,
        payloads: { limit: 0, bytes: 0, resetsAt: expect.any(Number) },
      })
      await store.changeAccountLimits({ userId, changes: { tasksWaiting: 9, agents: ['code'] } })
      await store.changeAccountLimits({ userId, changes: { spendPerDay: 70 } })
      const own = { tasksWaiting: 9, agents: ['code'], spendPerDay: 70 }
      expect(await read()).toMatchObject({ plan: 'paid', own, limits: { ...paid, ...own } })
      await store.changeAccountLimits({ userId, plan: null, changes: { agents: null, spendPerDay: null } })
      expect(await read()).toMatchObject({ plan: null, own: { tasksWaiting: 9 }, limits: { ...free, tasksWaiting: 9 } })
      await store.changeAccountLimits({ userId, changes: { tasksWaiting: null } })
      expect(await read()).toMatchObject({ own: {}, limits: free })
      expect(await store.changeAccountLimits({ userId: 'user_nobody', plan: 'paid', changes: {} })).toEqual({
        outcome: 'refused',
        reason: 'unknown',
      })
      expect(await store.readLimits('user_nobody')).toBeUndefined()
    },
    { limits: { plans } },
  )

  contractTest(
    'a plan missing from the configuration counts as the default plan and is reported',
    async (world) => {
      const userId = await world.createUser()
      await world.store.changeAccountLimits({ userId, plan: 'gone', changes: {} })
      expect(await world.store.plansInUse()).toEqual(['gone'])
      await world.pending(userId)
      await world.pending(userId)
      await world.expectRefused(world.draft(userId), { reason: 'rate', rate: { limit: 2 } })
      expect(await world.store.readLimits(userId)).toMatchObject({ plan: 'gone', limits: { executionsPerMinute: 2 } })
    },
    { limits: { plans } },
  )

  contractTest(
    'a plan rejects tasks and chats of agents that it does not include',
    async (world) => {
      const userId = await world.createUser()
      const refusal = { outcome: 'refused', reason: 'agent', agentId: 'code' }
      await world.expectRefused(world.draft(userId, { agentId: 'code', endpointId: 'code.run' }), refusal)
      expect(await openTurn(world, userId, await sessionOf(world, userId, 'code'))).toMatchObject(refusal)
      expect(await openTurn(world, userId, await sessionOf(world, userId))).toMatchObject({ outcome: 'opened' })
      expect(await world.admit(userId)).toMatchObject({ outcome: 'accepted' })
      await world.store.changeAccountLimits({ userId, plan: 'paid', changes: {} })
      expect(await world.admit(userId, { agentId: 'code' })).toMatchObject({ outcome: 'accepted' })
    },
    { limits: { plans } },
  )
}

function describeRates(contractTest: ContractTest): void {
  contractTest(
    'the plan overrides the global rate limit, and changes take effect immediately',
    async (world) => {
      const { store } = world
      const userId = await world.createUser()
      const change = (plan: string | null) => store.changeAccountLimits({ userId, plan, changes: {} })
      await change('slow')
      for (let used = 1; used <= 2; used++) {
        expect(await world.admit(userId)).toMatchObject({ outcome: 'accepted', rate: { limit: 2, used } })
        world.clock.advance(1000)
      }
      const start = world.clock.now() - 2000
      await world.expectRefused(world.draft(userId), { reason: 'rate', rate: { limit: 2, used: 2, oldestAt: start } })
      await change('fast')
      expect(await world.rate(userId)).toMatchObject({ limit: 5, used: 2, oldestAt: start })
      for (let used = 3; used <= 5; used++) {
        expect(await world.admit(userId)).toMatchObject({ outcome: 'accepted', rate: { limit: 5, used } })
        world.clock.advance(1000)
      }
      await world.expectRefused(world.draft(userId), { reason: 'rate', rate: { limit: 5, used: 5, oldestAt: start } })
      await change(null)
      await world.expectRefused(world.draft(userId), { reason: 'rate', rate: { limit: 3, used: 3 } })
      // If the window contains more executions than the new limit allows, a slot frees up only when enough of them have
      // left it.
      await change('slow')
      expect(await world.rate(userId)).toMatchObject({ limit: 2, used: 2, oldestAt: start + 3000 })
      world.clock.advance(minute - 3000)
      await world.expectRefused(world.draft(userId), { reason: 'rate', rate: { oldestAt: start + 3000 } })
      await change('open')
      for (let used = 0; used < 8; used++) await world.pending(userId)
      expect(await world.rate(userId)).toMatchObject({ limit: 0, used: 0 })
      await change('fast')
      await world.expectRefused(world.draft(userId), { reason: 'rate', rate: { limit: 5, used: 5 } })
      expect(await openTurn(world, userId, await sessionOf(world, userId))).toMatchObject({ reason: 'rate' })
    },
    { limits: { executionsPerMinute: 3, plans: ratePlans } },
  )

  contractTest(
    'parallel requests cannot exceed the rate limit of the plan, even after a restart',
    async (world) => {
      const userId = await world.createUser()
      await world.store.changeAccountLimits({ userId, plan: 'fast', changes: {} })
      const results = await Promise.all(Array.from({ length: 20 }, () => world.admit(userId)))
      expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(5)
      await world.reopen()
      await world.expectRefused(world.draft(userId), { reason: 'rate', rate: { limit: 5, used: 5 } })
    },
    { limits: { executionsPerMinute: 3, plans: ratePlans } },
  )

  contractTest('a key has its own limit per UTC minute for tasks and chats combined', async (world) => {
    const userId = await world.createUser()
    const limits = keyed('key_a', 3)
    world.clock.advance(minute - (world.clock.now() % minute) - 1)
    await world.pending(userId, { limits })
    world.clock.advance(1)
    const begins = world.clock.now()
    const tasks = await Promise.all(Array.from({ length: 10 }, () => world.admit(userId, { limits })))
    expect(tasks.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(3)
    const full = { outcome: 'refused', reason: 'key-rate', keyRate: { limit: 3, used: 3, resetsAt: begins + minute } }
    world.clock.advance(minute - 1)
    await world.expectRefused(world.draft(userId, { limits }), full)
    const sessionId = await sessionOf(world, userId)
    expect(await openTurn(world, userId, sessionId, limits)).toMatchObject(full)
    // Executions with another key, and without one, are not limited.
    await world.pending(userId, { limits: keyed('key_b', 1) })
    await world.pending(userId)
    world.clock.advance(1)
    expect(await openTurn(world, userId, sessionId, limits)).toMatchObject({ outcome: 'opened' })
    for (let used = 1; used < 3; used++) await world.pending(userId, { limits })
    await world.expectRefused(world.draft(userId, { limits }), { reason: 'key-rate' })
  })

  contractTest("requests rejected for other reasons do not count toward a key's rate limit", async (world) => {
    const userId = await world.createUser(150)
    const limits = keyed('key_a', 2)
    for (let tries = 0; tries < 5; tries++)
      await world.expectRefused(world.draft(userId, { limits, cost: 151 }), { reason: 'balance' })
    await world.pending(userId, { limits, cost: 1 })
    await world.pending(userId, { limits, cost: 1 })
    await world.expectRefused(world.draft(userId, { limits, cost: 1 }), { reason: 'key-rate' })
  })
}

function describeWaiting(contractTest: ContractTest): void {
  contractTest(
    'limits queued tasks to the plan, even for parallel requests, until one starts or ends',
    async (world) => {
      const userId = await world.createUser()
      await world.store.changeAccountLimits({ userId, changes: { executionsPerMinute: 0, spendPerDay: 100_000 } })
      const drafts = Array.from({ length: 12 }, () => world.draft(userId))
      const results = await Promise.all(drafts.map((draft) => world.store.admitTask(draft)))
      const taken = drafts.filter((_, at) => results[at]!.outcome === 'accepted')
      expect(taken).toHaveLength(3)
      const full = { outcome: 'refused', reason: 'waiting', limit: 3 }
      await world.expectRefused(world.draft(userId), full)
      expect(await world.store.readLimits(userId)).toMatchObject({ tasksWaiting: 3, tasksAtWork: 0 })
      await world.store.claimTask(taken[0]!.taskId)
      expect(await world.store.readLimits(userId)).toMatchObject({ tasksWaiting: 2, tasksAtWork: 1 })
      await world.pending(userId)
      await world.expectRefused(world.draft(userId), full)
      const error = { code: 'CANCELED', message: 'Canceled.', details: '' }
      await world.store.cancelTask({ userId, taskId: taken[1]!.taskId, error, mayStopWork: true })
      await world.pending(userId)
      await world.expectRefused(world.draft(userId), full)
      // A chat does not count as a queued task.
      expect(await openTurn(world, userId, await sessionOf(world, userId))).toMatchObject({ outcome: 'opened' })
      await world.store.changeAccountLimits({ userId, changes: { tasksWaiting: 4 } })
      await world.pending(userId)
    },
    { limits: { plans } },
  )
}

function describeKeyLimits(contractTest: ContractTest): void {
  contractTest('a key lookup returns its limits, which can be changed individually', async (world) => {
    const { store } = world
    const userId = await world.createUser()
    const unlimited = { spendLimit: null, spendReset: null, rateLimit: null, agents: null }
    const free = draftKey(userId)
    expect(await store.createKey(free)).toMatchObject(unlimited)
    const common = { plan: null, limits: null }
    expect(await store.findKey(free.tokenHash)).toMatchObject({ limits: null, agents: null, account: common })
    await store.changeAccountLimits({ userId, plan: 'slow', changes: { tasksWaiting: 3 } })
    const changed = { plan: 'slow', limits: '{"tasksWaiting":3}' }
    expect(await store.findKey(free.tokenHash)).toMatchObject({ account: changed })
    const limits = { spendLimit: 500, spendReset: 'day' as const, rateLimit: 7, agents: ['text'] }
    const draft = draftKey(userId, limits)
    const { id } = await store.createKey(draft)
    expect(await store.getKey({ userId, keyId: id })).toMatchObject({ ...limits, countsAs: id })
    const spend = { ownerId: id, amount: 500, reset: 'day' }
    const held = { spend, rate: { keyId: id, perMinute: 7 }, onceTokenId: null }
    expect(await store.findKey(draft.tokenHash)).toMatchObject({ limits: held, agents: ['text'] })
    const update = (changes: object) => store.updateKey({ userId, keyId: id, changes })
    expect(await update({ rateLimit: null })).toMatchObject({ ...limits, rateLimit: null })
    expect(await store.findKey(draft.tokenHash)).toMatchObject({ limits: { spend, rate: null } })
    expect(await update({ spendLimit: null, spendReset: null, agents: null })).toMatchObject(unlimited)
    expect(await store.findKey(draft.tokenHash)).toMatchObject({ limits: null, agents: null })
    expect(await update({})).toMatchObject(unlimited)
    const other = await world.createUser()
    expect(await store.updateKey({ userId: other, keyId: id, changes: { rateLimit: 1 } })).toBeUndefined()
    expect((await store.listKeys({ userId, ...all })).keys).toMatchObject([unlimited, unlimited])
  })

  contractTest('rotated keys share the same limits and spending', async (world) => {
    const { store } = world
    const userId = await world.createUser()
    const draft = draftKey(userId, { spendLimit: 300, spendReset: 'never', rateLimit: 9, agents: ['text'] })
    const first = await store.createKey(draft)
    const limitsOf = async ({ tokenHash }: CreateKey) => (await store.findKey(tokenHash))!.limits
    await world.pending(userId, { limits: await limitsOf(draft) })
    let keyId = first.id
    let last = draft
    for (let rotations = 0; rotations < 2; rotations++) {
      last = draftKey(userId)
      const oldExpiresAt = world.clock.now() + minute
      const rotated = await store.rotateKey({ userId, keyId, key: last, oldExpiresAt })
      expect(rotated).toMatchObject({ spendLimit: 300, rateLimit: 9, agents: ['text'], countsAs: first.id })
      keyId = rotated!.id
    }
    await world.pending(userId, { limits: await limitsOf(last) })
    await world.pending(userId, { limits: await limitsOf(draft) })
    const full = { reason: 'limit', window: { ownerId: first.id, charged: 300 } }
    for (const key of [draft, last])
      expect(await world.admit(userId, { limits: await limitsOf(key) })).toMatchObject(full)
    // The changed limit also applies to the replaced key, which is still valid.
    await store.updateKey({ userId, keyId, changes: { spendLimit: 400 } })
    await world.pending(userId, { limits: await limitsOf(draft) })
    expect(await world.admit(userId, { limits: await limitsOf(last) })).toMatchObject({ reason: 'limit' })
    // Both events name the newest key, because only its limit can be changed.
    const events = (await world.events(userId)).filter(({ type }) => type === 'key.limit_reached')
    expect(events.map(({ body }) => (JSON.parse(body) as { data: { keyId: string } }).data.keyId)).toEqual([
      keyId,
      keyId,
    ])
  })
}
