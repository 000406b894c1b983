import { expect, test } from 'vitest'
import { must } from '../../../server/kernel/assert.ts'
import { newId } from '../../../server/kernel/ids.ts'
import { openPostgresStore } from '../../../server/store/postgres/postgres-store.ts'
import type { SharedStore } from '../../../server/store/shared.ts'
import type { Store } from '../../../server/store/store.ts'
import type { AdmitTask } from '../../../server/store/tasks/task-types.ts'
import { nothingUsed } from '../../../server/store/sessions/turn-endings.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { withPool } from '../../support/postgres-server.ts'
import { describePostgres } from '../postgres-engine.ts'
import { agentError, interrupted, noLimits } from '../store-world.ts'

const leaseSeconds = 20
const leaseMs = leaseSeconds * 1000
const completed = { text: '{}', payloadId: null }

type Node = { store: Store; shared: SharedStore }
type Nodes = { clock: FakeClock; url: string; one: Node; two: Node; userId: string }

await describePostgres('leases of nodes that share a database', (server) => {
  function nodesTest(title: string, body: (nodes: Nodes) => Promise<void>): void {
    test(title, async () => {
      const url = await server.newDatabase()
      const clock = new FakeClock()
      const limits = { ...noLimits, leaseSeconds }
      const open = async () => {
        const store = await openPostgresStore({ databaseUrl: url, limits, clock: () => clock, connectionsMax: 4 })
        return { store, shared: must(store.shared, 'nodes share PostgreSQL') }
      }
      const nodes = [await open(), await open()] as const
      try {
        const made = await nodes[0].store.createUser({ email: 'a@example.com', passwordHash: null, isAdmin: false })
        if (made.outcome === 'refused') throw new Error('the user is new')
        const { userId } = made
        await nodes[0].store.credit({ userId, amount: 100_000, description: 'Test', idempotencyKey: null })
        await body({ clock, url, one: nodes[0], two: nodes[1], userId })
        expect(await nodes[0].store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
      } finally {
        for (const { store } of nodes) await store.close()
        await server.dropDatabase(url)
      }
    })
  }

  nodesTest('each queued task goes to one node, oldest first, even if nodes take tasks in parallel', async (nodes) => {
    const { one, two } = nodes
    const taskIds = await admit(nodes, 40)
    const first = await take(one, 5)
    expect(first).toEqual(taskIds.slice(0, 5))
    const taken = await Promise.all([...Array(8).keys()].map((at) => take([one, two][at % 2]!, 7)))
    expect([...first, ...taken.flat()].toSorted()).toEqual(taskIds.toSorted())
    expect(await take(one, 10)).toEqual([])
    expect(await two.shared.countQueued(1000)).toBe(40)
    expect(await two.shared.countQueued(15)).toBe(15)
  })

  nodesTest('skips canceled tasks and still takes as many as requested', async (nodes) => {
    const { one, two, userId } = nodes
    const taskIds = await admit(nodes, 30)
    const error = { code: 'CANCELED', message: 'Canceled.', details: '' }
    for (const taskId of taskIds.slice(0, 20)) {
      await two.store.cancelTask({ userId, taskId, error, mayStopWork: false })
    }
    expect(await take(one, 4)).toEqual(taskIds.slice(20, 24))
    expect(await take(one, 10)).toEqual(taskIds.slice(24))
  })

  nodesTest('a taken but unclaimed task can be taken again after its lease expires', async (nodes) => {
    const { clock, one, two } = nodes
    const taskIds = await admit(nodes, 3)
    expect(await take(one, 2)).toEqual(taskIds.slice(0, 2))
    clock.advance(leaseMs)
    expect(await take(two, 10)).toEqual(taskIds.slice(2))
    clock.advance(1)
    expect((await Promise.all([take(one, 2), take(two, 2)])).flat().toSorted()).toEqual(taskIds.slice(0, 2).toSorted())
  })

  nodesTest('a running task is abandoned only after its node is silent for a lease', async (nodes) => {
    const { clock, one, two } = nodes
    const [taskId = ''] = await admit(nodes, 1)
    await take(one, 1)
    expect(await one.store.claimTask(taskId)).toMatchObject({ attempt: 1, status: 'processing' })
    const held = { tasks: [{ taskId, attempt: 1 }], turnIds: [] }
    for (let renewed = 0; renewed < 3; renewed++) {
      clock.advance(leaseMs - 1)
      expect(await two.store.abandonedTasks(10)).toEqual([])
      expect(await one.shared.renewLeases(held)).toMatchObject({ taskIds: [], turnIds: [] })
    }
    clock.advance(leaseMs)
    expect(await two.store.abandonedTasks(10)).toEqual([{ id: taskId, endpointId: 'text.count', attempt: 1 }])
  })

  nodesTest('a node mistaken for dead cannot change a task that another took over', async (nodes) => {
    const { clock, one, two, userId } = nodes
    const [taskId = ''] = await admit(nodes, 1)
    await take(one, 1)
    await one.store.claimTask(taskId)
    clock.advance(leaseMs)
    const error = interrupted
    expect(await two.store.interruptTask({ taskId, attempt: 1, error, retries: 1 })).toBe('requeued')
    expect(await one.shared.renewLeases({ tasks: [{ taskId, attempt: 1 }], turnIds: [] })).toMatchObject({
      taskIds: [taskId],
    })
    expect(await take(two, 1)).toEqual([taskId])
    expect(await two.store.claimTask(taskId)).toMatchObject({ attempt: 2 })
    expect(await one.store.completeTask({ taskId, attempt: 1, response: completed })).toBe(false)
    expect(await one.store.failTask({ taskId, attempt: 1, error: agentError, countsAsAbuse: true })).toBe(false)
    expect(await one.store.interruptTask({ taskId, attempt: 1, error, retries: 0 })).toBe('stale')
    expect(await two.store.completeTask({ taskId, attempt: 2, response: completed })).toBe(true)
    expect(await one.store.getTask({ userId, taskId })).toMatchObject({ status: 'completed', attempt: 2 })
  })

  nodesTest('a task of a dead node is refunded once, no matter how many nodes try to settle it', async (nodes) => {
    const { clock, one, two, userId } = nodes
    const [taskId = ''] = await admit(nodes, 1)
    await take(one, 1)
    await one.store.claimTask(taskId)
    clock.advance(leaseMs)
    const end = { taskId, attempt: 1, error: interrupted, retries: 0 }
    const ends = await Promise.all([one, two, one, two].map(({ store }) => store.interruptTask(end)))
    expect(ends.toSorted()).toEqual(['failed', 'stale', 'stale', 'stale'])
    expect(await one.store.getAccount(userId)).toMatchObject({ balance: 100_000 })
    expect(await two.store.abandonedTasks(10)).toEqual([])
  })

  nodesTest('a node that renews its lease at the last moment keeps its tasks', async (nodes) => {
    const { clock, one, two, userId } = nodes
    const [taskId = ''] = await admit(nodes, 1)
    await take(one, 1)
    await one.store.claimTask(taskId)
    clock.advance(leaseMs)
    expect(await two.store.abandonedTasks(10)).toHaveLength(1)
    await one.shared.renewLeases({ tasks: [{ taskId, attempt: 1 }], turnIds: [] })
    for (const retries of [0, 1]) {
      const end = { taskId, attempt: 1, error: interrupted, retries, ifAbandoned: true }
      expect(await two.store.interruptTask(end)).toBe('stale')
    }
    expect(await one.store.completeTask({ taskId, attempt: 1, response: completed })).toBe(true)
    expect(await one.store.getTask({ userId, taskId })).toMatchObject({ status: 'completed' })
  })

  nodesTest('a rejected admission leaves nothing to take', async (nodes) => {
    const { one, userId } = nodes
    const admitted = await one.store.admitTask({ ...draft(nodes), userId, cost: 200_000 })
    expect(admitted).toMatchObject({ outcome: 'refused', reason: 'balance' })
    expect(await take(one, 10)).toEqual([])
  })

  nodesTest('a chat of a dead node is closed for free only after its lease expires', async (nodes) => {
    const { clock, one, two, userId } = nodes
    const sessionId = newId('ses', clock.now())
    await one.store.createSession({ sessionId, userId, agentId: 'talk', metadata: {}, idempotency: null })
    const turn = { userId, sessionId, idempotency: null, required: 10, hold: 100 }
    const turnId = newId('turn', clock.now())
    expect(await one.store.openTurn({ ...turn, turnId })).toMatchObject({ outcome: 'opened' })
    clock.advance(leaseMs - 1)
    expect(await two.store.closeAbandonedTurns()).toBe(0)
    expect(await one.shared.renewLeases({ tasks: [], turnIds: [turnId] })).toMatchObject({ taskIds: [], turnIds: [] })
    clock.advance(leaseMs - 1)
    expect(await two.store.closeAbandonedTurns()).toBe(0)
    expect(await two.store.openTurn({ ...turn, turnId: 'turn_2' })).toMatchObject({ reason: 'busy' })
    clock.advance(1)
    expect(await two.store.closeAbandonedTurns()).toBe(1)
    expect(await one.shared.renewLeases({ tasks: [], turnIds: [turnId] })).toMatchObject({
      taskIds: [],
      turnIds: [turnId],
    })
    const settle = { turnId, outcome: 'finished', cost: 50, breakdown: nothingUsed, exchange: null } as const
    expect(await one.store.settleTurn(settle)).toBeUndefined()
    expect(await one.store.getAccount(userId)).toMatchObject({ balance: 100_000, held: 0 })
    expect(await two.store.openTurn({ ...turn, turnId: 'turn_2' })).toMatchObject({ outcome: 'opened' })
  })

  nodesTest('a chat that cannot be closed does not prevent closing others', async (nodes) => {
    const { clock, one, two, url, userId } = nodes
    for (const n of [1, 2, 3]) {
      const sessionId = newId('ses', clock.now())
      await one.store.createSession({ sessionId, userId, agentId: 'talk', metadata: {}, idempotency: null })
      const turn = { sessionId, userId, idempotency: null, required: 10, hold: 100 }
      expect(await one.store.openTurn({ ...turn, turnId: `turn_${n}` })).toMatchObject({ outcome: 'opened' })
      clock.advance(1)
    }
    const change = (text: string) => withPool(url, (pool) => pool.query(text))
    await change(`ALTER TABLE turns ADD CONSTRAINT stuck CHECK (id <> 'turn_1' OR settled_at IS NULL)`)
    clock.advance(leaseMs)
    expect(await two.store.closeAbandonedTurns()).toBe(2)
    await expect(two.store.closeAbandonedTurns()).rejects.toThrow('stuck')
    await change('ALTER TABLE turns DROP CONSTRAINT stuck')
    expect(await two.store.closeAbandonedTurns()).toBe(1)
    expect(await two.store.getAccount(userId)).toMatchObject({ balance: 100_000, held: 0 })
  })
})

async function take({ store }: Node, limit: number): Promise<string[]> {
  const { tasks } = await store.takeTasks({ limit, after: '', passOver: new Set(), claiming: [] })
  return tasks.map(({ id }) => id)
}

async function admit(nodes: Nodes, count: number): Promise<string[]> {
  const taskIds: string[] = []
  for (let at = 0; at < count; at++) {
    const task = draft(nodes)
    expect(await nodes.one.store.admitTask(task)).toMatchObject({ outcome: 'accepted' })
    taskIds.push(task.taskId)
  }
  return taskIds
}

function draft({ clock, userId }: Nodes): AdmitTask {
  return {
    taskId: newId('task', clock.now()),
    userId,
    agentId: 'text',
    endpointId: 'text.count',
    cost: 100,
    request: { text: '{}', payloadId: null },
    connectorIds: null,
    idempotency: null,
  }
}
