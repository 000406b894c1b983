import { taskStatuses, type Tags } from '../../server/store/tasks/task-types.ts'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { ListPlace, ListRange, Listed } from '../../server/store/list-place.ts'
import { draftSession } from './session-contract.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const all = { limit: 1000, offset: 0 }
const agents = ['text', 'image']

/** Tag values, of which some contain others or characters that JSON escapes. */
const values = ['a', 'ab', 'b', '"b":"a"', 'b":"a', String.raw`a\"`, 'a:b', 'é', '😀', 'a\u2028']
const names = ['a', 'b', 'ab', 'constructor', 'a.b-c_1']

const pairsOf = (tags: Tags | null) => Object.entries(tags ?? {}).map(([name, value]) => `${name}:${value}`)

type Item = { id: string; createdAt: number; tags: Tags | null }

/** Whether a filter should include the item. */
function isListed(item: Item, { createdAfter, createdBefore, tags }: ListRange & { tags: string[] }): boolean {
  const pairs = pairsOf(item.tags)
  return (
    tags.every((tag) => pairs.includes(tag)) &&
    item.createdAt > (createdAfter ?? -1) &&
    item.createdAt < (createdBefore ?? Infinity)
  )
}

async function byCursor<Page extends Listed, Found>(
  read: (page: { limit: number; offset: number; after?: ListPlace }) => Promise<Page>,
  items: (page: Page) => Found[],
  limit: number,
): Promise<Found[]> {
  const found: Found[] = []
  let after: ListPlace | undefined
  for (;;) {
    const page = await read({ limit, offset: 0, ...(after && { after }) })
    found.push(...items(page))
    if (!page.next) return found
    expect(items(page)).toHaveLength(limit)
    after = page.next
  }
}

const tagsArbitrary = fc.option(
  fc.dictionary(fc.constantFrom(...names), fc.constantFrom(...values), { minKeys: 1, maxKeys: 3 }),
)
const filterArbitrary = fc.record({
  tags: fc.array(
    fc.tuple(fc.constantFrom(...names), fc.constantFrom(...values)).map(([name, value]) => `${name}:${value}`),
    { maxLength: 3 },
  ),
  after: fc.option(fc.nat({ max: 12 })),
  before: fc.option(fc.nat({ max: 12 })),
  status: fc.option(fc.constantFrom(...taskStatuses)),
  agentId: fc.option(fc.constantFrom(...agents)),
  limit: fc.integer({ min: 1, max: 5 }),
  offset: fc.nat({ max: 6 }),
})

async function fillTasks(world: StoreWorld, userId: string, made: readonly (Tags | null)[]): Promise<void> {
  for (const [index, tags] of made.entries()) {
    const changes = { agentId: agents[index % 2]!, cost: 1, tags }
    const status = taskStatuses[index % 4]!
    await world[status](userId, changes)
    if (index % 3 === 2) world.clock.advance(1)
  }
}

