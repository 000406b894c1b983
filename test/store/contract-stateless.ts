import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { newId } from '../../server/kernel/ids.ts'
import type { Units } from '../../server/kernel/money.ts'
import type { OpenTurn, SettleTurn } from '../../server/store/sessions/session-types.ts'
import { nothingUsed } from '../../server/store/sessions/turn-endings.ts'
import { eventIdOf } from '../../server/store/events/event-commands.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'
import { aDay, spending, spentOf } from './window-calls.ts'

const all = { limit: 1000, offset: 0 }

/** Returns input for a turn without a session. Its session id refers to no session. */
function draftTurn(world: StoreWorld, userId: string, changes: Partial<OpenTurn> = {}): OpenTurn {
  const now = world.clock.now()
  const ids = { turnId: newId('turn', now), sessionId: newId('ses', now) }
  return { ...ids, userId, agentId: 'text', required: 10, hold: 50, idempotency: null, ...changes }
}

async function begun(world: StoreWorld, userId: string, changes: Partial<OpenTurn> = {}): Promise<OpenTurn> {
  const draft = draftTurn(world, userId, changes)
  expect(await world.store.openTurn(draft)).toMatchObject({ outcome: 'opened' })
  return draft
}

function ended(turnId: string, cost: Units, outcome: SettleTurn['outcome'] = 'finished'): SettleTurn {
  return { turnId, outcome, cost, breakdown: nothingUsed, exchange: null }
}

async function expectNoSession(world: StoreWorld, { sessionId, userId }: OpenTurn): Promise<void> {
  const { store } = world
  expect(await store.getSession({ userId, sessionId })).toBeUndefined()
  expect(await store.listMessages({ userId, sessionId, ...all })).toBeUndefined()
  expect(await store.listSessions({ userId, ...all })).toMatchObject({ sessions: [], total: 0 })
  expect(await store.readHistory({ sessionId, tokensMax: 1000 })).toEqual({ messages: [], tokens: 0, cachedAt: null })
  expect(await store.deleteSession({ userId, sessionId })).toEqual({ outcome: 'unknown' })
  expect(await store.turnEvents.findOpenTurn({ userId, sessionId })).toBeUndefined()
}

async function expectRefused(world: StoreWorld, draft: OpenTurn, refusal: object): Promise<void> {
  const before = await world.everything(draft.userId)
  expect(await world.store.openTurn(draft)).toMatchObject({ outcome: 'refused', ...refusal })
  expect(await world.everything(draft.userId)).toEqual(before)
}

export function describeStateless(contractTest: ContractTest): void {
  describeMoney(contractTest)
  describeLimits(contractTest)
  describeEnds(contractTest)
}

function describeMoney(contractTest: ContractTest): void {
  contractTest('a turn without a session holds, grows and is charged once, leaving no session', async (world) => {
    const userId = await world.createListener(1000)
    const { store } = world
    const turn = await begun(world, userId)
    const { sessionId, turnId } = turn
    expect(await store.getAccount(userId)).toMatchObject({ balance: 1000, held: 50 })
    expect(await store.growHold({ turnId, by: 30, least: 30 })).toMatchObject({ outcome: 'held', held: 80 })
    expect(await store.getAccount(userId)).toMatchObject({ balance: 1000, held: 80 })
    await expectNoSession(world, turn)
    expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
    const ends = await Promise.all(Array.from({ length: 5 }, () => store.settleTurn(ended(turnId, 70))))
    expect(ends.filter((end) => end !== undefined)).toEqual([{ charged: 70, balance: 930, writtenOff: 0 }])
    expect(await store.getAccount(userId)).toMatchObject({ balance: 930, held: 0 })
    const { transactions } = await store.listTransactions({ userId, sessionId, ...all })
    expect(transactions).toMatchObject([{ type: 'chat_charge', amount: -70, balanceAfter: 930, sessionId }])
    const found = { agentId: 'text', outcome: 'finished', cost: 70 }
    expect(await store.turnEvents.findTurn({ userId, turnId })).toMatchObject(found)
    const told = (await world.events(userId)).find(({ id }) => id === eventIdOf(turnId))
    expect(told?.type).toBe('chat.settled')
    await expectNoSession(world, turn)
    expect(await store.growHold({ turnId, by: 1, least: 1 })).toEqual({ outcome: 'refused', reason: 'over' })
  })

  contractTest('parallel turns without a session are limited only by the balance', async (world) => {
    const userId = await world.createUser(100)
    const results = await Promise.all(
      Array.from({ length: 6 }, () => world.store.openTurn(draftTurn(world, userId, { required: 30, hold: 30 }))),
    )
    expect(results.filter(({ outcome }) => outcome === 'opened')).toHaveLength(3)
    expect(results.filter((result) => 'reason' in result && result.reason === 'balance')).toHaveLength(3)
    expect(await world.store.getAccount(userId)).toMatchObject({ balance: 100, held: 90 })
    await expectRefused(world, draftTurn(world, userId, { required: 30 }), { reason: 'balance', held: 90 })
    expect(await world.store.closeAbandonedTurns()).toBe(3)
  })

  contractTest(
    'the ledger check covers turns without a session',
    async (world) => {
      const userId = await world.createUser(1000)
      const { turnId } = await begun(world, userId, { maxCost: 50 })
      await world.tamper({ what: 'turn-cap', turnId, maxCost: 49 })
      const { differences } = await world.verify()
      expect(differences).toContainEqual(expect.objectContaining({ userId, expected: '0.0049', actual: '0.0050' }))
    },
    { tampers: true },
  )
}

