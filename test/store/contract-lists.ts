import { taskStatuses, taskOutcomes, type ExportTasks } from '../../server/store/tasks/task-types.ts'
import { expect } from 'vitest'
import type { ListPlace } from '../../server/store/list-place.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const all = { limit: 1000, offset: 0 }
const agents = ['text', 'image', 'sound']

/** Creates tasks of three agents in all four states, two per millisecond. Returns their ids in order of admission. */
async function fill(world: StoreWorld, userId: string): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < 24; index++) {
    const changes = { agentId: agents[index % 3]!, cost: index }
    const status = taskStatuses[Math.floor(index / 3) % 4]!
    if (status === 'pending') ids.push(await world.pending(userId, changes))
    else ids.push((await world[status](userId, changes)).id)
    if (index % 2 === 1) world.clock.advance(1)
  }
  return ids
}

export function describeLists(contractTest: ContractTest): void {
  contractTest('lists tasks newest first, and by reverse admission order within a millisecond', async (world) => {
    const userId = await world.createUser()
    const ids = await fill(world, userId)
    await fill(world, await world.createUser())
    const { tasks, total } = await world.store.listTasks({ userId, ...all })
    expect(tasks.map(({ id }) => id)).toEqual(ids.toReversed())
    expect(total).toBe(24)
    for (const item of tasks) {
      const { agentId, endpointId, status, tags, cost, givenBack, createdAt, startedAt, completedAt, error } =
        await world.read(userId, item.id)
      const errorCode = error?.code ?? null
      expect(item).toEqual({
        id: item.id,
        keyId: null,
        startedBy: null,
        errorMessage: null,
        preview: null,
        agentId,
        endpointId,
        status,
        tags,
        cost,
        givenBack,
        maxCost: null,
        createdAt,
        startedAt,
        completedAt,
        errorCode,
      })
    }
  })

  contractTest('filters tasks by status, agent or both, with matching totals', async (world) => {
    const userId = await world.createUser()
    await fill(world, userId)
    const { tasks } = await world.store.listTasks({ userId, ...all })
    for (const status of [undefined, ...taskStatuses]) {
      for (const agentId of [undefined, ...agents, 'unknown']) {
        const filter = { ...(status && { status }), ...(agentId && { agentId }) }
        const expected = tasks.filter(
          (task) => (!status || task.status === status) && (!agentId || task.agentId === agentId),
        )
        const found = await world.store.listTasks({ userId, ...filter, ...all })
        expect(found).toEqual({ tasks: expected, total: expected.length })
      }
    }
  })

  contractTest('filters tasks by outcome, with matching totals', async (world) => {
    const userId = await world.createUser()
    const { store } = world
    const outcomes = new Map<string, string>()
    for (let n = 0; n < 3; n++) {
      const canceled = await world.pending(userId)
      const error = { code: 'CANCELED', message: 'No.', details: '' } as const
      await store.cancelTask({ userId, taskId: canceled, error, mayStopWork: false })
      outcomes.set(canceled, 'canceled')
      const { attempt, id: expired } = await world.processing(userId)
      await store.failTask({ taskId: expired, attempt, error: { ...error, code: 'EXPIRED' }, countsAsAbuse: false })
      outcomes.set(expired, 'expired')
      outcomes.set((await world.failed(userId)).id, 'failed')
      outcomes.set((await world.completed(userId)).id, 'completed')
    }
    await world.pending(userId)
    const { tasks } = await store.listTasks({ userId, ...all })
    for (const outcome of taskOutcomes) {
      const expected = tasks.filter(({ id }) => outcomes.get(id) === outcome)
      expect(expected).toHaveLength(3)
      const whole = { tasks: expected, total: 3 }
      const status = outcome === 'completed' ? outcome : 'failed'
      for (const more of [{}, { status }, { agentId: 'text' }] as const) {
        expect(await store.listTasks({ userId, outcome, ...more, ...all })).toEqual(whole)
      }
      expect(await store.listTasks({ userId, outcome, status: 'pending', ...all })).toEqual({ tasks: [], total: 0 })
      const page = await store.listTasks({ userId, outcome, limit: 1, offset: 1 })
      expect(page).toMatchObject({ tasks: [expected[1]], total: 3 })
    }
  })

  contractTest('pages of every filter add up to the whole list, with the same total', async (world) => {
    const userId = await world.createUser()
    await fill(world, userId)
    const filters = [{}, { status: 'failed' }, { agentId: 'image' }, { status: 'completed', agentId: 'text' }] as const
    for (const filter of filters) {
      const whole = await world.store.listTasks({ userId, ...filter, ...all })
      for (const limit of [1, 4, 7, 100]) {
        const seen = []
        for (let offset = 0; offset < whole.total + limit; offset += limit) {
          const page = await world.store.listTasks({ userId, ...filter, limit, offset })
          expect(page.total).toBe(whole.total)
          seen.push(...page.tasks)
        }
        expect(seen).toEqual(whole.tasks)
      }
    }
  })

  contractTest('an export contains the whole list for every filter', async (world) => {
    const userId = await world.createUser()
    await fill(world, userId)
    const { tasks } = await world.store.listTasks({ userId, ...all })
    const times = { createdAfter: tasks[20]!.createdAt, createdBefore: tasks[3]!.createdAt }
    const filters: Partial<ExportTasks>[] = [{}, { status: 'failed' }, { agentId: 'image' }, { outcome: 'failed' }]
    filters.push({ endpointId: tasks[0]!.endpointId, ...times }, { search: 'a' }, { tags: ['a:b', 'c:d'] }, times)
    for (const filter of filters) {
      const whole = await world.store.listTasks({ userId, ...filter, ...all })
      for (const limit of [1, 5, 100]) {
        const seen = []
        let after: ListPlace | undefined
        do {
          const page = await world.store.exportTasks({ userId, ...filter, ...(after && { after }), limit })
          seen.push(...page.tasks)
          after = page.next
        } while (after)
        expect(seen).toEqual(whole.tasks)
      }
    }
  })

  contractTest('a page past the end is empty and still states the total', async (world) => {
    const userId = await world.createUser()
    await world.pending(userId)
    for (const filter of [{}, { status: 'pending' }, { agentId: 'text' }] as const) {
      const page = await world.store.listTasks({ userId, ...filter, limit: 10, offset: 1_000_000 })
      expect(page).toEqual({ tasks: [], total: 1 })
    }
    expect(await world.store.listTransactions({ userId, limit: 10, offset: 5 })).toEqual({ transactions: [], total: 2 })
  })

  contractTest('lists transactions newest first and filters them by type, task or both', async (world) => {
    const userId = await world.createUser()
    const [taskId] = await fill(world, userId)
    const { id: failedId } = await world.failed(userId)
    await world.store.credit({ userId, amount: -5, description: 'Correction', idempotencyKey: null })
    await fill(world, await world.createUser())
    const { transactions, total } = await world.store.listTransactions({ userId, ...all })
    expect(total).toBe(transactions.length)
    const running = transactions.toReversed().map(({ amount, balanceAfter }, index, list) => {
      return balanceAfter - amount === (list[index - 1]?.balanceAfter ?? 0)
    })
    expect(running.every(Boolean)).toBe(true)
    for (const type of [undefined, 'credit', 'task_charge', 'task_refund', 'chat_charge', 'adjustment'] as const) {
      for (const task of [undefined, taskId, failedId, 'task_unknown']) {
        const filter = { ...(type && { type }), ...(task !== undefined && { taskId: task }) }
        const expected = transactions.filter((row) => (!type || row.type === type) && (!task || row.taskId === task))
        const found = await world.store.listTransactions({ userId, ...filter, ...all })
        expect(found).toEqual({ transactions: expected, total: expected.length })
        const second = await world.store.listTransactions({ userId, ...filter, limit: 1, offset: 1 })
        expect(second).toMatchObject({ transactions: expected.slice(1, 2), total: expected.length })
      }
    }
  })
}
