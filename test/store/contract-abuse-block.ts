import type { TaskRecord } from '../../server/store/tasks/task-types.ts'
import { expect } from 'vitest'
import type { ContractTest } from './store-contract.ts'
import { agentError, interrupted, type StoreWorld } from './store-world.ts'

const limits = { abuseFailures: 10, abuseWindowSeconds: 600, abuseBlockSeconds: 600, abuseBlockMaxSeconds: 3600 }
const minute = 60_000
const day = 24 * 60 * minute

async function failTimes(world: StoreWorld, userId: string, times: number): Promise<void> {
  for (let failure = 0; failure < times; failure++) await world.failed(userId)
}

async function blockedUntil(world: StoreWorld, userId: string): Promise<number | null> {
  return (await world.store.getAccount(userId))!.blockedUntil
}

/** Expects that the user cannot create tasks for the next `ms`, but can afterwards. */
async function expectBlockOf(world: StoreWorld, userId: string, ms: number): Promise<void> {
  const until = world.clock.now() + ms
  await world.expectRefused(world.draft(userId), { outcome: 'refused', reason: 'blocked', until })
  world.clock.advance(ms - 1)
  await world.expectRefused(world.draft(userId), { outcome: 'refused', reason: 'blocked', until })
  world.clock.advance(1)
  expect(await world.store.foreseeAdmission(world.draft(userId))).toBeUndefined()
}

