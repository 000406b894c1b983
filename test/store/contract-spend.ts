import type { SpendStep } from '../../server/store/accounts/account-types.ts'
import { expect } from 'vitest'
import { converse, draftSession } from './session-contract.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const dayMs = 86_400_000
const everything = { afterSeq: 0, beforeSeq: Number.MAX_SAFE_INTEGER, limit: 1000, stepMs: dayMs }

function dayOf(world: StoreWorld): number {
  return Math.floor(world.clock.now() / dayMs)
}

function inOrder(steps: readonly SpendStep[]): SpendStep[] {
  return steps.toSorted((one, other) => one.step - other.step)
}

export function describeSpend(contractTest: ContractTest): void {
  contractTest('sums charges and refunds by UTC day, without credits and adjustments', async (world) => {
    const [userId, other] = [await world.createUser(1_000_000), await world.createUser()]
    world.clock.advance(dayMs - (world.clock.now() % dayMs) - 1)
    const day = dayOf(world)
    await world.completed(userId, { cost: 1 })
    await world.completed(userId, { cost: 20_000 })
    await world.completed(other, { cost: 7 })
    world.clock.advance(1)
    await world.failed(userId, { cost: 300 })
    await world.completed(userId, { cost: 0 })
    const created = await world.store.createSession(draftSession(world, userId))
    if (created.outcome !== 'created') throw new Error(created.outcome)
    await converse(world, created.session, 'hello')
    await world.store.credit({ userId, amount: 55, description: '', idempotencyKey: null })
    await world.store.credit({ userId, amount: -5, description: '', idempotencyKey: null })
    const page = await world.store.readSpend({ userId, ...everything })
    const { transactions } = await world.store.listTransactions({ userId, limit: 100, offset: 0 })
    const charges = transactions.filter(({ type }) => type.endsWith('_charge'))
    expect(inOrder(page.steps)).toEqual([
      { step: day, charged: 20_001, executions: 2, refunded: 0, failures: 0 },
      { step: day + 1, charged: 320, executions: charges.length - 2, refunded: 300, failures: 1 },
    ])
    expect(page.rows).toBe(transactions.length)
  })

  contractTest('sums by hour, and reads ended tasks newest first', async (world) => {
    const [userId, other] = [await world.createUser(1_000_000), await world.createUser()]
    const hourMs = 3_600_000
    world.clock.advance(hourMs - (world.clock.now() % hourMs) - 1)
    const hour = Math.floor(world.clock.now() / hourMs)
    const since = world.clock.now()
    const first = await world.completed(userId, { cost: 5, tags: { team: 'a' } })
    await world.completed(other, { cost: 9 })
    world.clock.advance(1)
    const second = await world.failed(userId, { cost: 6 })
    await world.pending(userId, { cost: 7 })
    const { steps } = await world.store.readSpend({ userId, ...everything, stepMs: hourMs })
    expect(inOrder(steps).map(({ charged, refunded, step }) => [step - hour, charged, refunded])).toEqual([
      [0, 5, 0],
      [1, 13, 6],
    ])
    const newest = { createdAt: Number.MAX_SAFE_INTEGER, seq: 0 }
    const read = (more: object) => world.store.books.readRuns({ userId, since, before: newest, limit: 10, ...more })
    const runs = await read({})
    const idle = { agentId: first.agentId, endpointId: first.endpointId, keyId: null }
    expect(runs).toMatchObject([
      { ...idle, cost: 6, tags: null, createdAt: second.createdAt, completedAt: expect.any(Number) },
      { ...idle, cost: 5, tags: { team: 'a' }, errorCode: null, startedAt: since, completedAt: since },
    ])
    expect(runs[0]!.errorCode).toEqual(expect.any(String))
    expect(await read({ limit: 1 })).toEqual(runs.slice(0, 1))
    expect(await read({ before: runs[0] })).toEqual(runs.slice(1))
    expect(await read({ since: since + 1 })).toEqual(runs.slice(0, 1))
  })

  contractTest('adjacent pages contain every transaction once, newest first', async (world) => {
    const userId = await world.createUser()
    for (let index = 0; index < 10; index++) {
      await world.pending(userId, { cost: index + 1 })
      await world.pending(await world.createUser())
      world.clock.advance(dayMs)
    }
    const whole = await world.store.readSpend({ userId, ...everything })
    expect(whole.rows).toBe(11)
    const read: SpendStep[] = []
    let rows = 0
    let beforeSeq = Number.MAX_SAFE_INTEGER
    let newest = Infinity
    for (;;) {
      const page = await world.store.readSpend({ userId, afterSeq: 0, beforeSeq, limit: 3, stepMs: dayMs })
      if (page.rows === 0) {
        expect(page).toEqual({ steps: [], rows: 0, oldestSeq: null, newestSeq: null, oldestStep: null })
        break
      }
      expect(page.newestSeq!).toBeLessThan(newest)
      expect(page.oldestSeq!).toBeLessThanOrEqual(page.newestSeq!)
      newest = page.oldestSeq!
      beforeSeq = page.oldestSeq!
      rows += page.rows
      read.push(...page.steps)
    }
    expect(rows).toBe(11)
    const charged = (steps: readonly SpendStep[]) => steps.filter((step) => step.charged > 0)
    expect(inOrder(charged(read))).toEqual(inOrder(charged(whole.steps)))
    expect(inOrder(charged(read)).map((step) => step.charged)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  contractTest('reads only transactions after a given transaction', async (world) => {
    const userId = await world.createUser()
    await world.pending(userId, { cost: 5 })
    const { newestSeq } = await world.store.readSpend({ userId, ...everything })
    const since = () => world.store.readSpend({ userId, ...everything, afterSeq: newestSeq! })
    expect(await since()).toMatchObject({ rows: 0, newestSeq: null })
    await world.pending(await world.createUser(), { cost: 9 })
    await world.pending(userId, { cost: 6 })
    expect(await since()).toMatchObject({ rows: 1, steps: [{ charged: 6, executions: 1 }] })
    expect(await world.store.readSpend({ userId: 'user_unknown', ...everything })).toMatchObject({ rows: 0 })
  })
}
