import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { startService } from '../support/test-service.ts'
import { sessionAgents, SessionCalls, vias } from './session-calls.ts'

const config = sessionAgents
const dayMs = 24 * 3_600_000
const empty = { sessions: [], total: 0, limit: 50, offset: 0 }

async function idsOf(calls: SessionCalls, input: Record<string, unknown> = {}): Promise<[string[], number]> {
  const { body, status } = await calls.list(input)
  expect(status).toBe(200)
  return [body.sessions.map(({ id }: { id: string }) => id), body.total]
}

function times(created: number, updated: number) {
  const [createdAt, updatedAt] = [created, updated].map((seconds) => `2026-01-15T12:00:0${seconds}.000Z`)
  return { createdAt, updatedAt }
}

test.each(vias)('lists sessions over %s newest first with exactly their fields', async (via) => {
  const clock = new FakeClock()
  const service = await startService({ config, clock })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key, via)
  expect((await calls.list()).body).toEqual(empty)
  const first = await calls.open('one', { secret: 'x'.repeat(1000) })
  clock.advance(1000)
  const second = await calls.open('two')
  clock.advance(1000)
  // Later changes to a session do not change its position in the list.
  await calls.chat(first, 'hello')
  await calls.update(first, { status: 'completed' })
  expect((await calls.list()).body).toEqual({
    sessions: [
      { id: second, agentId: 'two', status: 'active', messageCount: 0, isReplying: false, ...times(1, 1) },
      {
        id: first,
        agentId: 'one',
        status: 'completed',
        title: 'hello',
        messageCount: 2,
        isReplying: false,
        ...times(0, 2),
      },
    ],
    total: 2,
    limit: 50,
    offset: 0,
  })
  await service.stop()
})

test('lists sessions created in the same millisecond in reverse order of creation', async () => {
  const service = await startService({ config, clock: new FakeClock() })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key)
  const ids: string[] = []
  for (let count = 0; count < 8; count++) ids.push(await calls.open())
  expect(await idsOf(calls)).toEqual([ids.toReversed(), 8])
  await service.stop()
})

test.each(vias)('filters sessions over %s by current status, with and without an agent filter', async (via) => {
  const clock = new FakeClock()
  const service = await startService({ config, clock })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key, via)
  const [idle, done] = [await calls.open('one'), await calls.open('two')]
  await calls.update(done, { status: 'completed' })
  clock.advance(1)
  const fresh = await calls.open('two')
  const expectLists = async (lists: Record<string, string[]>) => {
    for (const [status, ids] of Object.entries(lists)) {
      expect(await idsOf(calls, { status }), status).toEqual([ids, ids.length])
      for (const agentId of ['one', 'two']) {
        const own = ids.filter((id) => (id === idle) === (agentId === 'one'))
        expect(await idsOf(calls, { status, agentId }), `${status} ${agentId}`).toEqual([own, own.length])
      }
      expect(await idsOf(calls, { status, agentId: 'three' })).toEqual([[], 0])
    }
    const { body } = await calls.list()
    expect(body.total).toBe(3)
    for (const { id, status } of body.sessions) expect(lists[status]).toContain(id)
  }
  clock.advance(dayMs - 2)
  await expectLists({ active: [fresh, idle], completed: [done], expired: [] })
  clock.advance(1)
  await expectLists({ active: [fresh], completed: [done], expired: [idle] })
  clock.advance(1)
  await expectLists({ active: [], completed: [done], expired: [fresh, idle] })
  expect((await calls.delete(idle)).status).toBe(200)
  expect(await idsOf(calls, { status: 'expired' })).toEqual([[fresh], 1])
  expect(await idsOf(calls, { agentId: 'one' })).toEqual([[], 0])
  expect(await idsOf(calls, { agentId: 'two' })).toEqual([expect.arrayContaining([fresh, done]), 2])
  await service.stop()
})

test.each(vias)('a chat or an update keeps a session active over %s', async (via) => {
  const clock = new FakeClock()
  const service = await startService({ config, clock })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key, via)
  const idle = await calls.open()
  clock.advance(1)
  const chatted = await calls.open()
  clock.advance(1)
  const updated = await calls.open()
  clock.advance(dayMs - 1000)
  await calls.chat(chatted, 'hello')
  await calls.update(updated, { metadata: { a: 1 } })
  clock.advance(1000)
  expect(await idsOf(calls, { status: 'active' })).toEqual([[updated, chatted], 2])
  expect(await idsOf(calls, { status: 'expired' })).toEqual([[idle], 1])
  expect((await calls.list({ status: 'active' })).body.sessions[1]).toMatchObject({ id: chatted, messageCount: 2 })
  clock.advance(dayMs - 1000)
  expect(await idsOf(calls, { status: 'active' })).toEqual([[], 0])
  await service.stop()
})