function describeLimits(contractTest: ContractTest): void {
  contractTest('a turn without a session respects its own cap', async (world) => {
    const userId = await world.createUser(1000)
    await expectRefused(world, draftTurn(world, userId, { maxCost: 9 }), { reason: 'budget', left: 9, required: 10 })
    const { turnId } = await begun(world, userId, { maxCost: 60, hold: 500 })
    expect(await world.store.getAccount(userId)).toMatchObject({ held: 60 })
    expect(await world.store.growHold({ turnId, by: 1, least: 1 })).toMatchObject({ reason: 'budget' })
    expect(await world.store.settleTurn(ended(turnId, 500))).toEqual({ charged: 60, balance: 940, writtenOff: 440 })
    const other = await begun(world, userId, { maxCost: 60 })
    expect(await world.store.growHold({ ...other, by: 20, least: 5 })).toMatchObject({ outcome: 'held', held: 60 })
  })

  contractTest(
    "a turn without a session counts toward its user's and key's spending limits",
    async (world) => {
      const userId = await world.createUser()
      const limits = spending('key_1', 200)
      const { turnId } = await begun(world, userId, { limits, hold: 150 })
      expect(await spentOf(world, limits)).toEqual([0, 150])
      await expectRefused(world, draftTurn(world, userId, { limits, required: 51 }), { reason: 'limit' })
      expect(await world.store.growHold({ turnId, by: 80, least: 51 })).toMatchObject({ reason: 'limit' })
      expect(await world.store.settleTurn(ended(turnId, 120))).toMatchObject({ charged: 120 })
      expect(await spentOf(world, limits)).toEqual([120, 0])
      expect((await world.store.readLimits(userId))?.spend).toMatchObject({ charged: 120, held: 0, amount: 500 })
      await begun(world, userId, { required: 380, hold: 380 })
      await expectRefused(world, draftTurn(world, userId, { required: 1 }), { reason: 'limit' })
    },
    { limits: { plans: aDay } },
  )

  contractTest(
    'a turn without a session counts toward the rate limit',
    async (world) => {
      const userId = await world.createUser()
      for (const used of [1, 2]) {
        const opened = await world.store.openTurn(draftTurn(world, userId))
        expect(opened).toMatchObject({ outcome: 'opened', rate: { limit: 2, used } })
      }
      await expectRefused(world, draftTurn(world, userId), { reason: 'rate', rate: { used: 2 } })
      world.clock.advance(60_000)
      await begun(world, userId)
    },
    { limits: { executionsPerMinute: 2 } },
  )

  contractTest('plan agents and key rate limits apply to turns without a session', async (world) => {
    const userId = await world.createUser()
    await world.store.changeAccountLimits({ userId, changes: { agents: ['code'] } })
    await expectRefused(world, draftTurn(world, userId), { reason: 'agent', agentId: 'text' })
    const limits = { spend: null, rate: { keyId: 'key_1', perMinute: 1 }, onceTokenId: null }
    await begun(world, userId, { agentId: 'code', limits })
    await expectRefused(world, draftTurn(world, userId, { agentId: 'code', limits }), { reason: 'key-rate' })
  })
}

function describeEnds(contractTest: ContractTest): void {
  contractTest('an abandoned turn without a session fails once, without a charge', async (world) => {
    const userId = await world.createUser(1000)
    const limits = spending('key_1', 200)
    const turn = await begun(world, userId, { limits })
    await world.reopen()
    const { store } = world
    expect(await store.closeAbandonedTurns()).toBe(1)
    expect(await store.closeAbandonedTurns()).toBe(0)
    expect(await store.settleTurn(ended(turn.turnId, 20))).toBeUndefined()
    expect(await store.getAccount(userId)).toMatchObject({ balance: 1000, held: 0 })
    expect(await spentOf(world, limits)).toEqual([0, 0])
    expect(await store.turnEvents.findTurn(turn)).toMatchObject({ outcome: 'failed', cost: 0 })
    expect(await store.listTransactions({ userId, sessionId: turn.sessionId, ...all })).toMatchObject({ total: 0 })
    await expectNoSession(world, turn)
  })

  contractTest('a failed turn without a session is charged exactly what it used', async (world) => {
    const userId = await world.createUser(1000)
    for (const cost of [0, 20]) {
      const { sessionId, turnId } = await begun(world, userId)
      expect(await world.store.settleTurn(ended(turnId, cost, 'failed'))).toMatchObject({ charged: cost })
      const { total } = await world.store.listTransactions({ userId, sessionId, ...all })
      expect(total).toBe(cost === 0 ? 0 : 1)
    }
    expect(await world.balance(userId)).toBe(980)
  })

  contractTest('an idempotency key opens one turn without a session per day, even in parallel', async (world) => {
    const [userId, other] = [await world.createUser(1000), await world.createUser(1000)]
    const idempotency = { key: 'one', bodyHash: 'a' }
    const drafts = Array.from({ length: 5 }, () => draftTurn(world, userId, { idempotency }))
    const results = await Promise.all(drafts.map((draft) => world.store.openTurn(draft)))
    const at = results.findIndex(({ outcome }) => outcome === 'opened')
    const conflicts = results.filter((result) => 'reason' in result && result.reason === 'idempotency-conflict')
    expect(conflicts).toHaveLength(4)
    const { turnId } = must(drafts[at], 'one is opened')
    const find = () => world.store.findIdempotent({ userId, operation: 'chat', key: 'one' })
    expect(await find()).toEqual({ bodyHash: 'a', resourceId: turnId })
    await world.store.settleTurn(ended(turnId, 20))
    await expectRefused(world, draftTurn(world, userId, { idempotency }), { reason: 'idempotency-conflict' })
    await begun(world, other, { idempotency })
    world.clock.advance(86_400_000)
    expect(await find()).toBeUndefined()
    await begun(world, userId, { idempotency })
  })
}
