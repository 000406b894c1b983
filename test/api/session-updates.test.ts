import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { startService } from '../support/test-service.ts'
import { sessionAgents, SessionCalls, vias, type Via } from './session-calls.ts'

const config = sessionAgents
const dayMs = 24 * 3_600_000
const expired = {
  error: 'Session expired',
  message: 'The session has expired. Create a new one.',
  statusCode: 410,
  code: 'SESSION_EXPIRED',
}
const completed = {
  error: 'Conflict',
  message: 'The session is completed. Create a new one.',
  statusCode: 409,
  code: 'SESSION_COMPLETED',
}

async function start(via: Via = 'REST') {
  const clock = new FakeClock()
  const service = await startService({ config, clock })
  const { key, userId } = await service.createPerson()
  return { calls: new SessionCalls(service, key, via), clock, key, service, userId }
}

test.each(vias)('an update over %s returns the whole session as read afterwards', async (via) => {
  const { calls, clock, service, userId } = await start(via)
  const sessionId = await calls.open('one', { keep: [1, { a: 2 }], change: 'old', drop: true })
  clock.advance(1500)
  const { body, status } = await calls.update(sessionId, {
    status: 'completed',
    metadata: { change: { to: 'new' }, drop: null, add: 0 },
  })
  expect(status).toBe(200)
  expect(body).toEqual({
    id: sessionId,
    userId,
    agentId: 'one',
    status: 'completed',
    metadata: { keep: [1, { a: 2 }], change: { to: 'new' }, add: 0 },
    messageCount: 0,
    spentUsd: '0.0000',
    createdAt: '2026-01-15T12:00:00.000Z',
    updatedAt: '2026-01-15T12:00:01.500Z',
  })
  expect((await calls.get(sessionId)).body).toEqual(body)
  await service.stop()
})

test.each(vias)('status active only updates the time of an active session over %s', async (via) => {
  const { calls, clock, service } = await start(via)
  const sessionId = await calls.open('one', { a: 1 })
  const before = (await calls.get(sessionId)).body
  clock.advance(1000)
  const { body, status } = await calls.update(sessionId, { status: 'active' })
  expect([status, body]).toEqual([200, { ...before, updatedAt: '2026-01-15T12:00:01.000Z' }])
  await service.stop()
})

test.each(vias)(
  'a session can be completed again over %s and its metadata changed, but not reactivated',
  async (via) => {
    const { calls, clock, service } = await start(via)
    const sessionId = await calls.open('one', { a: 1 })
    for (let again = 0; again < 3; again++) {
      expect((await calls.update(sessionId, { status: 'completed' })).body.status).toBe('completed')
    }
    const changed = await calls.update(sessionId, { metadata: { b: 2 } })
    expect([changed.status, changed.body.status, changed.body.metadata]).toEqual([200, 'completed', { a: 1, b: 2 }])
    const both = await calls.update(sessionId, { status: 'completed', metadata: { a: null } })
    expect([both.status, both.body.metadata]).toEqual([200, { b: 2 }])

    const before = (await calls.get(sessionId)).body
    clock.advance(1000)
    for (const changes of [{ status: 'active' }, { status: 'active', metadata: { c: 3 } }]) {
      const { body, status } = await calls.update(sessionId, changes)
      expect([status, body]).toEqual([409, completed])
    }
    expect((await calls.get(sessionId)).body).toEqual(before)
    const { events, status } = await calls.chat(sessionId, 'hello')
    expect([status, events[0].error.code]).toEqual([409, 'SESSION_COMPLETED'])
    await service.stop()
  },
)

test('a completed session never expires', async () => {
  const { calls, clock, service } = await start()
  const sessionId = await calls.open()
  await calls.update(sessionId, { status: 'completed' })
  clock.advance(10 * dayMs)
  expect((await calls.get(sessionId)).body.status).toBe('completed')
  const { body, status } = await calls.update(sessionId, { status: 'completed', metadata: { a: 1 } })
  expect([status, body.metadata]).toEqual([200, { a: 1 }])
  expect((await calls.update(sessionId, { status: 'active' })).status).toBe(409)
  await service.stop()
})

test.each(vias)('a session expires over %s after exactly 24 idle hours and then gets 410', async (via) => {
  const { calls, clock, service } = await start(via)
  const [early, late] = [await calls.open('one', { a: 1 }), await calls.open('one', { a: 1 })]
  clock.advance(dayMs - 1)
  expect((await calls.update(early, { metadata: { b: 1 } })).status).toBe(200)
  clock.advance(1)
  for (const changes of [
    { status: 'completed' },
    { status: 'active' },
    { metadata: { a: 2 } },
    { metadata: {} },
    { metadata: { a: 'x'.repeat(20_000) } },
  ]) {
    const { body, status } = await calls.update(late, changes)
    expect([status, body]).toEqual([410, expired])
  }
  expect((await calls.get(late)).body).toMatchObject({
    status: 'expired',
    metadata: { a: 1 },
    updatedAt: '2026-01-15T12:00:00.000Z',
  })
  expect((await calls.get(early)).body).toMatchObject({ status: 'active', metadata: { a: 1, b: 1 } })
  const refused = await calls.chat(late, 'hello')
  expect([refused.status, refused.events[0].error.code]).toEqual([410, 'SESSION_NOT_FOUND'])
  await service.stop()
})

