import fc from 'fast-check'
import { expect } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import type { ContractTest } from './store-contract.ts'
import { agentError, interrupted, type StoreWorld } from './store-world.ts'

const response = { text: '{"summary":"hi"}', payloadId: null }

export function describeTaskMoves(contractTest: ContractTest): void {
  contractTest('claiming moves a pending task to processing with its first attempt, once', async (world) => {
    const userId = await world.createUser()
    const taskId = await world.pending(userId)
    const before = await world.read(userId, taskId)
    world.clock.advance(5)
    const claimed = await world.store.claimTask(taskId)
    const begun = { ...before, status: 'processing', attempt: 1, startedAt: world.clock.now() }
    expect(claimed).toEqual({ ...begun, isLimited: false })
    expect(await world.read(userId, taskId)).toEqual(begun)
    expect(await world.store.claimTask(taskId)).toBeUndefined()
    expect(await world.store.claimTask('task_unknown')).toBeUndefined()
    expect(await world.read(userId, taskId)).toEqual(begun)
  })

  contractTest('a task that was read many times shows every later change, to its user only', async (world) => {
    const userId = await world.createUser()
    const other = await world.createUser()
    const taskId = await world.pending(userId)
    const of = { taskId, attempt: 1 }
    const seen = async () => {
      for (let n = 0; n < 3; n++) await world.read(userId, taskId)
      expect(await world.store.getTask({ userId: other, taskId })).toBeUndefined()
      return await world.read(userId, taskId)
    }
    expect(await seen()).toMatchObject({ status: 'pending', attempt: 0 })
    await world.store.claimTask(taskId)
    expect(await seen()).toMatchObject({ status: 'processing', attempt: 1, progress: null, cancelableUntil: null })
    await world.store.noteProgress([{ ...of, progress: '{"fraction":0.5}' }])
    expect(await seen()).toMatchObject({ progress: '{"fraction":0.5}' })
    await world.store.forbidCancel(of)
    expect(await seen()).toMatchObject({ cancelableUntil: world.clock.now() })
    await world.store.completeTask({ ...of, response: { text: '{}', payloadId: null } })
    expect(await seen()).toMatchObject({ status: 'completed', response: { text: '{}' } })
  })

  contractTest('only one of several parallel claims gets the task', async (world) => {
    const taskId = await world.pending(await world.createUser())
    const claims = await Promise.all(Array.from({ length: 8 }, () => world.store.claimTask(taskId)))
    expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1)
  })

  contractTest('completing stores the response and keeps the charge', async (world) => {
    const userId = await world.createUser(1000)
    const task = await world.processing(userId)
    const payloadId = newId('pay', world.clock.now())
    const large = { text: '{"summary":"h', payloadId }
    world.clock.advance(70)
    expect(await world.store.completeTask({ taskId: task.id, attempt: 1, response: large })).toBe(true)
    expect(await world.read(userId, task.id)).toEqual({
      ...task,
      status: 'completed',
      response: large,
      completedAt: world.clock.now(),
    })
    expect(await world.store.findPayload(payloadId)).toBeDefined()
    expect(await world.balance(userId)).toBe(900)
  })

  contractTest('failing stores the error and refunds the charge in full', async (world) => {
    const userId = await world.createUser(1000)
    const task = await world.processing(userId, { cost: 333 })
    world.clock.advance(70)
    expect(await world.store.failTask({ taskId: task.id, attempt: 1, error: agentError, countsAsAbuse: true })).toBe(
      true,
    )
    const now = world.clock.now()
    expect(await world.read(userId, task.id)).toEqual({
      ...task,
      status: 'failed',
      error: agentError,
      completedAt: now,
    })
    const { transactions } = await world.store.listTransactions({ userId, taskId: task.id, limit: 10, offset: 0 })
    expect(transactions).toMatchObject([
      { type: 'task_refund', amount: 333, balanceAfter: 1000, taskId: task.id, createdAt: now },
      { type: 'task_charge', amount: -333, balanceAfter: 667, taskId: task.id },
    ])
    expect(await world.balance(userId)).toBe(1000)
  })

  contractTest('an unclaimed task can neither complete nor fail', async (world) => {
    const userId = await world.createUser()
    const taskId = await world.pending(userId)
    const before = await world.everything(userId)
    for (const attempt of [0, 1]) await expectNoMove(world, { taskId, attempt })
    expect(await world.everything(userId)).toEqual(before)
  })

  contractTest('ignores writes from any attempt but the latest, including their payloads', async (world) => {
    const userId = await world.createUser()
    const { id: taskId } = await world.processing(userId)
    const before = await world.everything(userId)
    const payloadId = newId('pay', world.clock.now())
    for (const attempt of [0, 2, -1, 1.5]) {
      await expectNoMove(world, { taskId, attempt })
      expect(await world.store.completeTask({ taskId, attempt, response: { text: '{', payloadId } })).toBe(false)
    }
    await expectNoMove(world, { taskId: 'task_unknown', attempt: 1 })
    expect(await world.store.findPayload(payloadId)).toBeUndefined()
    expect(await world.everything(userId)).toEqual(before)
  })

  contractTest('an ended task never changes', async (world) => {
    const userId = await world.createUser()
    const ended = [await world.completed(userId), await world.failed(userId)]
    const before = await world.everything(userId)
    world.clock.advance(1000)
    for (const { id: taskId } of ended) {
      for (const attempt of [0, 1, 2]) await expectNoMove(world, { taskId, attempt })
      expect(await world.store.claimTask(taskId)).toBeUndefined()
      expect(await world.store.unblock(userId)).toBe(false)
    }
    expect({ ...(await world.everything(userId)), rate: before.rate }).toEqual(before)
  })

  contractTest('parallel failures of one attempt refund once', async (world) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 1, max: 900 }), async (calls, cost) => {
        const userId = await world.createUser(1000)
        const { id: taskId } = await world.processing(userId, { cost })
        const failure = { taskId, attempt: 1, error: agentError, countsAsAbuse: true }
        const results = await Promise.all(Array.from({ length: calls }, () => world.store.failTask(failure)))
        expect(results.filter(Boolean)).toHaveLength(1)
        expect(await refunds(world, userId, taskId)).toEqual([cost])
        expect(await world.balance(userId)).toBe(1000)
      }),
      { numRuns: 15 },
    )
  })

  contractTest('only one of several parallel ends of an attempt counts, and the balance matches it', async (world) => {
    const { store } = world
    const ends = {
      complete: (taskId: string) => store.completeTask({ taskId, attempt: 1, response }),
      fail: (taskId: string) => store.failTask({ taskId, attempt: 1, error: agentError, countsAsAbuse: true }),
      interrupt: async (taskId: string) =>
        (await store.interruptTask({ taskId, attempt: 1, error: interrupted, retries: 0 })) === 'failed',
    }
    const order = fc.shuffledSubarray(Object.values(ends), { minLength: 2 })
    await fc.assert(
      fc.asyncProperty(order, async (racers) => {
        const userId = await world.createUser(1000)
        const { id: taskId } = await world.processing(userId)
        const results = await Promise.all(racers.map((end) => end(taskId)))
        expect(results.filter(Boolean)).toHaveLength(1)
        const { status, response: stored, error } = await world.read(userId, taskId)
        expect([status === 'completed', status === 'failed']).toEqual([stored !== null, error !== null])
        expect(await refunds(world, userId, taskId)).toEqual(status === 'failed' ? [100] : [])
        expect(await world.balance(userId)).toBe(status === 'failed' ? 1000 : 900)
      }),
      { numRuns: 20 },
    )
  })

  contractTest('timestamps stay in order even if the clock is set back', async (world) => {
    const hour = 3_600_000
    const userId = await world.createUser()
    for (const end of ['complete', 'fail', 'interrupt'] as const) {
      const taskId = await world.pending(userId)
      world.clock.advance(-hour)
      expect(await world.store.claimTask(taskId)).toMatchObject({ attempt: 1 })
      world.clock.advance(-hour)
      expect(await world.store.interruptTask({ taskId, attempt: 1, error: interrupted, retries: 1 })).toBe('requeued')
      world.clock.advance(-hour)
      expect(await world.store.claimTask(taskId)).toMatchObject({ attempt: 2 })
      world.clock.advance(-hour)
      const ref = { taskId, attempt: 2 }
      if (end === 'complete') expect(await world.store.completeTask({ ...ref, response })).toBe(true)
      else if (end === 'fail') {
        expect(await world.store.failTask({ ...ref, error: agentError, countsAsAbuse: true })).toBe(true)
      } else expect(await world.store.interruptTask({ ...ref, error: interrupted, retries: 1 })).toBe('failed')
      const { createdAt, startedAt, completedAt } = await world.read(userId, taskId)
      expect(startedAt).toBeGreaterThanOrEqual(createdAt)
      expect(completedAt).toBeGreaterThanOrEqual(startedAt!)
    }
  })

  contractTest("another user's task is invisible", async (world) => {
    const [userId, other] = [await world.createUser(), await world.createUser()]
    const { id: taskId } = await world.completed(userId)
    expect(await world.store.getTask({ userId: other, taskId })).toBeUndefined()
    expect(await world.store.getTask({ userId, taskId: 'task_unknown' })).toBeUndefined()
    expect(await world.store.listTasks({ userId: other, limit: 10, offset: 0 })).toEqual({ tasks: [], total: 0 })
    const transactions = await world.store.listTransactions({ userId: other, taskId, limit: 10, offset: 0 })
    expect(transactions).toEqual({ transactions: [], total: 0 })
  })
}

async function expectNoMove({ store }: StoreWorld, ref: { taskId: string; attempt: number }): Promise<void> {
  expect(await store.completeTask({ ...ref, response })).toBe(false)
  expect(await store.failTask({ ...ref, error: agentError, countsAsAbuse: true })).toBe(false)
  expect(await store.interruptTask({ ...ref, error: interrupted, retries: 0 })).toBe('stale')
  expect(await store.interruptTask({ ...ref, error: interrupted, retries: 5 })).toBe('stale')
}

async function refunds(world: StoreWorld, userId: string, taskId: string): Promise<number[]> {
  const page = { limit: 100, offset: 0 }
  const { transactions } = await world.store.listTransactions({ userId, taskId, type: 'task_refund', ...page })
  return transactions.map(({ amount }) => amount)
}
