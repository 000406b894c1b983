import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { newId } from '../../server/kernel/ids.ts'
import type { Units } from '../../server/kernel/money.ts'
import type {
  CreateSession,
  OpenTurn,
  SettledTurn,
  SettleTurn,
  SessionRecord,
} from '../../server/store/sessions/session-types.ts'
import { nothingUsed } from '../../server/store/sessions/turn-endings.ts'
import { ofTier } from '../run/tiers.ts'
import { SimRandom } from '../sim/sim-random.ts'
import type { ContractTest } from './store-contract.ts'
import { draftSession } from './session-contract.ts'
import type { StoreWorld, Tampering } from './store-world.ts'

const all = { limit: 1000, offset: 0 }

async function opened(world: StoreWorld, userId: string, changes: Partial<CreateSession> = {}): Promise<SessionRecord> {
  const created = await world.store.createSession(draftSession(world, userId, changes))
  if (created.outcome !== 'created') throw new Error(`not created: ${created.outcome}`)
  return created.session
}

function draftTurn(world: StoreWorld, { id, userId }: SessionRecord, changes: Partial<OpenTurn> = {}): OpenTurn {
  const turnId = newId('turn', world.clock.now())
  return { turnId, userId, sessionId: id, required: 10, hold: 50, idempotency: null, ...changes }
}

async function begun(world: StoreWorld, session: SessionRecord, changes: Partial<OpenTurn> = {}): Promise<string> {
  const draft = draftTurn(world, session, changes)
  expect(await world.store.openTurn(draft)).toMatchObject({ outcome: 'opened' })
  return draft.turnId
}

function ended(turnId: string, cost: Units): SettleTurn {
  const [message, reply] = ['Hello', 'Hi'].map((content) => ({ content, tokens: 1 }))
  const breakdown = { ...nothingUsed, promptTokens: 1, completionTokens: 1 }
  const exchange = { message: message!, reply: { ...reply!, toolCalls: [] } }
  return { turnId, outcome: 'finished', cost, breakdown, exchange }
}

async function settled(world: StoreWorld, turnId: string, cost: Units): Promise<SettledTurn> {
  return must(await world.store.settleTurn(ended(turnId, cost)), 'the turn is open')
}

async function read(world: StoreWorld, { id: sessionId, userId }: SessionRecord): Promise<SessionRecord> {
  return must(await world.store.getSession({ userId, sessionId }), 'the session exists')
}

function capped(world: StoreWorld, { id: sessionId, userId }: SessionRecord, maxCost?: Units | null) {
  const change = maxCost === undefined ? {} : { maxCost }
  return world.store.updateSession({ userId, sessionId, complete: false, activate: false, metadata: {}, ...change })
}

/** Expects this rejection and unchanged data. */
async function expectRefused(
  world: StoreWorld,
  session: SessionRecord,
  turn: OpenTurn,
  refusal: object,
): Promise<void> {
  const { userId } = session
  const before = [await world.everything(userId), await read(world, session)]
  expect(await world.store.openTurn(turn)).toMatchObject({ outcome: 'refused', ...refusal })
  expect([await world.everything(userId), await read(world, session)]).toEqual(before)
}

/** Contract of turn caps, session budgets and quotes. */
export function describeCaps(contractTest: ContractTest): void {
  describeAdmissionCaps(contractTest)
  describeGrowthCaps(contractTest)
  describeChargeCaps(contractTest)
  describeManyTurns(contractTest)
  describeQuotes(contractTest)
  describeDamages(contractTest)
}

