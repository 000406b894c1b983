import { expect } from 'vitest'
import type { ContractTest } from './store-contract.ts'
import { agentError, interrupted, type StoreWorld } from './store-world.ts'

const response = { text: '{"summary":"hi"}', payloadId: null }

async function processingIds({ store }: StoreWorld): Promise<string[]> {
  return (await store.abandonedTasks(1000)).map(({ id }) => id)
}

export function describeRetries(contractTest: ContractTest): void {
  contractTest('requeues an interrupted attempt with a retry left while the task stays processing', async (world) => {
    const userId = await world.createUser(1000)
    const { id: taskId } = await world.processing(userId)
    const { transactions } = await world.everything(userId)
    expect(await world.store.interruptTask({ taskId, attempt: 1, error: interrupted, retries: 1 })).toBe('requeued')
    expect(await world.read(userId, taskId)).toMatchObject({ status: 'processing', attempt: 1, error: null })
    expect(await world.queued()).toEqual([taskId])
    expect(await processingIds(world)).toEqual([])
    expect((await world.everything(userId)).transactions).toEqual(transactions)
    const page = { limit: 10, offset: 0 }
    expect((await world.store.listTasks({ userId, status: 'processing', ...page })).total).toBe(1)
    expect((await world.store.listTasks({ userId, status: 'pending', ...page })).total).toBe(0)
  })

  contractTest('an interrupted attempt cannot write while its task waits for the next one', async (world) => {
    const userId = await world.createUser()
    const { id: taskId } = await world.processing(userId)
    await world.store.interruptTask({ taskId, attempt: 1, error: interrupted, retries: 3 })
    const before = await world.everything(userId)
    const ref = { taskId, attempt: 1 }
    expect(await world.store.completeTask({ ...ref, response })).toBe(false)
    expect(await world.store.failTask({ ...ref, error: agentError, countsAsAbuse: true })).toBe(false)
    expect(await world.store.interruptTask({ ...ref, error: interrupted, retries: 3 })).toBe('stale')
    expect(await world.store.interruptTask({ ...ref, error: interrupted, retries: 0 })).toBe('stale')
    expect(await world.everything(userId)).toEqual(before)
  })

  contractTest('the next claim is a new attempt, and only that one can end the task', async (world) => {
    const userId = await world.createUser(1000)
    const { id: taskId } = await world.processing(userId)
    await world.store.interruptTask({ taskId, attempt: 1, error: interrupted, retries: 1 })
    world.clock.advance(10)
    expect(await world.store.claimTask(taskId)).toMatchObject({ attempt: 2, status: 'processing' })
    expect(await world.store.completeTask({ taskId, attempt: 1, response })).toBe(false)
    expect(await world.store.completeTask({ taskId, attempt: 2, response })).toBe(true)
    expect(await world.read(userId, taskId)).toMatchObject({ status: 'completed', attempt: 2 })
    expect(await world.balance(userId)).toBe(900)
  })

  contractTest('without retries left, an interruption fails the task and refunds it once', async (world) => {
    const userId = await world.createUser(1000)
    const { id: taskId } = await world.processing(userId)
    const retries = 2
    for (const attempt of [1, 2]) {
      expect(await world.store.interruptTask({ taskId, attempt, error: interrupted, retries })).toBe('requeued')
      expect(await world.store.claimTask(taskId)).toMatchObject({ attempt: attempt + 1 })
    }
    expect(await world.store.interruptTask({ taskId, attempt: 3, error: interrupted, retries })).toBe('failed')
    expect(await world.store.interruptTask({ taskId, attempt: 3, error: interrupted, retries })).toBe('stale')
    expect(await world.read(userId, taskId)).toMatchObject({ status: 'failed', attempt: 3, error: interrupted })
    expect(await world.balance(userId)).toBe(1000)
    expect(await world.queued()).toEqual([])
  })

  contractTest('only one of several parallel interruptions of an attempt requeues the task', async (world) => {
    const userId = await world.createUser()
    const { id: taskId } = await world.processing(userId)
    const interruption = { taskId, attempt: 1, error: interrupted, retries: 5 }
    const results = await Promise.all(Array.from({ length: 6 }, () => world.store.interruptTask(interruption)))
    expect(results.filter((result) => result === 'requeued')).toHaveLength(1)
    expect(results.filter((result) => result === 'stale')).toHaveLength(5)
    expect(await world.queued()).toEqual([taskId])
  })

  contractTest('finds exactly the running tasks, with their endpoint and attempt', async (world) => {
    const userId = await world.createUser()
    await world.pending(userId)
    await world.completed(userId)
    await world.failed(userId)
    const { id: waiting } = await world.processing(userId)
    await world.store.interruptTask({ taskId: waiting, attempt: 1, error: interrupted, retries: 1 })
    const { id: second } = await world.processing(userId, { endpointId: 'text.count' })
    await world.store.interruptTask({ taskId: second, attempt: 1, error: interrupted, retries: 1 })
    await world.store.claimTask(second)
    const { id: first } = await world.processing(userId)
    const found = await world.store.abandonedTasks(10)
    expect(found.toSorted((a, b) => a.attempt - b.attempt)).toEqual([
      { id: first, endpointId: 'text.summarize', attempt: 1 },
      { id: second, endpointId: 'text.count', attempt: 2 },
    ])
    expect(await world.store.abandonedTasks(1)).toHaveLength(1)
  })
}
