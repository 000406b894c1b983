import { expect } from 'vitest'
import { noPlans } from '../../server/store/limits/account-limits.ts'
import type { Taking } from '../../server/store/tasks/task-types.ts'
import type { ContractTest } from './store-contract.ts'
import { interrupted, type StoreWorld } from './store-world.ts'

const all: Taking = { limit: 100, after: '', passOver: new Set(), claiming: [] }

/** Returns the names of the next tasks. */
async function taken(world: StoreWorld, names: ReadonlyMap<string, string>, of: Partial<Taking> = {}) {
  // Leases expire immediately in these tests.
  world.clock.advance(1)
  const found: string[] = []
  const asked = { ...all, ...of }
  let { after } = asked
  for (;;) {
    const claiming = [...asked.claiming, ...found]
    const next = await world.store.takeTasks({ ...asked, after, limit: asked.limit - found.length, claiming })
    if (next.tasks.length === 0) return found.map((id) => names.get(id))
    found.push(...next.tasks.map(({ id }) => id))
    ;({ after } = next)
  }
}

/**
 * Creates users with this many queued tasks each. Users are named in queue order: `a1` is the first user's first task.
 */
async function waiting(world: StoreWorld, counts: readonly number[]) {
  const userIds = await Promise.all(counts.map(() => world.createUser()))
  const names = new Map<string, string>()
  const ids = new Map<string, string>()
  const add = async (userId: string, name: string) => {
    const id = await world.pending(userId)
    names.set(id, name)
    ids.set(name, id)
  }
  // One extra task per user shows the order in which the store serves the users.
  for (const userId of userIds) await add(userId, userId)
  world.clock.advance(1)
  const { tasks } = await world.store.takeTasks(all)
  const users = tasks.map(({ userId }) => userId)
  for (const { id } of tasks) await world.store.claimTask(id)
  for (const [index, userId] of users.entries()) {
    for (let n = 1; n <= counts[index]!; n++) await add(userId, `${'abcdef'[index]}${n}`)
  }
  return { users, names, ids }
}

