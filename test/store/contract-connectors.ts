import type { TaskFailure } from '../../server/store/tasks/task-types.ts'
import { expect } from 'vitest'
import type { ContractTest } from './store-contract.ts'
import { agentError, interrupted, type StoreWorld } from './store-world.ts'

const canceled: TaskFailure = { code: 'CANCELED', message: 'Canceled.', details: '' }
const response = { text: '{}', payloadId: null }
const connectorIds = ['con_1']
const dayMs = 86_400_000

/** Contract of tasks whose runs may send their answer to the user's connector. */
export function describeConnectorTasks(contractTest: ContractTest): void {
  const cancel = (world: StoreWorld, of: { userId: string; taskId: string }) =>
    world.store.cancelTask({ ...of, error: canceled, mayStopWork: true })

  contractTest('canceling a task that can no longer be canceled changes nothing', async (world) => {
    const userId = await world.createUser(1000)
    const { id: taskId } = await world.processing(userId)
    const attempt = { taskId, attempt: 1 }
    const now = world.clock.now()
    expect(await world.store.forbidCancel(attempt)).toBe(true)
    world.clock.advance(5)
    expect(await world.store.forbidCancel(attempt)).toBe(true)
    const before = await world.everything(userId)
    expect(before.tasks).toMatchObject([{ status: 'processing', cancelableUntil: now }])
    expect(await cancel(world, { userId, taskId })).toEqual({ outcome: 'too-late' })
    expect(await world.everything(userId)).toEqual(before)
    // The task also stays uncancelable while it waits for its next attempt.
    expect(await world.store.interruptTask({ ...attempt, error: interrupted, retries: 1 })).toBe('requeued')
    expect(await cancel(world, { userId, taskId })).toEqual({ outcome: 'too-late' })
    expect(await world.store.claimTask(taskId)).toMatchObject({ attempt: 2, cancelableUntil: now })
    expect(await world.store.completeTask({ taskId, attempt: 2, response })).toBe(true)
    expect(await cancel(world, { userId, taskId })).toEqual({ outcome: 'ended' })
    expect(await world.balance(userId)).toBe(900)
  })

  contractTest('only the running attempt can forbid canceling, and not after a cancel', async (world) => {
    const userId = await world.createUser(1000)
    const { id: taskId } = await world.processing(userId)
    for (const attempt of [0, 2, 1.5]) expect(await world.store.forbidCancel({ taskId, attempt })).toBe(false)
    expect(await world.store.forbidCancel({ taskId: 'task_none', attempt: 1 })).toBe(false)
    expect(await cancel(world, { userId, taskId })).toMatchObject({ outcome: 'canceled' })
    const before = await world.everything(userId)
    expect(await world.store.forbidCancel({ taskId, attempt: 1 })).toBe(false)
    expect(await world.everything(userId)).toEqual(before)
  })

  contractTest('if a cancel and the first call are simultaneous, exactly one of them succeeds', async (world) => {
    const userId = await world.createUser()
    for (let round = 0; round < 12; round++) {
      const { id: taskId } = await world.processing(userId)
      const forbid = () => world.store.forbidCancel({ taskId, attempt: 1 })
      const [isForbidden, { outcome }] =
        round % 2 === 0
          ? await Promise.all([forbid(), cancel(world, { userId, taskId })])
          : await Promise.all([cancel(world, { userId, taskId }), forbid()]).then(([a, b]) => [b, a] as const)
      expect(outcome).toBe(isForbidden ? 'too-late' : 'canceled')
    }
  })

  contractTest(
    'a failure after a call blocks connector tasks for a day, including queued ones',
    async (world) => {
      const userId = await world.createUser(1000)
      const { id: taskId } = await world.processing(userId, { connectorIds })
      const queued = await world.pending(userId, { connectorIds })
      await world.store.forbidCancel({ taskId, attempt: 1 })
      expect(await world.store.claimTask(queued)).toBe('at-limit')
      expect(await world.store.failTask({ taskId, attempt: 1, error: agentError, countsAsAbuse: true })).toBe(true)
      const until = world.clock.now() + dayMs
      expect(await world.admit(userId, { connectorIds })).toMatchObject({ reason: 'connectors-blocked', until })
      expect(await world.store.claimTask(queued)).toBe('blocked')
      expect(await world.read(userId, queued)).toMatchObject({
        status: 'failed',
        attempt: 0,
        error: { code: 'CONNECTORS_BLOCKED', message: expect.stringContaining(new Date(until).toISOString()) },
      })
      expect(await world.store.claimTask(queued)).toBeUndefined()
      expect(await world.balance(userId)).toBe(1000)
      // The block affects neither other users nor tasks without connectors.
      for (const ids of [null, []]) expect(await world.processing(userId, { connectorIds: ids })).toBeTruthy()
      expect(await world.processing(await world.createUser(), { connectorIds })).toBeTruthy()
      world.clock.advance(dayMs - 1)
      expect(await world.admit(userId, { connectorIds })).toMatchObject({ reason: 'connectors-blocked' })
      world.clock.advance(1)
      expect(await world.admit(userId, { connectorIds })).toMatchObject({ outcome: 'accepted' })
    },
    { limits: { connectorBlockSeconds: 86_400, connectorTasksAtWork: 1 } },
  )

  contractTest(
    'only agent failures after a connector call block, until the block is lifted',
    async (world) => {
      const userId = await world.createUser()
      const failed = async ({
        connectorIds: ids = connectorIds as string[] | null,
        hasCalled = true,
        countsAsAbuse = true,
      }) => {
        const { id: taskId } = await world.processing(userId, { connectorIds: ids })
        if (hasCalled) await world.store.forbidCancel({ taskId, attempt: 1 })
        await world.store.failTask({ taskId, attempt: 1, error: agentError, countsAsAbuse })
      }
      await failed({ connectorIds: null })
      await failed({ connectorIds: [] })
      await failed({ hasCalled: false })
      await failed({ countsAsAbuse: false })
      expect(await world.store.getAccount(userId)).toMatchObject({ connectorsBlockedUntil: null })
      await failed({})
      expect(await world.admit(userId, { connectorIds })).toMatchObject({ reason: 'connectors-blocked' })
      expect(await world.store.unblock(userId)).toBe(true)
      expect(await world.store.unblock(userId)).toBe(false)
      expect(await world.admit(userId, { connectorIds })).toMatchObject({ outcome: 'accepted' })
    },
    { limits: { connectorBlockSeconds: 86_400 } },
  )

  contractTest(
    'limits the running connector tasks of a user but not other tasks',
    async (world) => {
      const userId = await world.createUser()
      const first = await world.processing(userId, { connectorIds })
      const second = await world.processing(userId, { connectorIds })
      const [third, retried] = [await world.pending(userId, { connectorIds }), second]
      expect(await world.store.claimTask(third)).toBe('at-limit')
      await world.processing(userId)
      await world.processing(userId, { connectorIds: [] })
      // A task that waits for its next attempt counts as running.
      await world.store.interruptTask({ taskId: retried.id, attempt: 1, error: interrupted, retries: 1 })
      expect(await world.store.claimTask(third)).toBe('at-limit')
      expect(await world.store.claimTask(retried.id)).toMatchObject({ attempt: 2, isLimited: true })
      await world.store.completeTask({ taskId: first.id, attempt: 1, response })
      expect(await world.store.claimTask(third)).toMatchObject({ id: third, isLimited: true })
    },
    { limits: { connectorTasksAtWork: 2 } },
  )
}
