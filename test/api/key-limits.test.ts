import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type Answer, type TestService } from '../support/test-service.ts'
import { expectStatus, signUp } from './signed-in.ts'

const hour = 3_600_000
const midnight = '2026-01-16T00:00:00.000Z'

async function limited(service: TestService, limits: object, balanceUsd = '10') {
  const { key: owner, userId } = await service.createPerson({ balanceUsd })
  const created = await expectStatus(200, service.post('/api/keys', { name: 'limited', ...limits }, { key: owner }))
  const { id, key } = created
  return {
    created,
    id,
    key,
    owner,
    userId,
    create: (endpointId = 'test.echo') => service.createTask(key, endpointId),
    change: (body: object) => service.request('PATCH', `/api/keys/${id}`, { key: owner, body }),
    read: async () => (await service.get('/api/keys', owner)).body.keys.find((one: { id: string }) => one.id === id),
  }
}

function expectRefused(
  { body, headers, status }: Answer,
  own: { code: string; message: string; retryAfter: string | null },
) {
  expect([status, body.code, body.message]).toEqual([
    own.code === 'RATE_LIMIT_EXCEEDED' ? 429 : 403,
    own.code,
    own.message,
  ])
  expect(headers.get('retry-after')).toBe(own.retryAfter)
}

test('enforces the daily limit, reports amounts and reset time, and resets the next day', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { create, created, key, owner, read } = await limited(service, { limitUsd: '0.025', limitReset: 'day' })
  const limits = { limitUsd: '0.0250', limitReset: 'day', resetsAt: midnight, executionsPerMinute: null, agents: null }
  expect(created).toMatchObject({ ...limits, usedUsd: '0.0000' })
  for (let tasks = 0; tasks < 2; tasks++) await expectStatus(200, create())
  const refusal = {
    code: 'LIMIT_REACHED',
    message:
      'This API key can spend 0.0250 USD per day: 0.0200 USD has been spent, and this request needs 0.0100 USD. The limit resets at 2026-01-16T00:00:00.000Z.',
    retryAfter: String(12 * 3600),
  }
  const refused = await create()
  expectRefused(refused, refusal)
  expect(refused.body).toEqual({
    error: 'Limit reached',
    statusCode: 403,
    code: refusal.code,
    message: refusal.message,
  })
  expect(await read()).toMatchObject({ ...limits, usedUsd: '0.0200' })
  // The key sees its own limits, which do not affect the user's other keys.
  const { credential } = await expectStatus(200, service.get('/api/account', key))
  const { limitReset: _, ...told } = limits
  expect(credential).toEqual({ ...told, usedUsd: '0.0200' })
  expect(await expectStatus(200, service.get('/api/account', owner))).toMatchObject({ credential: null })
  await expectStatus(200, service.createTask(owner, 'test.echo'))
  const quote = { task: { endpointId: 'test.echo', params: {} } }
  expectRefused(await service.post('/api/quotes', quote, { key }), refusal)
  clock.advance(12 * hour)
  await expectStatus(200, create())
  expect(await read()).toMatchObject({ usedUsd: '0.0100', resetsAt: '2026-01-17T00:00:00.000Z' })
  await service.stop()
})

test('a limit without reset reports no reset time, and refunded tasks do not count', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { create, key, read } = await limited(service, { limitUsd: '0.02' })
  for (let tasks = 0; tasks < 3; tasks++)
    expect(await service.runTask(key, 'test.fail')).toMatchObject({ status: 'failed' })
  expect(await read()).toMatchObject({ usedUsd: '0.0000', limitReset: 'never', resetsAt: null })
  await service.runTask(key, 'test.echo')
  const message = 'This API key can spend 0.0200 USD: 0.0100 USD has been spent, and this request needs 0.0200 USD.'
  expectRefused(await create('test.fail'), { code: 'LIMIT_REACHED', message, retryAfter: null })
  await expectStatus(200, create('test.free'))
  await service.stop()
})

