import { expect, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { expectRefused, expectRpcRefused, shareService } from '../support/raw-http.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { sessionAgents, SessionCalls, vias } from './session-calls.ts'

const guarded = shareService()
const get = (path: string) => guarded.service.get(path, guarded.person.key)
const post = (path: string, body: unknown) => guarded.service.post(path, body, { key: guarded.person.key })
const rpc = (name: string, json: unknown) =>
  guarded.service.get(`/trpc/${name}?input=${encodeURIComponent(JSON.stringify({ json }))}`, guarded.person.key)
const long = (count: number) => 'x'.repeat(count)
const pairs = (count: number, value = 'x') =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`name-${n}`, value]))

const badTags: [title: string, tags: unknown, field: string][] = [
  ['null', null, 'tags'],
  ['a string', 'a:b', 'tags'],
  ['an array', ['a:b'], 'tags'],
  ['17 pairs', pairs(17), 'tags'],
  ['more than 4 KB', pairs(16, long(250)), 'tags'],
  ['more than 4 KB of multibyte characters', pairs(8, '😀'.repeat(200)), 'tags'],
  ['an empty name', { '': 'x' }, 'tags'],
  ['a name of 65 characters', { [long(65)]: 'x' }, `tags.${long(64)}`],
  ['a name with a colon', { 'a:b': 'x' }, 'tags'],
  ['a name with a quote', { 'a"': 'x' }, 'tags'],
  ['a name with a space', { 'a b': 'x' }, 'tags'],
  ['the name __proto__', JSON.parse('{"__proto__":"x"}'), 'tags.__proto__'],
  ['an empty value', { a: '' }, 'tags.a'],
  ['a value of 257 characters', { a: long(257) }, 'tags.a'],
  ['a number', { a: 1 }, 'tags.a'],
  ['an object', { a: { b: 'c' } }, 'tags.a'],
  ['a zero byte', { a: 'x\0' }, 'tags.a'],
  ['a line break', { a: 'x\ny' }, 'tags.a'],
  ['a lone surrogate', { a: '\ud800' }, 'tags.a'],
]

test.each(badTags)('rejects invalid task and session tags: %s', async (_title, tags, field) => {
  const refusal = { status: 400, ...(field === 'tags' ? { message: /tags/ } : { field }) }
  await expectRefused(guarded, refusal, () => post('/api/tasks', { endpointId: 'test.echo', params: {}, tags }))
  await expectRpcRefused(guarded, refusal, () =>
    guarded.service.post(
      '/trpc/tasks.create',
      { json: { endpointId: 'test.echo', params: {}, tags } },
      { key: guarded.person.key },
    ),
  )
  await expectRefused(guarded, refusal, () => post('/api/sessions', { agentId: 'test', tags }))
  await expectRefused(guarded, refusal, () =>
    guarded.service.request('PATCH', '/api/sessions/ses_1', { key: guarded.person.key, body: { tags } }),
  )
})

const times = [
  '',
  'now',
  '0',
  '1768478400000',
  '2026-01-15',
  '2026-02-30T00:00:00Z',
  '2026-01-15T12:00:00',
  'x'.repeat(41),
]
const timed = ['tasks', 'sessions', 'transactions']

test.each(times)('rejects %j as createdAfter and createdBefore on every list that supports them', async (time) => {
  for (const field of ['createdAfter', 'createdBefore']) {
    for (const list of timed) {
      await expectRefused(guarded, { status: 400, field }, () =>
        get(`/api/${list}?${field}=${encodeURIComponent(time)}`),
      )
      await expectRpcRefused(guarded, { status: 400, field }, () => rpc(`${list}.list`, { [field]: time }))
    }
  }
})

test.each(['', 'a', ':', ':b', 'a:', 'a b:c', `${long(65)}:x`, `a:${long(257)}`, 'a:\0', 'a"b:c', '__proto__:x'])(
  'returns 400 for the tag filter %j',
  async (tag) => {
    const message = /tag\[0\]/
    for (const list of ['tasks', 'sessions']) {
      await expectRefused(guarded, { status: 400, message }, () => get(`/api/${list}?tag=${encodeURIComponent(tag)}`))
      await expectRpcRefused(guarded, { status: 400, message }, () => rpc(`${list}.list`, { tag: [tag] }))
    }
  },
)

test('rejects a filter with four tags, and a non-array tag filter over typed RPC', async () => {
  for (const list of ['tasks', 'sessions']) {
    const query = 'tag=a:b&tag=a:c&tag=a:d&tag=a:e'
    await expectRefused(guarded, { status: 400, field: 'tag' }, () => get(`/api/${list}?${query}`))
    await expectRpcRefused(guarded, { status: 400, field: 'tag' }, () => rpc(`${list}.list`, { tag: 'a:b' }))
  }
})

