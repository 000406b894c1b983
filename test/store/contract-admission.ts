import fc from 'fast-check'
import { expect } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import type { ContractTest } from './store-contract.ts'

export function describeAdmission(contractTest: ContractTest): void {
  contractTest('admission writes the task, its charge and the balance together', async (world) => {
    const userId = await world.createUser(1000)
    const draft = world.draft(userId, { cost: 250, connectorIds: ['con_a', 'con_b'], startedBy: 'login' })
    const now = world.clock.now()
    const result = await world.store.admitTask(draft)
    expect(result).toMatchObject({ outcome: 'accepted' })
    expect(await world.read(userId, draft.taskId)).toEqual({
      seq: expect.any(Number),
      id: draft.taskId,
      keyId: null,
      startedBy: 'login',
      userId,
      agentId: 'text',
      endpointId: 'text.summarize',
      status: 'pending',
      attempt: 0,
      cost: 250,
      givenBack: 0,
      meters: null,
      rates: null,
      tokens: null,
      usage: null,
      request: draft.request,
      response: null,
      error: null,
      connectorIds: ['con_a', 'con_b'],
      tags: null,
      progress: null,
      runLog: null,
      prunedAt: null,
      expiresAt: null,
      timeoutMs: null,
      cancelableUntil: null,
      createdAt: now,
      startedAt: null,
      completedAt: null,
    })
    const { transactions, total } = await world.store.listTransactions({ userId, limit: 10, offset: 0 })
    expect(total).toBe(2)
    expect(transactions[0]).toEqual({
      id: expect.stringMatching(/^txn_/),
      userId,
      type: 'task_charge',
      amount: -250,
      balanceAfter: 750,
      taskId: draft.taskId,
      sessionId: null,
      turnId: null,
      topupId: null,
      description: expect.stringContaining('text.summarize'),
      breakdown: null,
      createdAt: now,
    })
    expect(await world.balance(userId)).toBe(750)
  })

  contractTest('distinguishes no connectors from an empty connector list', async (world) => {
    const userId = await world.createUser()
    const none = await world.pending(userId)
    const empty = await world.pending(userId, { connectorIds: [] })
    expect((await world.read(userId, none)).connectorIds).toBeNull()
    expect((await world.read(userId, empty)).connectorIds).toEqual([])
  })

  contractTest('a balance equal to the cost is enough', async (world) => {
    const userId = await world.createUser(100)
    expect(await world.store.foreseeAdmission(world.draft(userId, { cost: 100 }))).toBeUndefined()
    expect(await world.admit(userId, { cost: 100 })).toMatchObject({ outcome: 'accepted' })
    expect(await world.balance(userId)).toBe(0)
  })

  contractTest('rejects a balance one unit short with both amounts and writes nothing', async (world) => {
    const userId = await world.createUser(99)
    const refusal = { outcome: 'refused', reason: 'balance', balance: 99, held: 0, required: 100 }
    await world.expectRefused(world.draft(userId, { cost: 100 }), refusal)
  })

  contractTest('money on hold cannot be spent on a task', async (world) => {
    const userId = await world.createUser(1000)
    await world.tamper({ what: 'hold', userId, held: 901 })
    const refusal = { outcome: 'refused', reason: 'balance', balance: 1000, held: 901, required: 100 }
    await world.expectRefused(world.draft(userId, { cost: 100 }), refusal)
    expect(await world.admit(userId, { cost: 99 })).toMatchObject({ outcome: 'accepted' })
    expect(await world.store.getAccount(userId)).toMatchObject({ balance: 901, held: 901 })
  })

  contractTest('a free task needs no balance, and charges and refunds nothing', async (world) => {
    const userId = await world.createUser(0)
    const { id: taskId } = await world.failed(userId, { cost: 0 })
    const { transactions } = await world.store.listTransactions({ userId, taskId, limit: 10, offset: 0 })
    expect(transactions.map(({ type, amount }) => [type, Math.abs(amount)])).toEqual([
      ['task_refund', 0],
      ['task_charge', 0],
    ])
    expect(await world.balance(userId)).toBe(0)
  })

  contractTest('a stored payload exists only after its task is admitted', async (world) => {
    const userId = await world.createUser(100)
    const payloadId = newId('pay', world.clock.now())
    const request = { text: '{"text":"hel', payloadId }
    await world.expectRefused(world.draft(userId, { cost: 101, request }), { reason: 'balance' })
    expect(await world.store.findPayload(payloadId)).toBeUndefined()
    const taskId = await world.pending(userId, { cost: 100, request })
    expect(await world.store.findPayload(payloadId)).toBeDefined()
    expect((await world.read(userId, taskId)).request).toEqual(request)
  })

  contractTest('payloads are found with their digests and listed in pages, ordered by id', async (world) => {
    const userId = await world.createUser(1000)
    const stored = []
    for (let n = 0; n < 5; n++) {
      const id = newId('pay', world.clock.now())
      const digest = n === 4 ? null : { bytes: 20_000 + n, sha256: `digest ${n}` }
      const text = { text: '{"text":"hel', payloadId: id, ...(digest && { digest }) }
      if (n % 2 === 0) await world.pending(userId, { request: text })
      else {
        const { attempt, id: taskId } = await world.processing(userId)
        expect(await world.store.completeTask({ taskId, attempt, response: text })).toBe(true)
      }
      expect(await world.store.findPayload(id)).toEqual({
        id,
        digest,
        userId,
        sessionId: null,
        mediaType: null,
        filename: null,
        tokens: null,
      })
      stored.push({ id, digest })
      world.clock.advance(1000)
    }
    const first = await world.store.listPayloads({ afterId: '', limit: 3 })
    const rest = await world.store.listPayloads({ afterId: first.at(-1)!.id, limit: 3 })
    expect([first.length, ...first, ...rest]).toEqual([3, ...stored])
    expect(await world.store.findPayload(newId('pay', world.clock.now()))).toBeUndefined()
  })

  contractTest('stores request JSON with any characters unchanged', async (world) => {
    const userId = await world.createUser(1_000_000)
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (value) => {
        const request = { text: JSON.stringify({ value }), payloadId: null }
        const taskId = await world.pending(userId, { request, cost: 1 })
        expect((await world.read(userId, taskId)).request).toEqual(request)
      }),
      { numRuns: 60 },
    )
  })

  contractTest('throws on a duplicate task id and leaves nothing behind', async (world) => {
    const userId = await world.createUser(1000)
    const taskId = await world.pending(userId)
    const before = await world.everything(userId)
    await expect(world.admit(userId, { taskId })).rejects.toThrow()
    expect(await world.everything(userId)).toEqual(before)
  })

  contractTest('throws on a negative cost or unknown user and leaves nothing behind', async (world) => {
    const userId = await world.createUser(1000)
    const before = await world.everything(userId)
    await expect(world.admit(userId, { cost: -1 })).rejects.toThrow()
    await expect(world.admit('user_nobody')).rejects.toThrow()
    expect(await world.everything(userId)).toEqual(before)
    await world.pending(userId)
    expect(await world.everything(userId)).toMatchObject({ list: { total: 1 }, transactions: { total: 2 } })
    expect(await world.store.listTasks({ userId: 'user_nobody', limit: 10, offset: 0 })).toEqual({
      tasks: [],
      total: 0,
    })
  })

  contractTest('accepts exactly as many parallel admissions as the balance covers', async (world) => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          price: fc.integer({ min: 1, max: 100_000 }),
          affordable: fc.integer({ min: 0, max: 12 }),
          excess: fc.integer({ min: 1, max: 12 }),
          rest: fc.nat(),
        }),
        async ({ price, affordable, excess, rest }) => {
          const change = rest % price
          const userId = await world.createUser(price * affordable + change)
          const results = await Promise.all(
            Array.from({ length: affordable + excess }, () => world.admit(userId, { cost: price })),
          )
          expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(affordable)
          const refused = results.filter((result) => result.outcome === 'refused')
          for (const refusal of refused) {
            expect(refusal).toMatchObject({ reason: 'balance', balance: change, required: price })
          }
          expect(await world.balance(userId)).toBe(change)
          expect((await world.store.listTasks({ userId, limit: 100, offset: 0 })).total).toBe(affordable)
        },
      ),
      { numRuns: 40 },
    )
  })

  contractTest('parallel admissions with different prices never overdraw the balance', async (world) => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 2000 }),
        fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 20 }),
        async (balance, prices) => {
          const userId = await world.createUser(balance)
          const results = await Promise.all(prices.map((cost) => world.admit(userId, { cost })))
          const spent = prices.filter((_, index) => results[index]!.outcome === 'accepted')
          expect(await world.balance(userId)).toBe(balance - spent.reduce((sum, cost) => sum + cost, 0))
          expect(await world.balance(userId)).toBeGreaterThanOrEqual(0)
        },
      ),
      { numRuns: 30 },
    )
  })
}
