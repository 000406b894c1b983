import { expect, test } from 'vitest'
import { expectRefused, expectRpcRefused, shareService } from '../support/raw-http.ts'

const guarded = shareService()
const post = (body: unknown, key = guarded.person.key) => guarded.service.post('/api/tasks', body, { key })
const postByRpc = (json: unknown) => guarded.service.post('/trpc/tasks.create', { json }, { key: guarded.person.key })
const long = (count: number) => 'x'.repeat(count)

type Case = [title: string, body: Record<string, unknown>, field: string]

const badFields: Case[] = [
  ['no endpointId', { params: {} }, 'endpointId'],
  ['a null endpointId', { endpointId: null, params: {} }, 'endpointId'],
  ['a number as endpointId', { endpointId: 1, params: {} }, 'endpointId'],
  ['an array as endpointId', { endpointId: ['test.echo'], params: {} }, 'endpointId'],
  ['an object as endpointId', { endpointId: { toString: 'test.echo' }, params: {} }, 'endpointId'],
  ['an empty endpointId', { endpointId: '', params: {} }, 'endpointId'],
  ['an endpointId of 201 characters', { endpointId: long(201), params: {} }, 'endpointId'],
  ['an endpointId of 10 KB', { endpointId: long(10_000), params: {} }, 'endpointId'],
  ['no params', { endpointId: 'test.echo' }, 'params'],
  ['null params', { endpointId: 'test.echo', params: null }, 'params'],
  ['an array as params', { endpointId: 'test.echo', params: [] }, 'params'],
  ['a string as params', { endpointId: 'test.echo', params: '{}' }, 'params'],
  ['a number as params', { endpointId: 'test.echo', params: 1 }, 'params'],
  ['a boolean as params', { endpointId: 'test.echo', params: true }, 'params'],
  ['null connectorIds', { endpointId: 'test.echo', params: {}, connectorIds: null }, 'connectorIds'],
  ['a string as connectorIds', { endpointId: 'test.echo', params: {}, connectorIds: 'con_1' }, 'connectorIds'],
  ['an object as connectorIds', { endpointId: 'test.echo', params: {}, connectorIds: { 0: 'a' } }, 'connectorIds'],
  ['a number as connector id', { endpointId: 'test.echo', params: {}, connectorIds: [1] }, 'connectorIds[0]'],
  ['null as connector id', { endpointId: 'test.echo', params: {}, connectorIds: ['a', null] }, 'connectorIds[1]'],
  ['an empty connector id', { endpointId: 'test.echo', params: {}, connectorIds: [''] }, 'connectorIds[0]'],
  [
    'a connector id of 201 characters',
    { endpointId: 'test.echo', params: {}, connectorIds: [long(201)] },
    'connectorIds[0]',
  ],
  ['21 connectors', { endpointId: 'test.echo', params: {}, connectorIds: Array(21).fill('con_1') }, 'connectorIds'],
]

test.each(badFields)('returns 400 and names the invalid field: %s', async (_title, body, field) => {
  await expectRefused(guarded, { status: 400, field }, () => post(body))
  await expectRpcRefused(guarded, { status: 400, field }, () => postByRpc(body))
})

test('returns 400 and names every invalid field', async () => {
  const { body } = await expectRefused(guarded, { status: 400, field: 'endpointId' }, () => post({ connectorIds: 1 }))
  expect(body.details.map(({ path }: { path: string }) => path)).toEqual(['endpointId', 'params', 'connectorIds'])
})

test.each([
  'nope.echo',
  'test.nope',
  'test',
  'test.',
  '.echo',
  'test..echo',
  'test.echo.x',
  'TEST.ECHO',
  ' test.echo',
  'test.echo ',
  'test.echo\0',
  'test.echo\n',
  'test/echo',
  'test.%65cho',
  '*',
  '__proto__',
  '__proto__.x',
  'constructor',
  'constructor.name',
  'toString',
  'test.constructor',
  'test.__proto__',
  `' OR 1=1 --`,
  '../../etc/passwd',
  'tеst.echo',
  long(200),
])('returns 404 for the unknown endpoint %j', async (endpointId) => {
  const expected = { status: 404, message: /endpoint not found/ }
  await expectRefused(guarded, expected, () => post({ endpointId, params: {} }))
  await expectRpcRefused(guarded, expected, () => postByRpc({ endpointId, params: {} }))
})

test.each([
  ['an unknown id', ['con_nope']],
  ['20 unknown ids', Array.from({ length: 20 }, (_, index) => `con_${index}`)],
  ['a path', ['../../etc/passwd']],
  ['the name of a built-in object member', ['__proto__']],
])('returns 404 for connectors that the caller does not own: %s', async (_title, connectorIds) => {
  const expected = { status: 404, message: /^Connector .* not found/ }
  await expectRefused(guarded, expected, () => post({ endpointId: 'test.echo', params: {}, connectorIds }))
  await expectRpcRefused(guarded, expected, () => postByRpc({ endpointId: 'test.echo', params: {}, connectorIds }))
})