test('rejects a cursor that was altered or belongs to another user, list or filter', async () => {
  const { key } = guarded.person
  const create = (token: string) =>
    guarded.service.post('/api/tasks', { endpointId: 'test.free', params: {} }, { key: token })
  const other = await guarded.service.createPerson()
  for (const token of [key, key, other.key, other.key]) {
    const { body, status } = await create(token)
    expect(status).toBe(200)
    // Waits for the end. A running task would write while requests are rejected.
    await guarded.service.get(`/api/tasks/${body.taskId}?wait=20`, token)
  }
  const next: string = (await get('/api/tasks?limit=1')).body.next
  expect((await get(`/api/tasks?limit=1&after=${next}`)).body.tasks).toHaveLength(1)
  const theirs: string = (await guarded.service.get('/api/tasks?limit=1', other.key)).body.next
  const refusedCursors = [
    `/api/tasks?after=${theirs}`,
    `/api/transactions?after=${next}`,
    `/api/sessions?after=${next}`,
    `/api/tasks?agentId=test&after=${next}`,
    `/api/tasks?tag=a:b&after=${next}`,
    `/api/tasks?offset=1&after=${next}`,
    ...['', 'x', long(201), `${next}x`, next.slice(1), next.toUpperCase(), '0-0-aaaaaaaaaaaa', "' OR 1=1 --"].map(
      (cursor) => `/api/tasks?after=${encodeURIComponent(cursor)}`,
    ),
    ...Array.from(next, (letter, at) => {
      const changed = next.slice(0, at) + (letter === '1' ? '2' : '1') + next.slice(at + 1)
      return `/api/tasks?after=${changed}`
    }),
  ]
  for (const path of refusedCursors) await expectRefused(guarded, { status: 400, field: 'after' }, () => get(path))
  for (const after of [1, null, {}, [next]]) {
    await expectRpcRefused(guarded, { status: 400, field: 'after' }, () => rpc('tasks.list', { after }))
  }
})

async function tagged(service: TestService, key: string, tags: Record<string, string>): Promise<string> {
  const body = { endpointId: 'test.free', params: {}, tags }
  const answer = await service.post('/api/tasks', body, { key })
  expect(answer.status).toBe(200)
  return answer.body.taskId
}

test('finds tasks by tags and times, page by page, and only for their creator', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock, limits: { executionsPerMinute: 0 } })
  const [{ key }, stranger] = [await service.createPerson(), await service.createPerson()]
  const ids: string[] = []
  for (let index = 0; index < 9; index++) {
    ids.unshift(await tagged(service, key, { order: `A:${index % 3}`, 'batch.no': 'été "1"' }))
    clock.advance(1000)
  }
  await tagged(service, stranger.key, { order: 'A:1' })
  const untagged = (await service.post('/api/tasks', { endpointId: 'test.free', params: {}, tags: {} }, { key })).body
  expect((await service.get(`/api/tasks/${untagged.taskId}`, key)).body).not.toHaveProperty('tags')
  expect((await service.get(`/api/tasks/${ids[0]}`, key)).body.tags).toEqual({ order: 'A:2', 'batch.no': 'été "1"' })
  const list = async (query: string) => {
    const { body, status } = await service.get(`/api/tasks?${query}`, key)
    expect(status, query).toBe(200)
    return { ...body, ids: body.tasks.map(({ id }: { id: string }) => id) }
  }
  const both = `tag=order:A:1&tag=batch.no:${encodeURIComponent('été "1"')}`
  expect(await list(both)).toMatchObject({ ids: [ids[1], ids[4], ids[7]], total: 3, limit: 50, offset: 0 })
  expect(await list(both)).not.toHaveProperty('next')
  expect(await list('tag=order:A:1&tag=order:A:2')).toMatchObject({ ids: [], total: 0 })
  const from = 'createdAfter=2026-01-15T12:00:02Z&createdBefore=2026-01-15T13:00:06%2B01:00'
  expect(await list(from)).toMatchObject({ ids: ids.slice(3, 6), total: 3 })
  const first = await list(`${from}&limit=2`)
  expect(first).toMatchObject({ ids: ids.slice(3, 5), total: 3, next: expect.any(String) })
  expect(await list(`${from}&limit=2&after=${first.next}`)).toMatchObject({ ids: [ids[5]], total: 3 })
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const found: string[] = []
  for await (const { id } of client.tasks.list({ tag: ['order:A:0'], limit: 1 })) {
    found.push(id)
    await tagged(service, key, { order: 'A:0' })
  }
  expect(found).toEqual([ids[2], ids[5], ids[8]])
  const seen: string[] = []
  for await (const { id } of client.transactions.list({ limit: 4, createdBefore: '2026-01-15T12:00:04Z' }))
    seen.push(id)
  expect(new Set(seen).size).toBe(5)
  await service.stop()
})