export function describeTags(contractTest: ContractTest): void {
  contractTest('returns tags as stored, both with the task and in lists', async (world) => {
    const userId = await world.createUser()
    const tags = Object.fromEntries(values.map((value, at) => [`n${at}`, value]))
    const { id } = await world.completed(userId, { tags })
    await world.completed(userId)
    expect(await world.read(userId, id)).toMatchObject({ tags })
    const { tasks } = await world.store.listTasks({ userId, ...all })
    expect(tasks.map((task) => task.tags)).toEqual([null, tags])
    for (const tag of pairsOf(tags)) {
      expect(await world.store.listTasks({ userId, tags: [tag], ...all })).toMatchObject({ total: 1, tasks: [{ id }] })
    }
    expect(await world.store.listTasks({ userId: await world.createUser(), tags: ['n0:a'], ...all })).toEqual({
      tasks: [],
      total: 0,
    })
  })

  contractTest('pages and totals of filtered tasks match the whole list', async (world) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(tagsArbitrary, { minLength: 4, maxLength: 25 }),
        fc.array(filterArbitrary, { minLength: 5, maxLength: 15 }),
        async (made, filters) => {
          const userId = await world.createUser()
          const begunAt = world.clock.now()
          await fillTasks(world, userId, made)
          const whole = (await world.store.listTasks({ userId, ...all })).tasks
          expect(whole.map(({ tags }) => tags)).toEqual(made.toReversed())
          for (const { after, agentId, before, limit, offset, status, tags } of filters) {
            const range = {
              ...(after !== null && { createdAfter: begunAt + after }),
              ...(before !== null && { createdBefore: begunAt + before }),
            }
            const filter = { userId, tags, ...range, ...(status && { status }), ...(agentId && { agentId }) }
            const expected = whole.filter(
              (task) =>
                isListed(task, { ...range, tags }) &&
                (status === null || task.status === status) &&
                (agentId === null || task.agentId === agentId),
            )
            const page = await world.store.listTasks({ ...filter, limit, offset })
            expect(page).toMatchObject({ tasks: expected.slice(offset, offset + limit), total: expected.length })
            expect(page.next !== undefined).toBe(offset + limit < expected.length)
            const read = (of: typeof all & { after?: ListPlace }) => world.store.listTasks({ ...filter, ...of })
            expect(await byCursor(read, ({ tasks }) => tasks, limit)).toEqual(expected)
          }
        },
      ),
      { numRuns: 12 },
    )
  })

  contractTest('cursor pages neither skip nor repeat a task while tasks are created and claimed', async (world) => {
    const userId = await world.createUser()
    for (const filter of [{}, { tags: ['a:b'] }, { agentId: 'text' }, { createdAfter: 0 }]) {
      const tags = { a: 'b' }
      const before = (await world.store.listTasks({ userId, ...filter, ...all })).tasks.map(({ id }) => id)
      const made: string[] = []
      for (let index = 0; index < 7; index++) made.push(await world.pending(userId, { tags, cost: 0 }))
      const seen = await byCursor(
        async (of) => {
          const page = await world.store.listTasks({ userId, ...filter, ...of })
          await world.pending(userId, { tags, cost: 0 })
          const open = page.tasks.find(({ status }) => status === 'pending')
          if (open) await world.store.claimTask(open.id)
          return page
        },
        ({ tasks }) => tasks.map(({ id }) => id),
        2,
      )
      expect(seen).toEqual([...made.toReversed(), ...before])
      world.clock.advance(1)
    }
  })

  contractTest("merges a session's tags by name and finds it by its current tags", async (world) => {
    const userId = await world.createUser()
    const draft = draftSession(world, userId, { tags: { a: 'b', c: 'd' } })
    expect(await world.store.createSession(draft)).toMatchObject({ session: { tags: { a: 'b', c: 'd' } } })
    await world.store.createSession(draftSession(world, userId))
    const { sessionId } = draft
    const update = (tags: Record<string, string | null>) =>
      world.store.updateSession({ userId, sessionId, complete: false, activate: false, metadata: {}, tags })
    const found = async (...tags: string[]) =>
      (await world.store.listSessions({ userId, tags, ...all })).sessions.map(({ id }) => id)
    expect(await found('a:b', 'c:d')).toEqual([sessionId])
    expect(await update({ a: 'x', e: 'f', c: null })).toMatchObject({ session: { tags: { a: 'x', e: 'f' } } })
    expect(await found('a:b')).toEqual([])
    expect(await found('c:d')).toEqual([])
    expect(await found('e:f', 'a:x')).toEqual([sessionId])
    const many = Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`n${n}`, 'x']))
    expect(await update(many)).toEqual({ outcome: 'refused', reason: 'tags-too-large' })
    expect(await update({ a: null, e: null })).toMatchObject({ session: { tags: null } })
    expect((await world.store.listSessions({ userId, ...all })).sessions.map(({ tags }) => tags)).toEqual([null, null])
    await update({ a: 'b' })
    await world.store.deleteSession({ userId, sessionId })
    expect(await world.store.listSessions({ userId, tags: ['a:b'], ...all })).toEqual({ sessions: [], total: 0 })
  })

  contractTest('filters sessions by tag, time and status, with correct pages and cursors', async (world) => {
    const userId = await world.createUser()
    const begunAt = world.clock.now()
    for (let index = 0; index < 30; index++) {
      const tags = index % 3 === 0 ? null : { kind: `${index % 3}`, half: index < 15 ? 'first' : 'second' }
      const draft = draftSession(world, userId, { agentId: agents[index % 2]!, tags })
      await world.store.createSession(draft)
      const of = { userId, sessionId: draft.sessionId, activate: false, metadata: {} }
      if (index % 4 === 0) await world.store.updateSession({ ...of, complete: true })
      if (index % 2 === 1) world.clock.advance(index === 13 ? 90_000_000 : 1)
    }
    const whole = (await world.store.listSessions({ userId, ...all })).sessions
    for (const status of [undefined, 'active', 'completed', 'expired'] as const) {
      for (const tags of [[], ['kind:1'], ['half:first', 'kind:2'], ['kind:3']]) {
        for (const range of [
          {},
          { createdAfter: begunAt + 3 },
          { createdAfter: begunAt, createdBefore: begunAt + 6 },
        ]) {
          const filter = { userId, tags, ...range, ...(status && { status }) }
          const expected = whole.filter(
            (session) => isListed(session, { ...range, tags }) && (!status || session.status === status),
          )
          const page = await world.store.listSessions({ ...filter, limit: 3, offset: 1 })
          expect(page).toMatchObject({ sessions: expected.slice(1, 4), total: expected.length })
          const read = (of: typeof all & { after?: ListPlace }) => world.store.listSessions({ ...filter, ...of })
          expect(await byCursor(read, ({ sessions }) => sessions, 2)).toEqual(expected)
        }
      }
    }
  })

  contractTest('filters transactions by time, with correct pages and cursors', async (world) => {
    const userId = await world.createUser()
    const other = await world.createUser()
    const begunAt = world.clock.now()
    for (let index = 0; index < 20; index++) {
      await world[index % 3 === 0 ? 'failed' : 'completed'](userId)
      await world.completed(other)
      if (index % 4 === 3) world.clock.advance(2)
    }
    const whole = (await world.store.listTransactions({ userId, ...all })).transactions
    const taskId = whole[0]!.taskId!
    const times = [undefined, -5, 0, 1, 2, 3, 6, 7, 50].map((at) => (at === undefined ? at : begunAt + at))
    for (const createdAfter of times) {
      for (const createdBefore of times) {
        const range = { ...(createdAfter && { createdAfter }), ...(createdBefore && { createdBefore }) }
        for (const kind of [{}, { type: 'task_refund' as const }, { taskId }]) {
          const expected = whole.filter(
            (row) =>
              isListed({ ...row, tags: null }, { ...range, tags: [] }) &&
              Object.entries(kind).every(([name, value]) => row[name as 'type'] === value),
          )
          const filter = { userId, ...range, ...kind }
          const page = await world.store.listTransactions({ ...filter, limit: 4, offset: 3 })
          expect(page).toMatchObject({ transactions: expected.slice(3, 7), total: expected.length })
          const read = (page: typeof all & { after?: ListPlace }) =>
            world.store.listTransactions({ ...filter, ...page })
          expect(await byCursor(read, ({ transactions }) => transactions, 7)).toEqual(expected)
        }
      }
    }
  })
}