test('a key pays for exactly as many of 200 parallel requests as its limit allows', async () => {
  const service = await startService({ limits: { executionsPerMinute: 0, maxQueuedTasks: 1000 } })
  const { create, read, userId } = await limited(service, { limitUsd: '0.37', limitReset: 'month' })
  const answers = await Promise.all(Array.from({ length: 200 }, () => create()))
  const statuses = answers.map(({ status }) => status)
  expect([
    statuses.filter((status) => status === 200).length,
    statuses.filter((status) => status === 403).length,
  ]).toEqual([37, 163])
  expect(await read()).toMatchObject({ usedUsd: '0.3700' })
  expect((await service.app.store.getAccount(userId))!.balance).toBe(100_000 - 3700)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('a key has its own execution limit per minute', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { create, key, owner } = await limited(service, { executionsPerMinute: 2 })
  clock.advance(20_000)
  for (let tasks = 0; tasks < 2; tasks++) await expectStatus(200, create())
  const message =
    'At most 2 agent executions per minute are allowed with this API key. Retry after 2026-01-15T12:01:00.000Z.'
  const refused = await create()
  expectRefused(refused, { code: 'RATE_LIMIT_EXCEEDED', message, retryAfter: '40' })
  // Expects no rate limit headers, because these describe the user's limit, which is not reached.
  expect(refused.headers.get('x-ratelimit-limit')).toBeNull()
  expect((await service.createTask(owner, 'test.echo')).headers.get('x-ratelimit-remaining')).toBe('7')
  expect(await expectStatus(200, service.get('/api/account', key))).toMatchObject({
    credential: { executionsPerMinute: 2 },
  })
  clock.advance(40_000)
  await expectStatus(200, create())
  await service.stop()
})

test('a key limited to some agents cannot run others or see them in its list', async () => {
  const service = await startService()
  const { create, key, owner } = await limited(service, { agents: ['test'] })
  await expectStatus(200, create())
  const other = await expectStatus(200, service.post('/api/sessions', { agentId: 'talk' }, { key: owner }))
  const chat = { sessionId: other.sessionId, message: 'Hello' }
  const headers = { Accept: 'application/json' }
  for (const answer of [
    await service.post('/api/sessions', { agentId: 'talk' }, { key }),
    await service.post('/api/chat', chat, { key, headers }),
    await service.post('/api/quotes', { chat }, { key }),
  ]) {
    expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN'])
    expect(answer.body.message).toContain('This credential does not allow the agent talk')
  }
  // A nonexistent agent gets a 404, as with any key.
  expect((await service.post('/api/sessions', { agentId: 'ghost' }, { key })).status).toBe(404)
  const { agents } = await expectStatus(200, service.get('/api/agents', key))
  expect(agents.map(({ id }: { id: string }) => id)).toEqual(['test'])
  await service.stop()
})

test('limits change individually, apply to the next request, and are removed by null', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { change, create, id, key, owner, read } = await limited(service, {
    limitUsd: '0.01',
    agents: ['test', 'talk'],
  })
  await expectStatus(200, create())
  expect((await create()).status).toBe(403)
  expect(await expectStatus(200, change({ limitUsd: '0.02', limitReset: 'week' }))).toMatchObject({
    limitUsd: '0.0200',
    limitReset: 'week',
    // The spending of this week still counts.
    usedUsd: '0.0100',
    resetsAt: '2026-01-19T00:00:00.000Z',
    agents: ['test', 'talk'],
  })
  await expectStatus(200, change({ limitReset: 'never' }))
  expect(await read()).toMatchObject({ limitUsd: '0.0200', limitReset: 'never', usedUsd: '0.0100' })
  await expectStatus(200, create())
  // The new limit is below the amount already spent.
  await expectStatus(200, change({ limitUsd: '0.005', agents: ['talk'], executionsPerMinute: 3 }))
  expect(await read()).toMatchObject({
    limitUsd: '0.0050',
    usedUsd: '0.0200',
    executionsPerMinute: 3,
    agents: ['talk'],
  })
  expect((await create()).body.message).toContain('does not allow the agent test')
  await expectStatus(200, change({ limitUsd: null, agents: null, executionsPerMinute: null }))
  const none = {
    limitUsd: null,
    limitReset: null,
    usedUsd: null,
    resetsAt: null,
    executionsPerMinute: null,
    agents: null,
  }
  expect(await read()).toMatchObject(none)
  await expectStatus(200, create())
  expect(await change({ limitReset: 'day' })).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
  await expectStatus(200, service.request('DELETE', `/api/keys/${id}`, { key: owner }))
  expect(await change({ limitUsd: '1' })).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
  expect((await service.get('/api/account', key)).status).toBe(401)
  await service.stop()
})

