import { expect } from 'vitest'
import type { Credit } from '../../server/store/store.ts'
import type { ContractTest } from './store-contract.ts'
import { agentError } from './store-world.ts'

const credit = (userId: string, amount: number, changes: Partial<Credit> = {}): Credit => {
  return { userId, amount, description: 'Top-up', idempotencyKey: null, ...changes }
}

/** The maximum credit per command of the CLI: 99,999,999,999.9999 USD. */
const mostAtOnce = 999_999_999_999_999

export function describeMoney(contractTest: ContractTest): void {
  contractTest('a credit increases the balance and writes a transaction', async (world) => {
    const userId = await world.createUser(0)
    const result = await world.store.credit(credit(userId, 1234))
    expect(result).toMatchObject({ outcome: 'credited', balance: 1234 })
    const { transactions } = await world.store.listTransactions({ userId, limit: 10, offset: 0 })
    expect(transactions).toEqual([
      {
        id: result.outcome === 'credited' && result.transactionId,
        userId,
        type: 'credit',
        amount: 1234,
        balanceAfter: 1234,
        taskId: null,
        sessionId: null,
        turnId: null,
        topupId: null,
        description: 'Top-up',
        breakdown: null,
        createdAt: world.clock.now(),
      },
    ])
    expect(await world.balance(userId)).toBe(1234)
  })

  contractTest('stores descriptions with any characters unchanged', async (world) => {
    const userId = await world.createUser(0)
    const texts = ['\0', 'a\0b\0', '\u{10FFFF}', '\u{10FFFF}0\0\u{10FFFF}1', '\u0001\uFFFD\uFFFE ☃ "\\u0000"']
    for (const description of texts) await world.store.credit(credit(userId, 1, { description }))
    const { transactions } = await world.store.listTransactions({ userId, limit: 10, offset: 0 })
    expect(transactions.map(({ description }) => description).toReversed()).toEqual(texts)
    expect(await world.store.getTask({ userId, taskId: 'task_\0' })).toBeUndefined()
    expect(await world.store.listTasks({ userId, agentId: 'a\0', limit: 10, offset: 0 })).toMatchObject({ total: 0 })
  })

  contractTest('replays a credit with the same key forever and rejects a different amount', async (world) => {
    const userId = await world.createUser(0)
    const first = await world.store.credit(credit(userId, 500, { idempotencyKey: 'invoice-1' }))
    await world.store.credit(credit(userId, 70))
    world.clock.advance(400 * 86_400_000)
    await world.store.purgeExpired()
    const again = await world.store.credit(credit(userId, 500, { idempotencyKey: 'invoice-1' }))
    expect(again).toEqual({ ...first, outcome: 'replayed' })
    const other = await world.store.credit(credit(userId, 501, { idempotencyKey: 'invoice-1' }))
    expect(other).toEqual({ outcome: 'refused', reason: 'idempotency-conflict' })
    expect(await world.balance(userId)).toBe(570)
    expect((await world.store.listTransactions({ userId, limit: 10, offset: 0 })).total).toBe(2)
  })

  contractTest('the idempotency key of a credit is specific to its user', async (world) => {
    for (const userId of [await world.createUser(0), await world.createUser(0)]) {
      const result = await world.store.credit(credit(userId, 500, { idempotencyKey: 'invoice-1' }))
      expect(result).toMatchObject({ outcome: 'credited', balance: 500 })
    }
  })

  contractTest('parallel credits with the same key add the amount only once', async (world) => {
    const userId = await world.createUser(0)
    const same = credit(userId, 500, { idempotencyKey: 'invoice-1' })
    const results = await Promise.all(Array.from({ length: 8 }, () => world.store.credit(same)))
    expect(results.filter(({ outcome }) => outcome === 'credited')).toHaveLength(1)
    expect(results.filter(({ outcome }) => outcome === 'replayed')).toHaveLength(7)
    expect(await world.balance(userId)).toBe(500)
  })

  contractTest('an adjustment can reduce the balance to zero but not below', async (world) => {
    const userId = await world.createUser(1000)
    expect(await world.store.credit(credit(userId, -1001))).toEqual({ outcome: 'refused', reason: 'balance' })
    expect(await world.balance(userId)).toBe(1000)
    expect(await world.store.credit(credit(userId, -1000))).toMatchObject({ outcome: 'credited', balance: 0 })
    const { transactions, total } = await world.store.listTransactions({
      userId,
      type: 'adjustment',
      limit: 5,
      offset: 0,
    })
    expect(total).toBe(1)
    expect(transactions).toMatchObject([{ type: 'adjustment', amount: -1000, balanceAfter: 0 }])
  })

  contractTest('an adjustment never takes money that is on hold', async (world) => {
    const userId = await world.createUser(1000)
    await world.tamper({ what: 'hold', userId, held: 300 })
    expect(await world.store.credit(credit(userId, -701))).toEqual({ outcome: 'refused', reason: 'balance' })
    expect(await world.store.credit(credit(userId, -700))).toMatchObject({ outcome: 'credited', balance: 300 })
    expect(await world.store.getAccount(userId)).toMatchObject({ balance: 300, held: 300 })
  })

  contractTest('rejects a credit to an unknown user', async (world) => {
    expect(await world.store.credit(credit('user_unknown', 1))).toEqual({ outcome: 'refused', reason: 'unknown-user' })
    expect(await world.store.getAccount('user_unknown')).toBeUndefined()
  })

  contractTest('never credits an amount that is not a whole number of units', async (world) => {
    const userId = await world.createUser(1000)
    const before = await world.everything(userId)
    for (const amount of [0.5, -0.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      const result = await world.store.credit(credit(userId, amount)).catch(() => ({ outcome: 'fault' }))
      expect(result.outcome).toMatch(/^(fault|refused)$/)
    }
    expect(await world.everything(userId)).toEqual(before)
  })

  contractTest('a balance stays within exact integers, even with a refund on top', async (world) => {
    const userId = await world.createUser(1_000_000)
    const { id: taskId } = await world.processing(userId, { cost: 1_000_000 })
    let sum = 0
    for (let amount = mostAtOnce; amount >= 1;) {
      const result = await world.store.credit(credit(userId, amount)).catch(() => ({ outcome: 'refused' }))
      if (result.outcome === 'credited') sum += amount
      else amount = Math.floor(amount / 10)
      expect(Number.isSafeInteger(sum)).toBe(true)
    }
    expect(sum).toBeGreaterThanOrEqual(mostAtOnce)
    expect(await world.balance(userId)).toBe(sum)
    expect(await world.store.failTask({ taskId, attempt: 1, error: agentError, countsAsAbuse: true })).toBe(true)
    expect(await world.balance(userId)).toBe(sum + 1_000_000)
    expect(Number.isSafeInteger(sum + 1_000_000)).toBe(true)
  })

  contractTest('the balance matches the results of parallel credits, adjustments and admissions', async (world) => {
    const userId = await world.createUser(1000)
    const amounts = [300, -900, 50, -400, -200, 700, -1, -5000, 20]
    const [credits, admissions] = await Promise.all([
      Promise.all(amounts.map((amount) => world.store.credit(credit(userId, amount)))),
      Promise.all(amounts.map(() => world.admit(userId, { cost: 90 }))),
    ])
    const added = amounts.filter((_, index) => credits[index]!.outcome === 'credited')
    const spent = admissions.filter(({ outcome }) => outcome === 'accepted').length * 90
    expect(await world.balance(userId)).toBe(1000 + added.reduce((sum, amount) => sum + amount, 0) - spent)
  })
}
