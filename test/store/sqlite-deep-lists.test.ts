import { expect, test } from 'vitest'
import { insertTasks } from '../../bench/bench-data.ts'
import { startService } from '../support/test-service.ts'

test('pages deep in lists are those of the whole list, and leave the event loop its turns', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const { store } = service.app
  const users = [{ userId, key }]
  const made = [
    ...insertTasks(service.dataDir, { users, count: 12_000, status: 'completed' }),
    ...insertTasks(service.dataDir, { users, count: 11_000, status: 'pending' }),
  ]
  const count = made.length
  const newest = (await store.listTasks({ userId, limit: count, offset: 0 })).tasks.map(({ id }) => id)
  expect(new Set(newest)).toEqual(new Set(made.map(({ taskId }) => taskId)))
  for (const filter of [{}, { agentId: 'bench' }]) {
    for (const offset of [9_999, 10_000, 10_001, 20_000, 20_001, 22_995, 23_000, 40_000]) {
      let turns = 0
      let isOver = false
      const count = () => void (isOver || (turns++, setImmediate(count)))
      count()
      const { tasks, total } = await store.listTasks({ userId, ...filter, limit: 10, offset })
      isOver = true
      expect(tasks.map(({ id }) => id)).toEqual(newest.slice(offset, offset + 10))
      expect(total).toBe(made.length)
      expect(turns).toBeGreaterThan(offset > 20_000 ? 1 : 0)
    }
  }
  const pending = await store.listTasks({ userId, status: 'pending', limit: 5, offset: 10_500 })
  expect(pending.tasks.every(({ status }) => status === 'pending')).toBe(true)
  expect(pending).toMatchObject({ total: 11_000, tasks: { length: 5 } })

  const whole = await store.listTransactions({ userId, limit: 30_000, offset: 0 })
  for (const offset of [10_001, 20_500, 30_000]) {
    const { total, transactions } = await store.listTransactions({ userId, limit: 7, offset })
    expect(transactions).toEqual(whole.transactions.slice(offset, offset + 7))
    expect(total).toBe(whole.total)
  }
  await service.stop()
})