function describeAdmissionCaps(contractTest: ContractTest): void {
  contractTest('a session keeps its cap and the amount it has spent', async (world) => {
    const userId = await world.createUser()
    expect(await opened(world, userId)).toMatchObject({ maxCost: null, spent: 0 })
    const session = await opened(world, userId, { maxCost: 700 })
    expect(session).toMatchObject({ maxCost: 700, spent: 0 })
    expect(await settled(world, await begun(world, session), 30)).toMatchObject({ charged: 30, writtenOff: 0 })
    expect(await read(world, session)).toMatchObject({ maxCost: 700, spent: 30 })
    expect(await capped(world, session)).toMatchObject({ session: { maxCost: 700, spent: 30 } })
    expect(await capped(world, session, 900)).toMatchObject({ session: { maxCost: 900, spent: 30 } })
    expect(await capped(world, session, null)).toMatchObject({ session: { maxCost: null, spent: 30 } })
  })

  contractTest('a cap below the first step admits no turn and writes nothing', async (world) => {
    const userId = await world.createUser()
    for (const maxCost of [0, 9]) {
      const session = await opened(world, userId, { maxCost })
      await expectRefused(world, session, draftTurn(world, session), { reason: 'budget', left: maxCost, required: 10 })
      const other = await opened(world, userId)
      const turn = draftTurn(world, other, { maxCost })
      await expectRefused(world, other, turn, { reason: 'budget', left: maxCost, required: 10 })
    }
    const session = await opened(world, userId, { maxCost: 10 })
    expect(await world.store.openTurn(draftTurn(world, session))).toMatchObject({ outcome: 'opened', held: 10 })
  })

  contractTest('a cap of zero admits a free turn', async (world) => {
    const session = await opened(world, await world.createUser(), { maxCost: 0 })
    const turnId = await begun(world, session, { required: 0, hold: 0, maxCost: 0 })
    expect(await settled(world, turnId, 0)).toMatchObject({ charged: 0, writtenOff: 0 })
  })

  contractTest('a turn holds no more than the balance, its cap and its session cap allow', async (world) => {
    const held = async (balance: Units, ofSession: Units | null, ofTurn: Units | null) => {
      const session = await opened(world, await world.createUser(balance), { maxCost: ofSession })
      const turn = await world.store.openTurn(draftTurn(world, session, { maxCost: ofTurn }))
      return turn.outcome === 'opened' ? turn.held : turn.reason
    }
    // The lowest bound applies: balance, budget or cap.
    expect(await held(1000, null, null)).toBe(50)
    expect(await held(20, 30, 40)).toBe(20)
    expect(await held(30, 20, 40)).toBe(20)
    expect(await held(40, 30, 20)).toBe(20)
    expect(await held(5, 30, 40)).toBe('balance')
    expect(await held(30, 5, 40)).toBe('budget')
    expect(await held(30, 40, 5)).toBe('budget')
    // The budget is reported first, because a turn could wait for balance but not for budget.
    expect(await held(5, 5, 5)).toBe('budget')
  })

  contractTest('parallel first turns of many sessions each respect their own cap', async (world) => {
    const userId = await world.createUser()
    const sessions = await Promise.all(Array.from({ length: 8 }, () => opened(world, userId, { maxCost: 25 })))
    const drafts = sessions.flatMap((session) => [draftTurn(world, session), draftTurn(world, session)])
    const results = await Promise.all(drafts.map((draft) => world.store.openTurn(draft)))
    expect(results.filter(({ outcome }) => outcome === 'opened')).toHaveLength(8)
    expect(results.filter((result) => 'held' in result && result.held === 25)).toHaveLength(8)
    expect(await world.store.getAccount(userId)).toMatchObject({ held: 200 })
  })
}

