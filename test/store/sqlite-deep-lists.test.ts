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

test('lists by tag and by time go through very many tasks in pieces, and leave the event loop its turns', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const { store } = service.app
  const users = [{ userId, key }]
  const tagsOf = (index: number) => ({ half: `${index % 2}`, ...(index % 5000 === 0 && { rare: 'yes' }) })
  const made = insertTasks(service.dataDir, { users, count: 25_001, status: 'completed', tagsOf })
  const newest = (await store.listTasks({ userId, limit: made.length, offset: 0 })).tasks
  const times = [newest[100]!, newest[21_000]!].map(({ createdAt }) => createdAt)
  const range = { createdAfter: times[1]!, createdBefore: times[0]! }
  const between = newest.filter(({ createdAt }) => createdAt > times[1]! && createdAt < times[0]!)
  const lists = [
    { filter: { tags: ['rare:yes'] }, expected: newest.filter(({ tags }) => tags?.['rare']) },
    { filter: { tags: ['half:1'] }, expected: newest.filter(({ tags }) => tags?.['half'] === '1') },
    { filter: { tags: ['half:1'], agentId: 'bench' }, expected: newest.filter(({ tags }) => tags?.['half'] === '1') },
    { filter: { tags: ['half:0'], ...range }, expected: between.filter(({ tags }) => tags?.['half'] === '0') },
    { filter: range, expected: between },
    { filter: { ...range, status: 'completed' as const, agentId: 'bench' }, expected: between },
  ]
  for (const { expected, filter } of lists) {
    for (const offset of [0, 3, 4_999, 5_000, 9_990, 12_499, 30_000]) {
      let turns = 0
      let isOver = false
      const count = () => void (isOver || (turns++, setImmediate(count)))
      count()
      const { next, tasks, total } = await store.listTasks({ userId, ...filter, limit: 10, offset })
      isOver = true
      expect(tasks.map(({ id }) => id)).toEqual(expected.slice(offset, offset + 10).map(({ id }) => id))
      expect(total).toBe(expected.length)
      expect(turns).toBeGreaterThan(0)
      expect(next !== undefined).toBe(offset + 10 < expected.length)
      if (!next) continue
      const following = await store.listTasks({ userId, ...filter, limit: 10, offset: 0, after: next })
      expect(following.tasks).toEqual(expected.slice(offset + 10, offset + 20))
      expect(following.total).toBe(expected.length)
    }
  }
  await service.stop()
})