test('a rotated key shares the limits and remaining amount of the old one', async () => {
  const service = await startService()
  const { create, id, owner } = await limited(service, {
    limitUsd: '0.03',
    limitReset: 'month',
    executionsPerMinute: 9,
  })
  await expectStatus(200, create())
  const rotated = await expectStatus(200, service.post(`/api/keys/${id}/rotate`, {}, { key: owner }))
  expect(rotated).toMatchObject({ limitUsd: '0.0300', usedUsd: '0.0100', executionsPerMinute: 9 })
  await expectStatus(200, service.createTask(rotated.key, 'test.echo'))
  await expectStatus(200, create())
  for (const answer of [await create(), await service.createTask(rotated.key, 'test.echo')])
    expect(answer.body.code).toBe('LIMIT_REACHED')
  await service.stop()
})

test('a key with limits cannot create or change keys, and can rotate only itself', async () => {
  const service = await startService()
  const { id, key, owner } = await limited(service, { limitUsd: '1' })
  const { keys } = (await service.get('/api/keys', owner)).body
  const other = keys.find((one: { id: string }) => one.id !== id).id
  const message = 'An API key with limits cannot create or change keys. Use a key without limits or a browser login.'
  for (const answer of [
    await service.post('/api/keys', { name: 'free' }, { key }),
    await service.request('PATCH', `/api/keys/${id}`, { key, body: { limitUsd: null } }),
    await service.request('PATCH', `/api/keys/${other}`, { key, body: { limitUsd: null } }),
    await service.post(`/api/keys/${other}/rotate`, {}, { key }),
  ])
    expect([answer.status, answer.body.code, answer.body.message]).toEqual([403, 'FORBIDDEN', message])
  expect((await service.get('/api/keys', owner)).body.total).toBe(2)
  expect(await expectStatus(200, service.post(`/api/keys/${id}/rotate`, {}, { key }))).toMatchObject({
    limitUsd: '1.0000',
  })
  await service.stop()
})

test.each([
  [{ limitUsd: '-1' }, 'limitUsd'],
  [{ limitUsd: 1 }, 'limitUsd'],
  [{ limitUsd: '0.00001' }, 'limitUsd'],
  [{ limitUsd: '1', limitReset: 'year' }, 'limitReset'],
  [{ limitReset: 'day' }, 'limitReset'],
  [{ executionsPerMinute: 0 }, 'executionsPerMinute'],
  [{ executionsPerMinute: 1.5 }, 'executionsPerMinute'],
  [{ agents: [] }, 'agents'],
  [{ agents: ['test', 'ghost'] }, 'agents[1]'],
  [{ agents: Array.from({ length: 51 }, () => 'test') }, 'agents'],
])('rejects %j with 400 and creates or changes no key', async (limits, path) => {
  const service = await startService()
  const { key } = await service.createPerson()
  const { keys } = (await service.get('/api/keys', key)).body
  const created = await service.post('/api/keys', { name: 'one', ...limits }, { key })
  expect([created.status, created.body.details[0].path]).toEqual([400, path])
  if (path !== 'limitReset') {
    const changed = await service.request('PATCH', `/api/keys/${keys[0].id}`, { key, body: limits })
    expect([changed.status, changed.body.details[0].path]).toEqual([400, path])
  }
  expect((await service.get('/api/keys', key)).body.keys).toMatchObject([{ limitUsd: null, agents: null }])
  await service.stop()
})

test("returns the same 404 for another user's key as for an unknown one", async () => {
  const service = await startService()
  const { browser } = await signUp(service)
  const { id } = await limited(service, { limitUsd: '1' })
  const change = (keyId: string) => browser.request('PATCH', `/api/keys/${keyId}`, { body: { limitUsd: '2' } })
  const [theirs, unknown] = [await change(id), await change('key_00000000000000000000000000')]
  expect([theirs.status, theirs.body]).toEqual([404, unknown.body])
  await service.stop()
})