function describeGrowthCaps(contractTest: ContractTest): void {
  contractTest('a hold can grow up to the caps; further growth is rejected because of the budget', async (world) => {
    const session = await opened(world, await world.createUser(1000), { maxCost: 100 })
    const turnId = await begun(world, session)
    expect(await world.store.growHold({ turnId, by: 500, least: 20 })).toMatchObject({ outcome: 'held', held: 100 })
    const refused = { outcome: 'refused', reason: 'budget' }
    expect(await world.store.growHold({ turnId, by: 5, least: 1 })).toEqual(refused)
    await settled(world, turnId, 70)
    const next = await begun(world, session)
    expect(await world.store.growHold({ turnId: next, by: 1, least: 1 })).toMatchObject({ reason: 'budget' })
    expect(await world.store.growHold({ turnId, by: 1, least: 1 })).toEqual({ outcome: 'refused', reason: 'over' })
    expect(await world.store.growHold({ turnId: 'turn_0', by: 1, least: 1 })).toMatchObject({ reason: 'over' })
  })

  contractTest('a rejected growth names the lower of budget and balance', async (world) => {
    const userId = await world.createUser(60)
    const session = await opened(world, userId)
    const turnId = await begun(world, session, { maxCost: 58 })
    expect(await world.store.growHold({ turnId, by: 20, least: 20 })).toMatchObject({ reason: 'budget' })
    const other = await opened(world, userId)
    await begun(world, other, { required: 8, hold: 8 })
    expect(await world.store.growHold({ turnId, by: 8, least: 8 })).toEqual({ outcome: 'refused', reason: 'balance' })
    expect(await world.store.growHold({ turnId, by: 8, least: 1 })).toMatchObject({ outcome: 'held', held: 52 })
  })

  contractTest('a turn beside another needs its whole hold free; alone it holds what is free', async (world) => {
    const userId = await world.createUser(120)
    const [first, second] = [await opened(world, userId), await opened(world, userId)]
    const alone = await begun(world, first, { required: 10, hold: 80 })
    const money = { required: 10, hold: 41 }
    const refused = { reason: 'balance', balance: 120, held: 80, required: 10 }
    await expectRefused(world, second, draftTurn(world, second, money), refused)
    // The cap also limits the hold, so 40 free units are enough.
    const beside = draftTurn(world, second, { ...money, maxCost: 40 })
    expect(await world.store.openTurn(beside)).toMatchObject({ outcome: 'opened', held: 40 })
    await settled(world, alone, 0)
    await settled(world, beside.turnId, 0)
    const large = draftTurn(world, second, { required: 10, hold: 500 })
    expect(await world.store.openTurn(large)).toMatchObject({ outcome: 'opened', held: 120 })
  })

  contractTest('raising or lowering a cap applies to the next growth of an open turn', async (world) => {
    const session = await opened(world, await world.createUser(), { maxCost: 60 })
    const turnId = await begun(world, session)
    const grow = (by: Units) => world.store.growHold({ turnId, by, least: by })
    expect(await grow(20)).toMatchObject({ reason: 'budget' })
    expect(await capped(world, session, 80)).toMatchObject({ outcome: 'updated' })
    expect(await grow(20)).toMatchObject({ outcome: 'held', held: 70 })
    // A cap cannot be lower than the amount already held under it.
    expect(await capped(world, session, 69)).toEqual({ outcome: 'refused', reason: 'cap-too-low', least: 70 })
    expect(await capped(world, session, 70)).toMatchObject({ outcome: 'updated', session: { maxCost: 70 } })
    expect(await grow(1)).toMatchObject({ reason: 'budget' })
    expect(await capped(world, session, null)).toMatchObject({ session: { maxCost: null } })
    expect(await grow(100)).toMatchObject({ outcome: 'held', held: 170 })
    await settled(world, turnId, 40)
    expect(await capped(world, session, 39)).toEqual({ outcome: 'refused', reason: 'cap-too-low', least: 40 })
    expect(await capped(world, session, 40)).toMatchObject({ session: { maxCost: 40, spent: 40 } })
    await expectRefused(world, session, draftTurn(world, session), { reason: 'budget', left: 0 })
  })

  contractTest('a cap lowered during growth never drops below the held amount', async (world) => {
    const session = await opened(world, await world.createUser(), { maxCost: 1000 })
    const turnId = await begun(world, session)
    const caps = [900, 300, 120, 80, 60, 400]
    await Promise.all(
      caps.flatMap((cap) => [capped(world, session, cap), world.store.growHold({ turnId, by: 30, least: 30 })]),
    )
    const { held } = must(await world.store.getAccount(session.userId), 'the account exists')
    expect((await read(world, session)).maxCost).toBeGreaterThanOrEqual(held)
  })
}