test('updates and chats extend the session by 24 hours; reads, rejections and failed chats do not', async () => {
  const { calls, clock, service } = await start()
  const counts = {
    metadata: (id: string) => calls.update(id, { metadata: { a: 1 } }),
    'no metadata': (id: string) => calls.update(id, { metadata: {} }),
    active: (id: string) => calls.update(id, { status: 'active' }),
    chat: (id: string) => calls.chat(id, 'hello'),
  }
  const doesNotCount = {
    get: (id: string) => calls.get(id),
    messages: (id: string) => calls.messages(id),
    list: () => calls.list(),
    'bad status': (id: string) => calls.update(id, { status: 'expired' }),
    'large metadata': (id: string) => calls.update(id, { metadata: { a: 'x'.repeat(20_000) } }),
    'failed chat': (id: string) => calls.chat(id, 'fail'),
  }
  const opened = async (acts: object) =>
    await Promise.all(Object.entries(acts).map(async ([name, act]) => ({ name, act, id: await calls.open() })))
  const [alive, left] = [await opened(counts), await opened(doesNotCount)]
  clock.advance(dayMs - 1)
  for (const { act, id } of [...alive, ...left]) await act(id)
  clock.advance(1)
  const status = async (id: string) => (await calls.get(id)).body.status
  for (const { id, name } of left) expect(await status(id), name).toBe('expired')
  for (const { id, name } of alive) expect(await status(id), name).toBe('active')
  clock.advance(dayMs - 2)
  for (const { id, name } of alive) expect(await status(id), name).toBe('active')
  clock.advance(1)
  for (const { id, name } of alive) expect(await status(id), name).toBe('expired')
  await service.stop()
})

test('the configuration sets the idle timeout', async () => {
  const clock = new FakeClock()
  const service = await startService({ config, clock, limits: { sessionIdleSeconds: 60 } })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key)
  const sessionId = await calls.open()
  clock.advance(59_999)
  expect((await calls.get(sessionId)).body.status).toBe('active')
  clock.advance(1)
  expect((await calls.get(sessionId)).body.status).toBe('expired')
  expect((await calls.update(sessionId, { status: 'completed' })).status).toBe(410)
  await service.stop()
})

test.each(vias)('metadata over %s is merged one level deep, and null removes a key', async (via) => {
  const { calls, service } = await start(via)
  const sessionId = await calls.open('one', { a: { x: 1, y: 2 }, b: [1, 2], c: 'c' })
  const steps: [changes: Record<string, unknown>, merged: Record<string, unknown>][] = [
    [{ a: { z: 3 } }, { a: { z: 3 }, b: [1, 2], c: 'c' }],
    [
      { b: [], c: { d: null } },
      { a: { z: 3 }, b: [], c: { d: null } },
    ],
    [{ none: null }, { a: { z: 3 }, b: [], c: { d: null } }],
    [{}, { a: { z: 3 }, b: [], c: { d: null } }],
    [
      { a: null, b: null, 'c.d': false, '': '' },
      { c: { d: null }, 'c.d': false, '': '' },
    ],
    [{ c: null, 'c.d': null, '': null }, {}],
    [{ c: 1 }, { c: 1 }],
  ]
  for (const [metadata, merged] of steps) {
    const { body, status } = await calls.update(sessionId, { metadata })
    expect([status, body.metadata, body.status]).toEqual([200, merged, 'active'])
    expect((await calls.get(sessionId)).body.metadata).toEqual(merged)
  }
  await service.stop()
})

test.each(vias)('built-in object property names are ordinary metadata keys over %s', async (via) => {
  const { calls, service } = await start(via)
  const names = ['constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', 'toJSON', '__defineGetter__']
  const all = Object.fromEntries(names.map((name) => [name, { [name]: 1 }]))
  const sessionId = await calls.open('one', {})
  expect((await calls.update(sessionId, { metadata: all })).body.metadata).toEqual(all)
  for (const name of names) {
    const { body } = await calls.update(sessionId, { metadata: { [name]: null } })
    expect(Object.keys(body.metadata)).not.toContain(name)
  }
  expect((await calls.get(sessionId)).body.metadata).toEqual({})
  await service.stop()
})

