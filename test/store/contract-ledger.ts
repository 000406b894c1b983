import { expect } from 'vitest'
import type { LedgerDifference } from '../../server/store/ledger/ledger-report.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld, Tampering } from './store-world.ts'

type Places = {
  userId: string
  completedId: string
  failedId: string
  chargeId: string
  refundId: string
  creditId: string
}
type Damage = {
  title: string
  change: (places: Places) => Tampering
  finds: (places: Places) => Partial<LedgerDifference>
}

const damages: Damage[] = [
  {
    title: 'a balance that no transaction explains',
    change: ({ userId }) => ({ what: 'balance', userId, by: 1 }),
    finds: ({ userId }) => ({ userId, expected: '9.9900', actual: '9.9901' }),
  },
  {
    title: 'a charge that differs from the cost',
    change: ({ chargeId }) => ({ what: 'transaction-amount', transactionId: chargeId, by: -1 }),
    finds: ({ userId, completedId }) => ({ userId, taskId: completedId, expected: '-0.0100', actual: '-0.0101' }),
  },
  {
    title: 'a refund that differs from the cost',
    change: ({ refundId }) => ({ what: 'transaction-amount', transactionId: refundId, by: 1 }),
    finds: ({ userId, failedId }) => ({ userId, taskId: failedId, expected: '0.0100', actual: '0.0101' }),
  },
  {
    title: 'a task without its charge',
    change: ({ chargeId }) => ({ what: 'transaction-removed', transactionId: chargeId }),
    finds: ({ userId, completedId }) => ({ userId, taskId: completedId, expected: '-0.0100', actual: '0.0000' }),
  },
  {
    title: 'a failed task without its refund',
    change: ({ refundId }) => ({ what: 'transaction-removed', transactionId: refundId }),
    finds: ({ userId, failedId }) => ({ userId, taskId: failedId, expected: '0.0100', actual: '0.0000' }),
  },
  {
    title: 'a duplicate credit',
    change: ({ creditId }) => ({ what: 'transaction-repeated', transactionId: creditId }),
    finds: ({ userId }) => ({ userId, expected: '19.9900', actual: '9.9900' }),
  },
  {
    title: 'a charge whose task is missing',
    change: ({ completedId }) => ({ what: 'task-removed', taskId: completedId }),
    finds: ({ userId, completedId }) => ({ userId, taskId: completedId, expected: '0.0000', actual: '-0.0100' }),
  },
  {
    title: 'a wrong total of tasks',
    change: ({ userId }) => ({ what: 'task-counter', userId, by: 1 }),
    finds: ({ userId }) => ({ userId, expected: '1', actual: '2' }),
  },
  {
    title: 'a wrong total of transactions',
    change: ({ userId }) => ({ what: 'transaction-counter', userId, by: 1 }),
    finds: ({ userId }) => ({ userId, actual: '2' }),
  },
]

/** Creates a user with a completed and a failed task of one cent each, and another user with an untouched ledger. */
async function settle(world: StoreWorld): Promise<Places> {
  await world.failed(await world.createUser())
  const userId = await world.createUser(100_000)
  const { id: completedId } = await world.completed(userId)
  const { id: failedId } = await world.failed(userId)
  const { transactions } = await world.store.listTransactions({ userId, limit: 10, offset: 0 })
  const idOf = (type: string, taskId: string | null) =>
    transactions.find((row) => row.type === type && row.taskId === taskId)!.id
  return {
    userId,
    completedId,
    failedId,
    chargeId: idOf('task_charge', completedId),
    refundId: idOf('task_refund', failedId),
    creditId: idOf('credit', null),
  }
}

export function describeLedger(contractTest: ContractTest): void {
  contractTest('reports an intact ledger with its accounts, balances and transactions', async (world) => {
    const intact = { ok: true, differences: [] }
    expect(await world.store.verifyLedger()).toEqual({ ...intact, accounts: 0, balanceUsd: '0.0000', transactions: 0 })
    await settle(world)
    expect(await world.store.verifyLedger()).toEqual({ ...intact, accounts: 2, balanceUsd: '19.9900', transactions: 7 })
  })

  for (const { title, change, finds } of damages) {
    contractTest(
      `the ledger check finds ${title}`,
      async (world) => {
        const places = await settle(world)
        await world.tamper(change(places))
        const { ok, differences } = await world.verify()
        expect(ok).toBe(false)
        expect(differences).toContainEqual(expect.objectContaining(finds(places)))
        expect(differences.every(({ userId }) => userId === places.userId)).toBe(true)
      },
      { tampers: true },
    )
  }

  contractTest(
    'the store reports a damaged ledger and keeps working',
    async (world) => {
      const { userId } = await settle(world)
      await world.tamper({ what: 'balance', userId, by: 1 })
      const [report] = await Promise.all([world.store.verifyLedger(), world.pending(userId)])
      expect(report.ok).toBe(false)
      expect(report.differences[0]).toMatchObject({ userId, what: expect.stringContaining('balance') })
    },
    { tampers: true },
  )
}