test('ignores fields that clients may not set, such as price, owner and outcome', async () => {
  const { service } = guarded
  const [owner, other] = [await service.createPerson(), await service.createPerson()]
  const wished = {
    id: 'task_00000000000000000000000000',
    taskId: 'task_00000000000000000000000000',
    userId: other.userId,
    agentId: 'hidden',
    status: 'completed',
    costUsd: '0.0000',
    cost: 0,
    priceUsd: '-1.0000',
    price: -1,
    amountUsd: '5.0000',
    balanceUsd: '99.0000',
    request: { a: 2 },
    requestUri: '/etc/passwd',
    requestPayload: 'pay_1',
    response: { hacked: true },
    responseUri: 'file:///etc/passwd',
    error: { code: 'X', message: 'x', details: 'x' },
    createdAt: '2000-01-01T00:00:00.000Z',
    attempt: 9,
    queued: 0,
    idempotencyKey: 'x',
    scopes: ['manage'],
    isAdmin: true,
  }
  const body = { ...wished, endpointId: 'test.echo', params: { a: 1, ...wished } }
  const query = new URLSearchParams({ userId: other.userId, costUsd: '0', endpointId: 'test.free' })
  const created = await service.post(`/api/tasks?${query}`, body, { key: owner.key })
  expect(created.status).toBe(200)
  expect(created.body.taskId).not.toBe(wished.taskId)
  const { body: task } = await service.get(`/api/tasks/${created.body.taskId}?wait=10`, owner.key)
  expect(task).toMatchObject({ userId: owner.userId, agentId: 'test', endpointId: 'test.echo', costUsd: '0.0100' })
  expect(task).toMatchObject({ status: 'completed', error: null, request: body.params, response: body.params })
  expect(task).not.toHaveProperty('requestUri')
  expect(task).not.toHaveProperty('responseUri')
  expect((await service.get('/api/account', owner.key)).body.balanceUsd).toBe('9.9900')
  expect((await service.get('/api/account', other.key)).body.balanceUsd).toBe('10.0000')
  expect((await service.get('/api/tasks', other.key)).body.total).toBe(0)
})

test('a balance 0.0001 USD short gets 403 with both amounts; the exact price suffices', async () => {
  const { service } = guarded
  const short = await service.createPerson({ balanceUsd: '1.2344' })
  const expected = { status: 403, error: 'Insufficient balance', message: /1\.2344.*1\.2345/ }
  await expectRefused({ service, person: short }, expected, () => service.createTask(short.key, 'test.dear'))
  await expectRpcRefused({ service, person: short }, expected, () =>
    service.post('/trpc/tasks.create', { json: { endpointId: 'test.dear', params: {} } }, { key: short.key }),
  )
  const exact = await service.createPerson({ balanceUsd: '1.2345' })
  const { body, status } = await service.createTask(exact.key, 'test.dear')
  expect(status).toBe(200)
  expect((await service.get('/api/account', exact.key)).body.balanceUsd).toBe('0.0000')
  // Waits for the end. Otherwise its event would count as a change below.
  await service.get(`/api/tasks/${body.taskId}?wait=20`, exact.key)
  const person = await service.createPerson({ balanceUsd: '0' })
  await expectRefused({ service, person }, { ...expected, message: /0\.0000.*0\.0100/ }, () =>
    service.createTask(person.key, 'test.echo'),
  )
})

test('a large request rejected with 403 leaves no payload behind', async () => {
  const { service } = guarded
  const person = await service.createPerson({ balanceUsd: '0.0099' })
  await expectRefused({ service, person }, { status: 403, error: 'Insufficient balance' }, () =>
    service.createTask(person.key, 'test.echo', { a: long(20_000) }),
  )
})

test('returns 404 for an agent hidden from the caller, 403 without the scope execute', async () => {
  const { service, person } = guarded
  await expectRefused(guarded, { status: 404 }, () => post({ endpointId: 'hidden.echo', params: {} }))
  const reader = await service.createKey(person.userId, ['read', 'manage'])
  await expectRefused(guarded, { status: 403, message: /execute/ }, () =>
    post({ endpointId: 'test.echo', params: {} }, reader),
  )
})

test('checks a request in a fixed order', async () => {
  const { service } = guarded
  const poor = { service, person: await service.createPerson({ balanceUsd: '0' }) }
  const { key } = poor.person
  const connectorIds = ['con_nope']
  const refused = (status: number, body: unknown) => expectRefused(poor, { status }, () => post(body, key))
  await refused(400, { endpointId: 'nope.echo', params: 1, connectorIds })
  await refused(404, { endpointId: 'nope.echo', params: {}, connectorIds })
  await refused(400, { endpointId: 'test.typed', params: {}, connectorIds })
  await refused(404, { endpointId: 'hidden.echo', params: {}, connectorIds })
  const { body } = await refused(404, { endpointId: 'test.echo', params: {}, connectorIds })
  expect(body.message).toMatch(/Connector/)
})

test('errors after authentication include the rate limit headers', async () => {
  const { headers } = await expectRefused(guarded, { status: 400 }, () => post({}))
  expect(headers.get('x-ratelimit-limit')).toBe('10')
  expect(headers.get('x-ratelimit-remaining')).toBe('10')
  expect(headers.get('x-ratelimit-reset')).toMatch(/^\d{10}$/)
})