test.each(vias)('accepts 16,384 bytes of metadata over %s; one more byte gets 400 and changes nothing', async (via) => {
  const { calls, clock, service } = await start(via)
  const bytes = (metadata: object) => Buffer.byteLength(JSON.stringify(metadata))
  // Characters of two bytes show that the limit is in bytes.
  const most = { a: 'é'.repeat(4000), b: 'x'.repeat(16_384 - 8000 - 15) }
  expect(bytes(most)).toBe(16_384)
  const over = { ...most, b: `${most.b}x` }
  const expectTooLarge = ({ body, status }: { body: any; status: number }) => {
    expect(status).toBe(400)
    expect(body).toMatchObject({
      error: 'Bad request',
      details: [{ path: 'metadata', message: expect.stringContaining('16 KB') }],
    })
  }
  expectTooLarge(await calls.create({ agentId: 'one', metadata: over }))
  expect((await calls.list()).body.total).toBe(0)

  const sessionId = await calls.open('one', most)
  const before = (await calls.get(sessionId)).body
  expect(before.metadata).toEqual(most)
  clock.advance(1000)
  expectTooLarge(await calls.update(sessionId, { metadata: { b: over.b } }))
  expectTooLarge(await calls.update(sessionId, { metadata: { c: 1 } }))
  expectTooLarge(await calls.update(sessionId, { status: 'completed', metadata: { c: 1 } }))
  expect((await calls.get(sessionId)).body).toEqual(before)
  // Only the size of the merged metadata counts.
  const swapped = await calls.update(sessionId, { metadata: { a: null, c: 'y'.repeat(8000) } })
  expect(swapped.body.metadata).toEqual({ b: most.b, c: 'y'.repeat(8000) })
  await service.stop()
})

test('parallel updates over REST and RPC lose no keys', async () => {
  const { calls, key, service } = await start()
  const rpc = new SessionCalls(service, key, 'typed RPC')
  const sessionId = await calls.open()
  const keys = Array.from({ length: 20 }, (_, index) => `key${index}`)
  const answers = await Promise.all(
    keys.map((name, index) => (index % 2 ? calls : rpc).update(sessionId, { metadata: { [name]: index } })),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect(Object.keys((await calls.get(sessionId)).body.metadata).toSorted()).toEqual(keys.toSorted())
  await service.stop()
})

test('an update uses no rate limit slot and needs no balance', async () => {
  const service = await startService({ config, limits: { executionsPerMinute: 1 } })
  const { key } = await service.createPerson({ balanceUsd: '0' })
  const calls = new SessionCalls(service, key)
  const sessionId = await calls.open()
  for (let count = 0; count < 3; count++) {
    const { headers, status } = await calls.update(sessionId, { metadata: { count } })
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([200, '1'])
  }
  expect((await calls.delete(sessionId)).headers.get('x-ratelimit-remaining')).toBe('1')
  expect((await service.get('/api/transactions', key)).body.total).toBe(0)
  await service.stop()
})

test('updates only the session in the path and ignores read-only body fields', async () => {
  const { calls, key, service, userId } = await start()
  const [sessionId, other] = [await calls.open(), await calls.open()]
  const before = (await calls.get(other)).body
  const wished = {
    sessionId: other,
    id: other,
    userId: 'user_1',
    agentId: 'two',
    messageCount: 99,
    createdAt: '2000-01-01T00:00:00.000Z',
    updatedAt: '2000-01-01T00:00:00.000Z',
    metadata: { a: 1 },
  }
  const { body } = await service.request('PATCH', `/api/sessions/${sessionId}`, { key, body: wished })
  expect(body).toMatchObject({ id: sessionId, userId, agentId: 'one', messageCount: 0, metadata: { a: 1 } })
  expect(body).toMatchObject({ createdAt: '2026-01-15T12:00:00.000Z', updatedAt: '2026-01-15T12:00:00.000Z' })
  expect((await calls.get(other)).body).toEqual(before)
  await service.stop()
})

test.each(vias)('a title set over %s stays; without one, the next message becomes the title', async (via) => {
  const { calls, service } = await start(via)
  const sessionId = await calls.open('one')
  const titleIn = async () => [(await calls.get(sessionId)).body.title, (await calls.list()).body.sessions[0].title]
  expect(await titleIn()).toEqual([undefined, undefined])
  await calls.chat(sessionId, `  \n ${'🙂'.repeat(80)}\nmore`)
  expect(await titleIn()).toEqual(['🙂'.repeat(60), '🙂'.repeat(60)])
  expect((await calls.update(sessionId, { title: 'My chat' })).body).toMatchObject({
    title: 'My chat',
    status: 'active',
  })
  await calls.chat(sessionId, 'Another message')
  expect(await titleIn()).toEqual(['My chat', 'My chat'])
  await calls.update(sessionId, { metadata: { a: 1 } })
  expect((await calls.update(sessionId, { title: null })).body.title).toBeUndefined()
  await calls.chat(sessionId, 'A\u0000 third\tmessage')
  expect(await titleIn()).toEqual(['A  third message', 'A  third message'])
  await service.stop()
})