test('pages hold 50 sessions by default, up to 100, and list each session once', async () => {
  const clock = new FakeClock()
  const service = await startService({ config, clock })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key)
  const created: string[] = []
  for (let count = 0; count < 103; count++) {
    created.push(await calls.open())
    clock.advance(1)
  }
  const newest = created.toReversed()
  const first = await calls.list()
  expect(first.body).toMatchObject({ total: 103, limit: 50, offset: 0 })
  expect(first.body.sessions.map(({ id }: { id: string }) => id)).toEqual(newest.slice(0, 50))
  expect(await idsOf(calls, { limit: 100 })).toEqual([newest.slice(0, 100), 103])
  expect(await idsOf(calls, { limit: 100, offset: 100 })).toEqual([newest.slice(100), 103])
  const page = { limit: 7, offset: 60, status: 'active', agentId: 'one' }
  expect((await calls.list(page)).body).toMatchObject({ total: 103, limit: 7, offset: 60 })
  expect(await idsOf(calls, page)).toEqual([newest.slice(60, 67), 103])
  const past = await calls.list({ offset: 103 })
  expect(past.body).toEqual({ ...empty, total: 103, offset: 103 })
  await service.stop()
})

test.each(vias)("never lists another user's sessions over %s", async (via) => {
  const service = await startService({ config })
  const [owner, stranger] = [await service.createPerson(), await service.createPerson()]
  await new SessionCalls(service, owner.key).open()
  const calls = new SessionCalls(service, stranger.key, via)
  for (const filter of [{}, { status: 'active' }, { agentId: 'one' }, { userId: owner.userId }]) {
    expect((await calls.list(filter)).body).toEqual(empty)
  }
  const own = await calls.open('two')
  expect(await idsOf(calls)).toEqual([[own], 1])
  await service.stop()
})

test.each(vias)(
  'lists sessions over %s in order of their last use, with pages that continue at a cursor',
  async (via) => {
    const clock = new FakeClock()
    const service = await startService({ config, clock })
    const { key } = await service.createPerson()
    const calls = new SessionCalls(service, key, via)
    const ids: string[] = []
    for (let count = 0; count < 5; count++) {
      clock.advance(1)
      ids.push(await calls.open(count % 2 === 0 ? 'one' : 'two'))
    }
    clock.advance(1000)
    await calls.chat(ids[1]!, 'hello')
    clock.advance(1000)
    await calls.update(ids[3]!, { status: 'completed' })
    const [a, b, c, d, e] = ids as [string, string, string, string, string]
    const used = [d, b, e, c, a]
    const order = 'active'
    expect(await idsOf(calls, { order })).toEqual([used, 5])
    expect(await idsOf(calls, { order, agentId: 'two' })).toEqual([[d, b], 2])
    expect(await idsOf(calls, { order, status: 'active' })).toEqual([[b, e, c, a], 4])
    expect(await idsOf(calls, { order, limit: 2, offset: 2 })).toEqual([[e, c], 5])
    const walked: string[] = []
    let next: string | undefined
    do {
      const { body } = await calls.list({ order, limit: 2, ...(next !== undefined && { after: next }) })
      walked.push(...body.sessions.map(({ id }: { id: string }) => id))
      next = body.next
    } while (next !== undefined)
    expect(walked).toEqual(used)
    const first = (await calls.list({ order, limit: 2 })).body.next
    expect(await calls.list({ limit: 2, after: first })).toMatchObject({ status: 400 })
    await service.stop()
  },
)

test('finds sessions by a part of their title in any case, in both orders', async () => {
  const clock = new FakeClock()
  const service = await startService({ config, clock })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key)
  const ids: string[] = []
  for (const text of ['Invoices of May', 'The weather\nin May', '100% of it']) {
    clock.advance(1)
    ids.push(await calls.open())
    await calls.chat(ids.at(-1)!, text)
  }
  const [invoices, weather, percent] = ids
  clock.advance(1)
  await calls.update(invoices!, { metadata: { a: 1 } })
  expect(await idsOf(calls, { search: 'mAY' })).toEqual([[invoices], 1])
  expect(await idsOf(calls, { search: 'E' })).toEqual([[weather, invoices], 2])
  expect(await idsOf(calls, { search: 'E', order: 'active' })).toEqual([[invoices, weather], 2])
  expect(await idsOf(calls, { search: '%' })).toEqual([[percent], 1])
  expect(await idsOf(calls, { search: 'e', status: 'completed' })).toEqual([[], 0])
  await service.stop()
})
