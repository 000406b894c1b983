import { expect } from 'vitest'
import { sumBooks } from '../../server/billing/read-books.ts'
import { bookGroups, type BookGroup } from '../../server/store/books/book-groups.ts'
import { converse, opened } from './session-contract.ts'
import type { ContractTest } from './store-contract.ts'
import { agentError, type StoreWorld } from './store-world.ts'

const response = { text: '{}', payloadId: null }
const dayMs = 86_400_000

async function sums(world: StoreWorld, groupBy: BookGroup, userId?: string) {
  const today = Math.floor(world.clock.now() / dayMs)
  const of = { groupBy, fromDay: today - 1, toDay: today + 1, ...(userId !== undefined && { userId }) }
  const rows = await world.store.books.read(of)
  return Object.fromEntries(rows.map(({ value, ...sum }) => [String(value), sum]))
}

export function describeBooks(contractTest: ContractTest): void {
  contractTest('sums ended executions by day, agent, endpoint, model, user, plan and key', async (world) => {
    const userId = await world.createUser(10_000)
    const other = await world.createUser(10_000)
    const done = { model: 'small', providerCost: 7 }
    for (const [owner, keyId] of [
      [userId, 'key_1'],
      [userId, null],
      [other, 'key_2'],
    ] as const) {
      const { attempt, id: taskId } = await world.processing(owner, { cost: 100, keyId })
      await world.store.completeTask({ taskId, attempt, response, ...done })
    }
    const { attempt, id: taskId } = await world.processing(userId, { cost: 30 })
    const error = agentError
    await world.store.failTask({ taskId, attempt, error, countsAsAbuse: true, model: 'large', providerCost: 5 })
    await world.pending(userId, { cost: 50 })
    const none = { executions: 0, failures: 0, charged: 0, refunded: 0, writtenOff: 0, providerCost: 0 }
    const whole = { ...none, executions: 4, failures: 1, charged: 330, refunded: 30, providerCost: 26 }
    const today = String(Math.floor(world.clock.now() / dayMs))
    expect(await sums(world, 'day')).toEqual({ [today]: whole })
    expect(await sums(world, 'agent')).toEqual({ text: whole })
    expect(await sums(world, 'endpoint')).toEqual({ 'text.summarize': whole })
    expect(await sums(world, 'plan')).toEqual({ '': whole })
    expect(await sums(world, 'model')).toEqual({
      small: { ...none, executions: 3, charged: 300, providerCost: 21 },
      large: { ...none, executions: 1, failures: 1, charged: 30, refunded: 30, providerCost: 5 },
    })
    expect(await sums(world, 'user')).toMatchObject({ [userId]: { executions: 3 }, [other]: { executions: 1 } })
    expect(await sums(world, 'key')).toMatchObject({
      key_1: { charged: 100 },
      key_2: { charged: 100 },
      '': { charged: 130 },
    })
    expect(await sums(world, 'key', userId)).toMatchObject({ key_1: { charged: 100 }, '': { charged: 130 } })
    expect(Object.keys(await sums(world, 'user', other))).toEqual([other])
    expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
  })

  contractTest('canceled and expired tasks are no failures, and each end counts once', async (world) => {
    const userId = await world.createUser(10_000)
    const canceled = await world.pending(userId, { cost: 40 })
    const error = { ...agentError, code: 'CANCELED' }
    await world.store.cancelTask({ userId, taskId: canceled, error, mayStopWork: true })
    await world.store.cancelTask({ userId, taskId: canceled, error, mayStopWork: true })
    const { attempt, id: taskId } = await world.processing(userId, { cost: 60 })
    const ends = [1, 2, 3].map(() => world.store.completeTask({ taskId, attempt, response }))
    await Promise.all([...ends, world.store.failTask({ taskId, attempt, error: agentError, countsAsAbuse: true })])
    expect(Object.values(await sums(world, 'agent'))).toMatchObject([{ executions: 2 }])
    expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
  })

  contractTest('counts a chat under its agent', async (world) => {
    const userId = await world.createUser(1000)
    await converse(world, await opened(world, userId), 'Hello')
    expect(await sums(world, 'endpoint')).toMatchObject({ text: { executions: 1, failures: 0, charged: 20 } })
    expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
  })

  contractTest('lists users by spending in a period and by last activity', async (world) => {
    const [spender, later, failing, idle] = [
      await world.createUser(),
      await world.createUser(),
      await world.createUser(),
      await world.createUser(),
    ]
    const first = Math.floor(world.clock.now() / dayMs)
    const complete = async (userId: string, cost: number) => {
      const { attempt, id: taskId } = await world.processing(userId, { cost })
      await world.store.completeTask({ taskId, attempt, response })
    }
    await complete(spender, 60)
    await complete(spender, 40)
    world.clock.advance(dayMs)
    await complete(later, 30)
    world.clock.advance(dayMs)
    const { attempt, id: taskId } = await world.processing(failing, { cost: 50 })
    await world.store.failTask({ taskId, attempt, error: agentError, countsAsAbuse: true })
    const list = async (input: object) => {
      const { total, users } = await world.store.listUsers({ limit: 10, offset: 0, spentSince: first, ...input })
      return { total, users: users.map(({ activeDay, id, spent }) => [id, spent, activeDay]) }
    }
    const rows = {
      spender: [spender, 100, first],
      later: [later, 30, first + 1],
      failing: [failing, 0, first + 2],
      idle: [idle, 0, null],
    }
    const inOrder = [rows.spender, rows.later, rows.failing, rows.idle]
    expect(await list({})).toEqual({ total: 4, users: inOrder })
    expect(await list({ order: 'spent' })).toEqual({ total: 4, users: inOrder })
    expect(await list({ order: 'spent', offset: 1, limit: 2 })).toEqual({ total: 4, users: inOrder.slice(1, 3) })
    expect((await list({ order: 'spent', spentSince: first + 1 })).users.slice(0, 2)).toEqual([
      rows.later,
      [spender, 0, first],
    ])
    expect((await list({ order: 'active' })).users).toEqual([rows.failing, rows.later, rows.spender, rows.idle])
    const { email } = (await world.store.getUser(later))!
    expect(await list({ order: 'active', search: email })).toEqual({ total: 1, users: [rows.later] })
    expect(await list({ order: 'spent', search: 'nobody' })).toEqual({ total: 0, users: [] })
  })

  contractTest('closes days and months, whose totals equal the sums', async (world) => {
    const users = [await world.createUser(100_000), await world.createUser(100_000)]
    const start = Math.floor(world.clock.now() / dayMs) + 1
    const to = (day: number, ms: number) => world.clock.advance(day * dayMs + ms - world.clock.now())
    // A month and a half, including days without executions.
    for (const at of [0, 1, 2, 20, 31, 32, 33, 50]) {
      to(start + at, 1000)
      for (const userId of users) {
        const { attempt, id: taskId } = await world.processing(userId, { cost: 10 + at, keyId: `key_${userId}` })
        await world.store.completeTask({ taskId, attempt, response, model: 'small', providerCost: at })
      }
    }
    const periods = [
      [start - 40, start + 60],
      [start + 2, start + 33],
      [start + 2, start + 51],
    ] as const
    const read = async ([fromDay, toDay]: readonly [number, number], groupBy: BookGroup) => {
      const { groups, total } = await sumBooks(world.store, { groupBy, fromDay, toDay })
      return { groups: groups.map(({ value, ...sum }) => [String(value), sum]), total }
    }
    const readAll = () => Promise.all(periods.flatMap((period) => bookGroups.map((group) => read(period, group))))
    const open = await readAll()
    const ofOne = { groupBy: 'agent', userId: users[0]!, fromDay: start, toDay: start + 60 } as const
    const days = (await world.store.books.read(ofOne)).map(({ charged, day }) => [day! - start, charged])
    expect(days).toEqual([0, 1, 2, 20, 31, 32, 33, 50].map((at) => [at, 10 + at]))
    let closed = 0
    while (await world.store.books.close()) closed++
    // The last of the eight days is not over.
    expect(closed).toBe(7)
    expect(await readAll()).toEqual(open)
    expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
    to(start + 52, 0)
    expect(await world.store.books.close()).toBe(true)
    expect(await world.store.books.close()).toBe(false)
    expect(await readAll()).toEqual(open)
    expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
  })
}