function describeChargeCaps(contractTest: ContractTest): void {
  contractTest('writes off, reports and counts usage beyond a cap', async (world) => {
    const userId = await world.createUser(10_000)
    for (const [ofSession, ofTurn] of [
      [60, null],
      [null, 60],
      [500, 60],
      [60, 500],
    ] as const) {
      const session = await opened(world, userId, { maxCost: ofSession })
      const before = await world.balance(userId)
      // The usage is ten times the hold. Without a cap, the part beyond the hold would be charged from the free
      // balance.
      const turn = await settled(world, await begun(world, session, { maxCost: ofTurn }), 500)
      expect(turn).toEqual({ charged: 60, writtenOff: 440, balance: before - 60 })
      expect(await read(world, session)).toMatchObject({ spent: 60 })
      const { transactions } = await world.store.listTransactions({ userId, sessionId: session.id, ...all })
      expect(transactions).toMatchObject([{ amount: -60, breakdown: { writtenOffUsd: '0.0440' } }])
    }
    const { users } = await world.store.listUsers(all)
    expect(users.find((user) => user.userId === userId)).toMatchObject({ writtenOff: 4 * 440 })
    const free = await opened(world, userId)
    expect(await settled(world, await begun(world, free), 500)).toMatchObject({ charged: 500, writtenOff: 0 })
  })

  contractTest('a failed turn uses up the cap only if it was charged', async (world) => {
    const session = await opened(world, await world.createUser(), { maxCost: 50 })
    for (const cost of [0, 20]) {
      const turnId = await begun(world, session)
      await world.store.settleTurn({ ...ended(turnId, cost), outcome: 'failed', exchange: null })
      expect(await read(world, session)).toMatchObject({ spent: cost })
    }
    await begun(world, session)
    expect(await world.store.closeAbandonedTurns()).toBe(1)
    expect(await read(world, session)).toMatchObject({ spent: 20 })
  })

  contractTest('a turn is settled and counted toward its session only once', async (world) => {
    const session = await opened(world, await world.createUser(), { maxCost: 50 })
    const turnId = await begun(world, session)
    const ends = await Promise.all(Array.from({ length: 5 }, () => world.store.settleTurn(ended(turnId, 30))))
    expect(ends.filter((end) => end !== undefined)).toHaveLength(1)
    expect(await read(world, session)).toMatchObject({ spent: 30 })
    const { userId } = session
    expect(await world.store.deleteSession({ userId, sessionId: session.id })).toMatchObject({ outcome: 'deleted' })
  })
}

/** Cost of a model call in units, for turns that make the maximum number of calls. */
const stepUnits = 7

function describeManyTurns(contractTest: ContractTest): void {
  for (let seed = 1; seed <= ofTier(2, 50); seed++) {
    contractTest(`competing turns use a session cap up to its last step, seed ${seed}`, async (world) => {
      const random = new SimRandom(seed)
      const userId = await world.createUser(1_000_000)
      const maxCost = random.between(stepUnits, 100 * stepUnits)
      const session = await opened(world, userId, { maxCost })
      const { store } = world
      let refusals = 0
      const converse = async () => {
        for (;;) {
          for (let ticks = random.between(0, 3); ticks > 0; ticks--) await new Promise(setImmediate)
          const [required, hold] = [stepUnits, stepUnits * random.between(1, 4)]
          const turn = draftTurn(world, session, { required, hold })
          const answer = await store.openTurn(turn)
          if (answer.outcome === 'refused') {
            if (answer.reason === 'busy') continue
            expect(answer.reason).toBe('budget')
            return void refusals++
          }
          let { held } = answer
          let steps = Math.floor(held / stepUnits)
          for (let more = random.between(0, 3); more > 0; more--) {
            const grown = await store.growHold({ turnId: turn.turnId, by: 3 * stepUnits, least: stepUnits })
            if (grown.outcome === 'held') held = grown.held
            else expect(grown.reason).toBe('budget')
            steps = Math.floor(held / stepUnits)
          }
          expect((await read(world, session)).spent + held).toBeLessThanOrEqual(maxCost)
          // Some providers report ten times the usage that was allowed.
          const end = await settled(world, turn.turnId, steps * stepUnits * (random.chance(0.1) ? 10 : 1))
          expect(end.charged).toBeGreaterThanOrEqual(steps * stepUnits)
          return
        }
      }
      await Promise.all(Array.from({ length: ofTier(60, 200) }, converse))
      const { spent } = await read(world, session)
      expect(spent).toBeLessThanOrEqual(maxCost)
      if (refusals > 0) expect(spent).toBeGreaterThan(maxCost - stepUnits)
      expect(await world.balance(userId)).toBe(1_000_000 - spent)
    })
  }
}

