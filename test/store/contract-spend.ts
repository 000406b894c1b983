import type { SpendDay } from '../../server/store/accounts/account-types.ts'
import { expect } from 'vitest'
import { converse, draftSession } from './session-contract.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const dayMs = 86_400_000
const everything = { afterSeq: 0, beforeSeq: Number.MAX_SAFE_INTEGER, limit: 1000 }

function dayOf(world: StoreWorld): number {
  return Math.floor(world.clock.now() / dayMs)
}

function byDay(days: readonly SpendDay[]): SpendDay[] {
  return days.toSorted((one, other) => one.day - other.day)
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
    expect(byDay(page.days)).toEqual([
      { day, charged: 20_001, executions: 2, refunded: 0, failures: 0 },
      { day: day + 1, charged: 320, executions: charges.length - 2, refunded: 300, failures: 1 },
    ])
    expect(page.rows).toBe(transactions.length)
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
    const read: SpendDay[] = []
    let rows = 0
    let beforeSeq = Number.MAX_SAFE_INTEGER
    let newest = Infinity
    for (;;) {
      const page = await world.store.readSpend({ userId, afterSeq: 0, beforeSeq, limit: 3 })
      if (page.rows === 0) {
        expect(page).toEqual({ days: [], rows: 0, oldestSeq: null, newestSeq: null, oldestDay: null })
        break
      }
      expect(page.newestSeq!).toBeLessThan(newest)
      expect(page.oldestSeq!).toBeLessThanOrEqual(page.newestSeq!)
      newest = page.oldestSeq!
      beforeSeq = page.oldestSeq!
      rows += page.rows
      read.push(...page.days)
    }
    expect(rows).toBe(11)
    const charged = (days: readonly SpendDay[]) => days.filter((day) => day.charged > 0)
    expect(byDay(charged(read))).toEqual(byDay(charged(whole.days)))
    expect(byDay(charged(read)).map((day) => day.charged)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  contractTest('reads only transactions after a given transaction', async (world) => {
    const userId = await world.createUser()
    await world.pending(userId, { cost: 5 })
    const { newestSeq } = await world.store.readSpend({ userId, ...everything })
    const since = () => world.store.readSpend({ userId, ...everything, afterSeq: newestSeq! })
    expect(await since()).toMatchObject({ rows: 0, newestSeq: null })
    await world.pending(await world.createUser(), { cost: 9 })
    await world.pending(userId, { cost: 6 })
    expect(await since()).toMatchObject({ rows: 1, days: [{ charged: 6, executions: 1 }] })
    expect(await world.store.readSpend({ userId: 'user_unknown', ...everything })).toMatchObject({ rows: 0 })
  })
}
