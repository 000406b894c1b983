import type { TaskFailure } from '../../server/store/tasks/task-types.ts'
import { expect } from 'vitest'
import type { ContractTest } from './store-contract.ts'
import { agentError, interrupted, type StoreWorld } from './store-world.ts'

const canceled: TaskFailure = { code: 'CANCELED', message: 'Canceled.', details: '' }
const expired: TaskFailure = { code: 'EXPIRED', message: 'Too late.', details: '' }
const response = { text: '{"summary":"hi"}', payloadId: null }

/** Contract of ending tasks other than by their runs. */
export function describeCancel(contractTest: ContractTest): void {
  const cancel = (world: StoreWorld, of: { userId: string; taskId: string }, mayStopWork = true) =>
    world.store.cancelTask({ ...of, error: canceled, mayStopWork })

  contractTest('canceling a pending task fails it before it starts and refunds it', async (world) => {
    const userId = await world.createUser(1000)
    const taskId = await world.pending(userId, { cost: 333 })
    const before = await world.read(userId, taskId)
    world.clock.advance(7)
    expect(await cancel(world, { userId, taskId }, false)).toEqual({ outcome: 'canceled', isAtWork: false })
    const now = world.clock.now()
    expect(await world.read(userId, taskId)).toEqual({ ...before, status: 'failed', error: canceled, completedAt: now })
    const { transactions } = await world.store.listTransactions({ userId, taskId, limit: 10, offset: 0 })
    expect(transactions).toMatchObject([
      { type: 'task_refund', amount: 333, balanceAfter: 1000, createdAt: now },
      { type: 'task_charge', amount: -333 },
    ])
    expect(await world.store.claimTask(taskId)).toBeUndefined()
    expect(await world.queued()).toEqual([])
    expect(await world.store.listTasks({ userId, status: 'failed', limit: 10, offset: 0 })).toMatchObject({ total: 1 })
    expect(await world.store.listTasks({ userId, status: 'pending', limit: 10, offset: 0 })).toMatchObject({ total: 0 })
  })

  contractTest('cancels a running task only if allowed and ignores its late result', async (world) => {
    const userId = await world.createUser(1000)
    const { id: taskId } = await world.processing(userId)
    expect(await cancel(world, { userId, taskId }, false)).toEqual({ outcome: 'at-work' })
    expect(await world.balance(userId)).toBe(900)
    expect(await cancel(world, { userId, taskId })).toEqual({ outcome: 'canceled', isAtWork: true })
    const ended = await world.everything(userId)
    expect(ended.tasks).toMatchObject([{ status: 'failed', error: canceled, attempt: 1 }])
    for (const attempt of [1, 2]) {
      expect(await world.store.completeTask({ taskId, attempt, response })).toBe(false)
      expect(await world.store.failTask({ taskId, attempt, error: agentError, countsAsAbuse: true })).toBe(false)
      expect(await world.store.interruptTask({ taskId, attempt, error: interrupted, retries: 5 })).toBe('stale')
    }
    expect(await world.everything(userId)).toEqual(ended)
  })

  contractTest('canceling an ended task changes nothing, and canceling twice refunds once', async (world) => {
    const userId = await world.createUser()
    const tasks = [await world.completed(userId), await world.failed(userId)]
    const before = await world.everything(userId)
    for (const { id: taskId } of tasks) expect(await cancel(world, { userId, taskId })).toEqual({ outcome: 'ended' })
    expect(await world.everything(userId)).toEqual(before)
    const { id: taskId } = await world.processing(userId)
    const results = await Promise.all(Array.from({ length: 5 }, () => cancel(world, { userId, taskId })))
    expect(results.map(({ outcome }) => outcome).toSorted()).toEqual(['canceled', 'ended', 'ended', 'ended', 'ended'])
    expect(await world.balance(userId)).toBe(100_000 - 100)
  })

  contractTest("reports another user's task as unknown", async (world) => {
    const [owner, other] = [await world.createUser(), await world.createUser()]
    const taskId = await world.pending(owner)
    const before = await world.everything(owner)
    for (const of of [
      { userId: other, taskId },
      { userId: owner, taskId: 'task_unknown' },
      { userId: 'user_unknown', taskId },
    ]) {
      expect(await cancel(world, of)).toEqual({ outcome: 'unknown' })
    }
    expect(await world.everything(owner)).toEqual(before)
  })

  contractTest(
    'a task waiting for a retry can be canceled like one that is not running, with one refund',
    async (world) => {
      const userId = await world.createUser(1000)
      const { id: taskId } = await world.processing(userId)
      expect(await world.store.interruptTask({ taskId, attempt: 1, error: interrupted, retries: 2 })).toBe('requeued')
      expect(await cancel(world, { userId, taskId }, false)).toEqual({ outcome: 'canceled', isAtWork: false })
      expect(await world.read(userId, taskId)).toMatchObject({ status: 'failed', error: canceled, attempt: 1 })
      expect(await world.store.claimTask(taskId)).toBeUndefined()
      expect(await world.store.interruptTask({ taskId, attempt: 1, error: interrupted, retries: 0 })).toBe('stale')
      expect(await world.balance(userId)).toBe(1000)
    },
  )

  contractTest('a simultaneous claim and cancel either stop the run or prevent it', async (world) => {
    const userId = await world.createUser()
    for (let round = 0; round < 20; round++) {
      const taskId = await world.pending(userId)
      const [first, second] = [() => world.store.claimTask(taskId), () => cancel(world, { userId, taskId })]
      const [claimed, result] =
        round % 2 === 0
          ? await Promise.all([first(), second()])
          : await Promise.all([second(), first()]).then(([b, a]) => [a, b] as const)
      expect(result).toEqual({ outcome: 'canceled', isAtWork: claimed !== undefined })
      expect(await world.read(userId, taskId)).toMatchObject({ status: 'failed', attempt: claimed ? 1 : 0 })
    }
    expect(await world.balance(userId)).toBe(100_000)
  })

  contractTest(
    'canceling running tasks counts toward the abuse block, canceling pending tasks does not',
    async (world) => {
      const userId = await world.createUser()
      for (let i = 0; i < 5; i++) await cancel(world, { userId, taskId: await world.pending(userId) })
      expect(await world.admit(userId)).toMatchObject({ outcome: 'accepted' })
      for (let i = 0; i < 3; i++) await cancel(world, { userId, taskId: (await world.processing(userId)).id })
      expect(await world.admit(userId)).toMatchObject({ outcome: 'refused', reason: 'blocked' })
    },
    { limits: { abuseFailures: 3 } },
  )

  contractTest(
    'a canceled task keeps its slot in the rate window',
    async (world) => {
      const userId = await world.createUser()
      for (let i = 0; i < 2; i++) await cancel(world, { userId, taskId: await world.pending(userId) })
      expect(await world.admit(userId)).toMatchObject({ outcome: 'refused', reason: 'rate' })
    },
    { limits: { executionsPerMinute: 2 } },
  )

  contractTest('a task that does not start in time never starts and expires once', async (world) => {
    const userId = await world.createUser(1000)
    const taskId = await world.pending(userId, { expiresInMs: 5000 })
    expect(await world.read(userId, taskId)).toMatchObject({ expiresAt: world.clock.now() + 5000 })
    const begun = await world.processing(userId, { expiresInMs: 5000 })
    const again = await world.processing(userId, { expiresInMs: 5000 })
    await world.pending(userId)
    await world.store.interruptTask({ taskId: again.id, attempt: 1, error: interrupted, retries: 1 })
    world.clock.advance(4999)
    expect(await world.store.expiringTasks(10)).toEqual([])
    expect(await world.store.expireTask({ taskId, error: expired })).toBe(false)
    world.clock.advance(1)
    expect(await world.store.claimTask(taskId)).toBeUndefined()
    expect(await world.store.expiringTasks(10)).toEqual([taskId])
    const ends = await Promise.all([1, 2, 3].map(() => world.store.expireTask({ taskId, error: expired })))
    expect(ends.filter((isEnded) => isEnded)).toEqual([true])
    expect(await world.read(userId, taskId)).toMatchObject({ status: 'failed', error: expired, startedAt: null })
    expect(await world.store.expiringTasks(10)).toEqual([])
    // A task that started in time does not expire, not even between attempts.
    for (const taskId of [begun.id, again.id]) {
      expect(await world.store.expireTask({ taskId, error: expired })).toBe(false)
    }
    expect(await world.store.claimTask(again.id)).toMatchObject({ attempt: 2 })
    expect(await world.store.completeTask({ taskId: begun.id, attempt: 1, response })).toBe(true)
    expect(await world.balance(userId)).toBe(1000 - 300)
  })
}