export function describeQueue(contractTest: ContractTest): void {
  contractTest('serves users in turn, oldest task first, and skips users without tasks', async (world) => {
    const { names, users } = await waiting(world, [4, 1, 0, 2])
    const order = ['a1', 'b1', 'd1', 'a2', 'd2', 'a3', 'a4']
    expect(await taken(world, names)).toEqual(order)
    for (let limit = 0; limit < order.length; limit++) {
      expect(await taken(world, names, { limit })).toEqual(order.slice(0, limit))
    }
    expect(await taken(world, names, { after: users[0]!, limit: 3 })).toEqual(['b1', 'd1', 'a1'])
    expect(await taken(world, names, { after: users[2]!, limit: 2 })).toEqual(['d1', 'a1'])
    // Start after the last user, and after a user who does not exist.
    expect(await taken(world, names, { after: users[3]!, limit: 1 })).toEqual(['a1'])
    expect(await taken(world, names, { after: `${users[0]}x`, limit: 1 })).toEqual(['b1'])
  })

  contractTest("a task waiting for a retry keeps its place among its user's tasks", async (world) => {
    const { ids, names } = await waiting(world, [3, 1])
    for (const name of ['a1', 'a2']) await world.store.claimTask(ids.get(name)!)
    expect(await taken(world, names)).toEqual(['a3', 'b1'])
    const again = { taskId: ids.get('a2')!, attempt: 1, error: interrupted, retries: 1 }
    expect(await world.store.interruptTask(again)).toBe('requeued')
    expect(await taken(world, names)).toEqual(['a2', 'b1', 'a3'])
  })

  contractTest('skipping one user does not delay other users', async (world) => {
    const { names, users } = await waiting(world, [3, 2, 1, 1])
    const over = (...at: number[]) => ({ passOver: new Set(at.map((index) => users[index]!)) })
    expect(await taken(world, names, over(0))).toEqual(['b1', 'c1', 'd1', 'b2'])
    expect(await taken(world, names, over(1, 2))).toEqual(['a1', 'd1', 'a2', 'a3'])
    expect(await taken(world, names, { ...over(0, 3), after: users[2]!, limit: 2 })).toEqual(['b1', 'c1'])
    expect(await taken(world, names, over(0, 1, 2, 3))).toEqual([])
  })

  contractTest('never takes claimed, ended or unknown tasks', async (world) => {
    const { ids, names, users } = await waiting(world, [2, 2])
    await world.store.claimTask(ids.get('b1')!)
    const error = { code: 'CANCELED', message: 'Canceled.', details: '' }
    await world.store.cancelTask({ userId: users[0]!, taskId: ids.get('a1')!, error, mayStopWork: false })
    expect(await taken(world, names)).toEqual(['a2', 'b2'])
    for (const name of ['a2', 'b2']) await world.store.claimTask(ids.get(name)!)
    expect(await world.store.takeTasks({ ...all, after: 'nobody' })).toEqual({ after: 'nobody', tasks: [] })
  })

  contractTest('does not take an expired task unless it waits for a retry', async (world) => {
    const { ids, names, users } = await waiting(world, [1])
    const add = async (name: string) => {
      const id = await world.pending(users[0]!, { expiresInMs: 1000 })
      names.set(id, name)
      ids.set(name, id)
    }
    for (const name of ['late', 'begun']) await add(name)
    await world.store.claimTask(ids.get('begun')!)
    await world.store.interruptTask({ taskId: ids.get('begun')!, attempt: 1, error: interrupted, retries: 1 })
    expect(await taken(world, names)).toEqual(['a1', 'late', 'begun'])
    world.clock.advance(1000)
    expect(await taken(world, names)).toEqual(['a1', 'begun'])
  })

  const plans = { ...noPlans, named: new Map([['two', { ...noPlans.byDefault, tasksAtWork: 2 }]]) }
  const response = { text: '{}', payloadId: null }

  contractTest(
    "claims no more than a user's limit, even in parallel, without affecting others",
    async (world) => {
      const { ids, names, users } = await waiting(world, [6, 4])
      await world.store.changeAccountLimits({ userId: users[0]!, plan: 'two', changes: {} })
      const claim = async (name: string) => {
        const claimed = await world.store.claimTask(ids.get(name)!)
        return typeof claimed === 'object' ? claimed.isLimited : claimed
      }
      // The extra tasks that showed the users' order are already running.
      expect(await claim('a1')).toBe(true)
      expect(await Promise.all(['a2', 'a3', 'a4'].map(claim))).toEqual(['at-limit', 'at-limit', 'at-limit'])
      expect(await Promise.all(['b1', 'b2', 'b3'].map(claim))).toEqual([false, false, false])
      expect(await world.read(users[0]!, ids.get('a2')!)).toMatchObject({ status: 'pending', attempt: 0 })
      // A task that was not claimed stays in the queue.
      expect(await taken(world, names)).toEqual(['a2', 'b4', 'a3', 'a4', 'a5', 'a6'])
      expect(await world.store.completeTask({ taskId: ids.get('a1')!, attempt: 1, response })).toBe(true)
      expect(await claim('a2')).toBe(true)
      expect(await claim('a3')).toBe('at-limit')
      const error = { code: 'CANCELED', message: 'Canceled.', details: '' }
      await world.store.cancelTask({ userId: users[0]!, taskId: ids.get('a2')!, error, mayStopWork: true })
      await world.store.changeAccountLimits({ userId: users[0]!, changes: { tasksAtWork: 3 } })
      // The order of these claims, and so the rejected one, is undefined.
      const atOnce = await Promise.all(['a3', 'a4', 'a5'].map(claim))
      expect(atOnce.filter((claimed) => claimed === true)).toHaveLength(2)
      expect(atOnce).toContain('at-limit')
    },
    { limits: { plans } },
  )

  contractTest('a task waiting for a retry counts as running and ignores a lowered limit', async (world) => {
    const { ids, users } = await waiting(world, [3])
    const userId = users[0]!
    const claim = (name: string) => world.store.claimTask(ids.get(name)!)
    await world.store.changeAccountLimits({ userId, changes: { tasksAtWork: 3 } })
    for (const name of ['a1', 'a2']) {
      expect(await claim(name)).toMatchObject({ attempt: 1 })
      const again = { taskId: ids.get(name)!, attempt: 1, error: interrupted, retries: 1 }
      expect(await world.store.interruptTask(again)).toBe('requeued')
    }
    expect(await claim('a3')).toBe('at-limit')
    await world.store.changeAccountLimits({ userId, changes: { tasksAtWork: 1 } })
    for (const name of ['a1', 'a2']) expect(await claim(name)).toMatchObject({ attempt: 2 })
    expect(await claim('a3')).toBe('at-limit')
  })

  contractTest('does not take a task again while its claim is in progress', async (world) => {
    const { ids, names } = await waiting(world, [3, 1])
    if (world.store.shared) {
      // On a shared store, leases keep tasks from being taken twice.
      world.clock.advance(1)
      expect((await world.store.takeTasks({ ...all, limit: 2 })).tasks.map(({ id }) => names.get(id))).toEqual([
        'a1',
        'b1',
      ])
      expect((await world.store.takeTasks(all)).tasks.map(({ id }) => names.get(id))).toEqual(['a2', 'a3'])
      return
    }
    const claiming = ['a1', 'b1'].map((name) => ids.get(name)!)
    expect(await taken(world, names, { claiming })).toEqual(['a2', 'a3'])
  })
}
