import fc from 'fast-check'
import { expect } from 'vitest'
import { nothingUsed } from '../../server/store/sessions/turn-endings.ts'
import type { SettleTurn } from '../../server/store/sessions/session-types.ts'
import { begun, draftTurn, spending, spentOf } from './window-calls.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

// The fraction of a unit that an account carries over from chat to chat.

const billionthsPerUnit = 100_000
const exact = (billionths: number) => ({
  cost: Math.floor(billionths / billionthsPerUnit),
  remainder: billionths % billionthsPerUnit,
})
const settling = (turnId: string, billionths: number, outcome: SettleTurn['outcome'] = 'finished'): SettleTurn => ({
  turnId,
  outcome,
  ...exact(billionths),
  breakdown: nothingUsed,
  exchange: null,
})

async function receipts(world: StoreWorld, userId: string) {
  const type = 'chat_charge'
  const { transactions } = await world.store.listTransactions({ userId, type, limit: 100, offset: 0 })
  return transactions.toReversed().map(({ amount, breakdown }) => {
    const { carriedAfterUsd, carriedBeforeUsd, exactUsd, writtenOffUsd } = breakdown!
    return { amount, exactUsd, carriedBeforeUsd, carriedAfterUsd, ...(writtenOffUsd && { writtenOffUsd }) }
  })
}

export function describeCarried(contractTest: ContractTest): void {
  contractTest('carries over chat costs below a unit until they add up to one, as receipts show', async (world) => {
    const userId = await world.createUser(1000)
    for (let n = 0; n < 6; n++) await world.store.settleTurn(settling(await begun(world, userId), 40_000))
    const exactUsd = '0.000040000'
    const [none, some, more, much, all] = ['00', '20', '40', '60', '80'].map((two) => `0.0000${two}000`)
    expect(await receipts(world, userId)).toEqual(
      [
        { amount: -0, exactUsd, carriedBeforeUsd: none, carriedAfterUsd: more },
        { amount: -0, exactUsd, carriedBeforeUsd: more, carriedAfterUsd: all },
        { amount: -1, exactUsd, carriedBeforeUsd: all, carriedAfterUsd: some },
        { amount: -0, exactUsd, carriedBeforeUsd: some, carriedAfterUsd: much },
        { amount: -1, exactUsd, carriedBeforeUsd: much, carriedAfterUsd: none },
        { amount: -0, exactUsd, carriedBeforeUsd: none, carriedAfterUsd: more },
      ].map((one) => ({ ...one, amount: one.amount || 0 })),
    )
    expect(await world.balance(userId)).toBe(998)
    // Another account starts at zero.
    const other = await world.createUser(1000)
    await world.store.settleTurn(settling(await begun(world, other), 99_999))
    expect(await world.balance(other)).toBe(1000)
    expect(await world.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  })

  contractTest('a thousand chats of 0.00004 USD cost exactly 0.0400 USD, even in parallel', async (world) => {
    const userId = await world.createUser(1000)
    for (let batch = 0; batch < 20; batch++) {
      const turns = await Promise.all(Array.from({ length: 50 }, () => begun(world, userId, { required: 1, hold: 1 })))
      const settled = await Promise.all(turns.map((turnId) => world.store.settleTurn(settling(turnId, 40_000))))
      expect(settled.every((one) => one!.charged <= 1 && one!.writtenOff === 0)).toBe(true)
    }
    expect(await world.balance(userId)).toBe(600)
    expect(await world.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  })

  contractTest('carried amounts never push a charge above its rounded-up cost, hold, caps or limits', async (world) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 350_000 }), { minLength: 1, maxLength: 12 }),
        async (costs) => {
          const userId = await world.createUser(100)
          const limits = spending(`key_${userId}`, 100)
          for (const billionths of costs) {
            const hold = Math.ceil(billionths / billionthsPerUnit)
            const turnId = await begun(world, userId, { required: hold, hold, maxCost: hold, limits })
            const settled = (await world.store.settleTurn(settling(turnId, billionths)))!
            expect(settled.charged).toBeLessThanOrEqual(hold)
            expect(settled.writtenOff).toBe(0)
          }
          const total = Math.floor(costs.reduce((sum, cost) => sum + cost, 0) / billionthsPerUnit)
          expect(await world.balance(userId)).toBe(100 - total)
          expect(await spentOf(world, limits)).toEqual([total, 0])
        },
      ),
      { numRuns: 15 },
    )
    expect(await world.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  })

  contractTest('a turn without a receipt leaves the carried amount unchanged', async (world) => {
    const userId = await world.createUser(1000)
    await world.store.settleTurn(settling(await begun(world, userId), 70_000))
    const left = await draftTurn(world, userId)
    await world.store.openTurn(left)
    await world.store.settleTurn(settling(left.turnId, 0, 'failed'))
    await world.store.settleTurn(settling(await begun(world, userId), 20_000, 'failed'))
    expect(await receipts(world, userId)).toHaveLength(1)
    // A failed turn that is charged has a receipt too, so it changes the carry-over.
    await world.store.settleTurn(settling(await begun(world, userId), 40_000, 'failed'))
    await world.store.settleTurn(settling(await begun(world, userId), 0))
    expect((await receipts(world, userId)).slice(1)).toEqual([
      { amount: -1, exactUsd: '0.000040000', carriedBeforeUsd: '0.000070000', carriedAfterUsd: '0.000010000' },
      { amount: 0, exactUsd: '0.000000000', carriedBeforeUsd: '0.000010000', carriedAfterUsd: '0.000010000' },
    ])
    expect(await world.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  })

  contractTest('writes off whole units beyond a cap and carries the fraction over', async (world) => {
    const userId = await world.createUser(1000)
    await world.store.settleTurn(settling(await begun(world, userId), 60_000))
    const turnId = await begun(world, userId, { required: 1, hold: 2, maxCost: 2 })
    expect(await world.store.settleTurn(settling(turnId, 450_000))).toMatchObject({ charged: 2, writtenOff: 3 })
    expect((await receipts(world, userId)).at(-1)).toEqual({
      amount: -2,
      exactUsd: '0.000450000',
      carriedBeforeUsd: '0.000060000',
      carriedAfterUsd: '0.000010000',
      writtenOffUsd: '0.0003',
    })
    expect(await world.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  })
}