test.each(['', long(201)])('rejects the search %j', async (search) => {
  await expectRefused(guarded, { status: 400, field: 'search' }, () => get(`/api/tasks?search=${search}`))
  await expectRpcRefused(guarded, { status: 400, field: 'search' }, () => rpc('tasks.list', { search }))
})

test('rejects an unknown include, and an empty endpoint or key', async () => {
  for (const [field, value] of [
    ['include', 'everything'],
    ['endpointId', ''],
    ['keyId', ''],
  ] as const) {
    await expectRefused(guarded, { status: 400, field }, () => get(`/api/tasks?${field}=${value}`))
    await expectRpcRefused(guarded, { status: 400, field }, () => rpc('tasks.list', { [field]: value }))
  }
})

test('finds tasks by text, endpoint and API key, with a preview on request', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const other = await service.createKey(userId)
  const invoice = await service.runTask(key, 'test.echo', { text: 'Invoice "INV 1357"' })
  const failed = await service.runTask(other, 'test.fail', { reason: 'inv 1357' })
  await service.runTask(other, 'test.echo', { text: 'INV 2468' })
  const list = async (query: Record<string, string>, token = key) => {
    const { body, status } = await service.get(`/api/tasks?${new URLSearchParams(query)}`, token)
    expect(status).toBe(200)
    return body
  }
  const idsOf = async (query: Record<string, string>) => (await list(query)).tasks.map(({ id }: { id: string }) => id)
  expect(await idsOf({ search: 'inv 1357' })).toEqual([failed.id, invoice.id])
  expect(await idsOf({ search: '"INV 1357"' })).toEqual([invoice.id])
  expect(await idsOf({ search: failed.error.message })).toContain(failed.id)
  expect(await idsOf({ search: 'inv 1357', endpointId: 'test.fail' })).toEqual([failed.id])
  expect(await idsOf({ search: 'inv', keyId: invoice.keyId })).toEqual([invoice.id])
  expect((await list({})).tasks[0]).not.toHaveProperty('preview')
  const [, shown] = (await list({ include: 'preview' })).tasks
  expect(shown).toMatchObject({ preview: '{"reason":"inv 1357"}', errorMessage: failed.error.message })
  const client = createClient({ baseUrl: service.url, apiKey: key })
  expect(await client.tasks.list({ search: 'INV 13', limit: 1 })).toMatchObject({
    total: 2,
    tasks: [{ id: failed.id }],
  })
  const stranger = await service.createPerson()
  expect(await list({ search: 'inv' }, stranger.key)).toMatchObject({ total: 0 })
  await service.stop()
})

test('tasks.run sets the tags, and a reused key with different tags gets 409', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const input = { endpointId: 'test.free', params: {}, tags: { order: '1' } }
  expect(await client.tasks.run(input, { idempotencyKey: 'k' })).toMatchObject({ tags: { order: '1' } })
  const again = await service.post(
    '/api/tasks',
    { ...input, tags: { order: '2' } },
    { key, headers: { 'Idempotency-Key': 'k' } },
  )
  expect(again.status).toBe(409)
  await service.stop()
})

test.each(vias)('sets, merges and removes session tags over %s, and filters lists by tag', async (via) => {
  const service = await startService({ config: sessionAgents })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key, via)
  const { sessionId } = (await calls.create({ agentId: 'one', tags: { team: 'red', plan: 'a' } })).body
  await calls.create({ agentId: 'one' })
  const tagsOf = async () => (await calls.get(sessionId)).body.tags
  expect(await tagsOf()).toEqual({ team: 'red', plan: 'a' })
  expect((await calls.update(sessionId, { tags: { plan: null, team: 'blue' } })).body.tags).toEqual({ team: 'blue' })
  expect((await calls.update(sessionId, { metadata: { a: 1 } })).body.tags).toEqual({ team: 'blue' })
  const found = await service.get('/api/sessions?tag=team:blue&createdAfter=2020-01-01T00:00:00Z', key)
  expect(found.body).toMatchObject({ total: 1, sessions: [{ id: sessionId, tags: { team: 'blue' } }] })
  const full = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`n${n}`, 'x']))
  expect(await calls.update(sessionId, { tags: full })).toMatchObject({ status: 400, body: { message: /tags/ } })
  expect((await calls.update(sessionId, { tags: { team: null } })).body).not.toHaveProperty('tags')
  expect((await service.get('/api/sessions?tag=team:blue', key)).body).toEqual({
    sessions: [],
    total: 0,
    limit: 50,
    offset: 0,
  })
  await service.stop()
})