export function describeAbuseBlock(contractTest: ContractTest): void {
  contractTest(
    'the 10th but not the 9th failure in 10 minutes blocks for 10 minutes',
    async (world) => {
      const [userId, other] = [await world.createUser(), await world.createUser()]
      await failTimes(world, userId, 9)
      expect(await blockedUntil(world, userId)).toBeNull()
      expect(await world.store.foreseeAdmission(world.draft(userId))).toBeUndefined()
      await failTimes(world, userId, 1)
      expect(await blockedUntil(world, userId)).toBe(world.clock.now() + 10 * minute)
      expect(await world.store.foreseeAdmission(world.draft(other))).toBeUndefined()
      await expectBlockOf(world, userId, 10 * minute)
    },
    { limits },
  )

  contractTest(
    'a failure counts for exactly 10 minutes',
    async (world) => {
      const [inside, outside] = [await world.createUser(), await world.createUser()]
      await failTimes(world, outside, 1)
      world.clock.advance(1)
      await failTimes(world, inside, 1)
      world.clock.advance(10 * minute - 1)
      await failTimes(world, inside, 9)
      await failTimes(world, outside, 9)
      expect(await blockedUntil(world, inside)).not.toBeNull()
      expect(await blockedUntil(world, outside)).toBeNull()
    },
    { limits },
  )

  contractTest(
    'failures caused by the service and interruptions do not count',
    async (world) => {
      const userId = await world.createUser()
      await failTimes(world, userId, 9)
      for (let index = 0; index < 10; index++) {
        await world.failed(userId, { countsAsAbuse: false })
        const { id: taskId } = await world.processing(userId)
        expect(await world.store.interruptTask({ taskId, attempt: 1, error: interrupted, retries: 0 })).toBe('failed')
      }
      expect(await blockedUntil(world, userId)).toBeNull()
      await failTimes(world, userId, 1)
      expect(await blockedUntil(world, userId)).not.toBeNull()
    },
    { limits },
  )

  contractTest(
    'a stale failure does not count',
    async (world) => {
      const userId = await world.createUser()
      await failTimes(world, userId, 9)
      const { id: taskId } = await world.completed(userId)
      for (const attempt of [0, 1, 2]) {
        await world.store.failTask({ taskId, attempt, error: agentError, countsAsAbuse: true })
      }
      expect(await blockedUntil(world, userId)).toBeNull()
    },
    { limits },
  )

  contractTest(
    'failures that led to a block do not count again after it',
    async (world) => {
      const userId = await world.createUser()
      await failTimes(world, userId, 10)
      world.clock.advance(10 * minute)
      await failTimes(world, userId, 9)
      expect(await world.store.foreseeAdmission(world.draft(userId))).toBeUndefined()
    },
    { limits: { ...limits, abuseWindowSeconds: 3600 } },
  )

  contractTest(
    'each repeated block doubles, up to an hour, and resets after 24 hours',
    async (world) => {
      const userId = await world.createUser()
      for (const minutes of [10, 20, 40, 60, 60]) {
        await failTimes(world, userId, 10)
        await expectBlockOf(world, userId, minutes * minute)
      }
      await failTimes(world, userId, 10)
      world.clock.advance(day - 1)
      await failTimes(world, userId, 10)
      await expectBlockOf(world, userId, 60 * minute)
      await failTimes(world, userId, 10)
      world.clock.advance(day)
      await failTimes(world, userId, 10)
      await expectBlockOf(world, userId, 10 * minute)
    },
    { limits },
  )

  contractTest(
    'lifting a block takes effect immediately, forgets its failures and reports whether one existed',
    async (world) => {
      const userId = await world.createUser()
      expect(await world.store.unblock(userId)).toBe(false)
      expect(await world.store.unblock('user_unknown')).toBe(false)
      await failTimes(world, userId, 10)
      expect(await world.store.unblock(userId)).toBe(true)
      expect(await blockedUntil(world, userId)).toBeNull()
      expect(await world.store.unblock(userId)).toBe(false)
      await failTimes(world, userId, 9)
      expect(await world.store.foreseeAdmission(world.draft(userId))).toBeUndefined()
      await failTimes(world, userId, 1)
      await expectBlockOf(world, userId, 20 * minute)
      expect(await world.store.unblock(userId)).toBe(false)
    },
    { limits },
  )

  contractTest(
    'lifting a block also forgets failures that occurred during it',
    async (world) => {
      const userId = await world.createUser()
      const accepted: TaskRecord[] = []
      for (let index = 0; index < 5; index++) accepted.push(await world.processing(userId))
      await failTimes(world, userId, 10)
      for (const { id: taskId } of accepted) {
        await world.store.failTask({ taskId, attempt: 1, error: agentError, countsAsAbuse: true })
      }
      expect(await world.store.unblock(userId)).toBe(true)
      await failTimes(world, userId, 9)
      expect(await blockedUntil(world, userId)).toBeNull()
    },
    { limits },
  )

  contractTest(
    'tasks accepted before a block continue, and their failures count toward the next',
    async (world) => {
      const userId = await world.createUser()
      const accepted: TaskRecord[] = []
      for (let index = 0; index < 11; index++) accepted.push(await world.processing(userId))
      await failTimes(world, userId, 10)
      const until = (await blockedUntil(world, userId))!
      world.clock.advance(minute)
      const response = { text: '{}', payloadId: null }
      expect(await world.store.completeTask({ taskId: accepted.pop()!.id, attempt: 1, response })).toBe(true)
      const fail = (task: TaskRecord) =>
        world.store.failTask({ taskId: task.id, attempt: 1, error: agentError, countsAsAbuse: true })
      for (const task of accepted.slice(0, 9)) expect(await fail(task)).toBe(true)
      expect(await blockedUntil(world, userId)).toBe(until)
      expect(await fail(accepted[9]!)).toBe(true)
      expect(await blockedUntil(world, userId)).toBe(world.clock.now() + 20 * minute)
    },
    { limits },
  )

  contractTest(
    'ten simultaneous failures block only once',
    async (world) => {
      const userId = await world.createUser()
      const tasks: TaskRecord[] = []
      for (let index = 0; index < 10; index++) tasks.push(await world.processing(userId))
      await Promise.all(
        tasks.map(({ id: taskId }) =>
          world.store.failTask({ taskId, attempt: 1, error: agentError, countsAsAbuse: true }),
        ),
      )
      await expectBlockOf(world, userId, 10 * minute)
    },
    { limits },
  )

  contractTest('a failure limit of 0 never blocks', async (world) => {
    const userId = await world.createUser()
    await failTimes(world, userId, 30)
    expect(await blockedUntil(world, userId)).toBeNull()
    expect(await world.admit(userId)).toMatchObject({ outcome: 'accepted' })
  })
}