function describeQuotes(contractTest: ContractTest): void {
  contractTest('a quote admits only one task, even with parallel requests', async (world) => {
    const userId = await world.createUser(1000)
    const quoteId = 'nonce-1'
    const results = await Promise.all(Array.from({ length: 6 }, () => world.admit(userId, { quoteId })))
    expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(1)
    expect(results.filter((result) => 'reason' in result && result.reason === 'quote-used')).toHaveLength(5)
    await world.expectRefused(world.draft(userId, { quoteId }), { outcome: 'refused', reason: 'quote-used' })
    expect(await world.admit(userId, { quoteId: 'nonce-2' })).toMatchObject({ outcome: 'accepted' })
    expect(await world.balance(userId)).toBe(800)
  })

  contractTest('a retry with the same key returns the task that used the quote', async (world) => {
    const userId = await world.createUser(1000)
    const idempotency = { key: 'one', bodyHash: 'a' }
    const first = world.draft(userId, { quoteId: 'nonce-1', idempotency })
    expect(await world.store.admitTask(first)).toMatchObject({ outcome: 'accepted' })
    const again = world.draft(userId, { quoteId: 'nonce-1', idempotency })
    expect(await world.store.admitTask(again)).toMatchObject({ outcome: 'replayed', taskId: first.taskId })
  })

  contractTest('a rejected task does not use up its quote', async (world) => {
    const userId = await world.createUser(100)
    const refused = await world.admit(userId, { quoteId: 'nonce-1', cost: 101 })
    expect(refused).toMatchObject({ outcome: 'refused', reason: 'balance' })
    expect(await world.admit(userId, { quoteId: 'nonce-1' })).toMatchObject({ outcome: 'accepted' })
  })

  contractTest('a quote opens only one turn, even with parallel requests', async (world) => {
    const userId = await world.createUser(1000)
    const sessions = await Promise.all(Array.from({ length: 6 }, () => opened(world, userId)))
    const open = (session: SessionRecord) => world.store.openTurn(draftTurn(world, session, { quoteId: 'nonce-1' }))
    const results = await Promise.all(sessions.map(open))
    expect(results.filter(({ outcome }) => outcome === 'opened')).toHaveLength(1)
    expect(results.filter((result) => 'reason' in result && result.reason === 'quote-used')).toHaveLength(5)
    const other = await opened(world, userId)
    await expectRefused(world, other, draftTurn(world, other, { quoteId: 'nonce-1' }), { reason: 'quote-used' })
    expect(await world.store.getAccount(userId)).toMatchObject({ held: 50 })
  })
}

type Places = { sessionId: string; otherId: string; turnId: string; chargeId: string }
type Damage = { title: string; change: (places: Places) => Tampering; finds: { expected: string; actual: string } }

const damages: Damage[] = [
  {
    title: 'a session that records more spending than its charges',
    change: ({ sessionId }) => ({ what: 'session-spent', sessionId, by: 1 }),
    finds: { expected: '0.0030', actual: '0.0031' },
  },
  {
    title: 'a session whose spending and open turn exceed its cap',
    change: ({ sessionId }) => ({ what: 'session-cap', sessionId, maxCost: 79 }),
    finds: { expected: '0.0079', actual: '0.0080' },
  },
  {
    title: 'a turn that holds more than its cap',
    change: ({ turnId }) => ({ what: 'turn-cap', turnId, maxCost: 49 }),
    finds: { expected: '0.0049', actual: '0.0050' },
  },
  {
    title: 'a charge with a different session than its turn',
    change: ({ chargeId, otherId }) => ({ what: 'transaction-session', transactionId: chargeId, sessionId: otherId }),
    finds: { expected: '0.0000', actual: '-0.0030' },
  },
]

function describeDamages(contractTest: ContractTest): void {
  for (const { title, change, finds } of damages) {
    contractTest(
      `the ledger check finds ${title}`,
      async (world) => {
        const userId = await world.createUser(1000)
        const [session, other] = [await opened(world, userId, { maxCost: 80 }), await opened(world, userId)]
        // The charges of a deleted session remain, and the ledger check accepts them.
        const gone = await opened(world, userId, { maxCost: 30 })
        await settled(world, await begun(world, gone), 30)
        await world.store.deleteSession({ userId, sessionId: gone.id })
        await settled(world, await begun(world, session), 30)
        const [charge] = (await world.store.listTransactions({ userId, sessionId: session.id, ...all })).transactions
        const turnId = await begun(world, session, { maxCost: 50 })
        expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
        await world.tamper(change({ sessionId: session.id, otherId: other.id, turnId, chargeId: charge!.id }))
        const { differences } = await world.verify()
        expect(differences).toContainEqual(expect.objectContaining({ userId, ...finds }))
      },
      { tampers: true },
    )
  }
}
