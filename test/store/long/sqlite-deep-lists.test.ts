import { expect, test } from 'vitest'
import { insertTasks } from '../../../bench/bench-data.ts'
import type { Store } from '../../../server/store/store.ts'
import type { ExportTasks, TaskListItem } from '../../../server/store/tasks/task-types.ts'
import { startService } from '../../support/test-service.ts'
import { withRaw } from '../sqlite-engine.ts'

async function exported(store: Store, of: ExportTasks): Promise<TaskListItem[]> {
  const { next, tasks } = await store.exportTasks(of)
  return next ? [...tasks, ...(await exported(store, { ...of, after: next }))] : tasks
}

test('deep pages match the whole list and are read without blocking the event loop', async () => {
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

test('lists by tag or time scan in batches without blocking the event loop', async () => {
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
    { filter: { endpointId: 'bench.noop' }, expected: newest },
    { filter: { endpointId: 'bench.noop', agentId: 'bench', ...range }, expected: between },
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
    expect(await exported(store, { userId, ...filter, limit: 5000 })).toEqual(expected)
  }
  await service.stop()
})

test('user searches run in batches without blocking the event loop', async () => {
  const service = await startService()
  const { store } = service.app
  const count = 25_000
  withRaw(service.dataDir, (raw) => {
    const numbers = `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`
    raw.exec(`${numbers} INSERT INTO users (id, email, is_admin, created_at, external_id)
      SELECT 'user_' || n, n || '@example.com', n = 20001, n, 'customer-' || n FROM numbers;
      ${numbers} INSERT INTO accounts (user_id, balance, held) SELECT 'user_' || n, 0, 0 FROM numbers`)
  })
  const everyone = Array.from({ length: count }, (_, index) => index + 1)
  for (const search of [undefined, '7@EXAMPLE', 'customer-2', 'nobody']) {
    for (const withoutAdmins of [false, true]) {
      const part = search?.toLowerCase() ?? ''
      const expected = everyone
        .filter((n) => `${n}@example.com`.includes(part) || `customer-${n}`.includes(part))
        .filter((n) => !withoutAdmins || n !== 20_001)
        .map((n) => `user_${n}`)
      for (const offset of [0, 3, 990, 1_110, 9_995, 24_999, 30_000]) {
        let turns = 0
        let isOver = false
        const count = () => void (isOver || (turns++, setImmediate(count)))
        count()
        const asked = { limit: 10, offset, withoutAdmins, ...(search !== undefined && { search }) }
        const { total, users } = await store.listUsers(asked)
        isOver = true
        expect(users.map(({ id }) => id)).toEqual(expected.slice(offset, offset + 10))
        expect(total).toBe(expected.length)
        expect(turns).toBeGreaterThan(1)
        const { users: ranked } = await store.listUsers({ ...asked, order: 'spent' })
        expect(ranked.map(({ id }) => id)).toEqual(users.map(({ id }) => id))
      }
    }
  }
  withRaw(service.dataDir, (raw) => {
    const rows = [5, 12_000, 24_000].map(
      (n, index) => `('user_${n}', 1, '', '', '', '', '', 1, 0, ${index + 1}, 0, 0, 0)`,
    )
    raw.exec(`INSERT INTO book_days VALUES ${rows.join(', ')}`)
  })
  for (const [order, first] of [
    ['spent', [24_000, 12_000, 5]],
    ['active', [5, 12_000, 24_000]],
  ] as const) {
    const { users } = await store.listUsers({ limit: 4, offset: 0, order })
    expect(users.map(({ id }) => id)).toEqual([...first, 1].map((n) => `user_${n}`))
  }
  await service.stop()
})
