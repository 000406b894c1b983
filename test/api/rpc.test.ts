import { createTRPCClient, httpBatchLink, TRPCClientError } from '@trpc/client'
import superjson from 'superjson'
import { expect, test } from 'vitest'
import type { AppRouter } from '../../server/edge/root-router.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type Answer, type TestService } from '../support/test-service.ts'

const task = (endpointId: string, params: unknown = {}) => ({ json: { endpointId, params } })

function call(service: TestService, key: string | null, path: string, input: unknown = {}): Promise<Answer> {
  return service.post(`/trpc/${path}`, input, { key })
}

function query(service: TestService, key: string | null, path: string, input?: unknown): Promise<Answer> {
  const rest = input === undefined ? '' : `?input=${encodeURIComponent(JSON.stringify(input))}`
  return service.get(`/trpc/${path}${rest}`, key)
}

function typedClient(service: TestService, key: string, headers: Record<string, string> = {}) {
  const link = httpBatchLink({
    url: `${service.url}/trpc`,
    transformer: superjson,
    headers: { Authorization: `Bearer ${key}`, ...headers },
  })
  return createTRPCClient<AppRouter>({ links: [link] })
}

test('each operation returns the same over RPC as over REST', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { key } = await service.createPerson()
  const client = typedClient(service, key)
  const created = await client.tasks.create.mutate({ endpointId: 'test.echo', params: { a: 1 } })
  expect(created).toEqual({ taskId: expect.stringMatching(/^task_/), status: 'pending', message: 'Task created' })
  const { taskId } = created
  await client.tasks.get.query({ taskId, wait: 10 })
  const pairs: [unknown, string][] = [
    [await client.tasks.get.query({ taskId }), `/api/tasks/${taskId}`],
    [await client.tasks.list.query({ status: 'completed', limit: 5 }), '/api/tasks?status=completed&limit=5'],
    [await client.transactions.list.query({ taskId }), `/api/transactions?taskId=${taskId}`],
    [await client.agents.list.query({}), '/api/agents'],
    [await client.agents.get.query({ agentId: 'test' }), '/api/agents/test'],
    [await client.account.get.query(), '/api/account'],
    [await client.keys.list.query({}), '/api/keys'],
  ]
  for (const [result, path] of pairs) expect(result, path).toEqual((await service.get(path, key)).body)

  const made = await client.keys.create.mutate({ name: 'by RPC', scopes: ['read'] })
  expect((await service.get('/api/account', made.key)).status).toBe(200)
  const rotated = await client.keys.rotate.mutate({ keyId: made.id, overlapSeconds: 0 })
  expect((await service.get('/api/account', made.key)).status).toBe(401)
  await client.keys.revoke.mutate({ keyId: rotated.id })
  expect((await service.get('/api/account', rotated.key)).status).toBe(401)
  await service.stop()
})

test('simultaneous calls in one batch succeed or fail independently', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = typedClient(service, key)
  const outcomes = await Promise.allSettled([
    client.tasks.create.mutate({ endpointId: 'test.echo', params: {} }),
    client.tasks.create.mutate({ endpointId: 'test.nothing', params: {} }),
    client.tasks.create.mutate({ endpointId: 'test.typed', params: { text: 1 } }),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  for (const error of errors) expect(error).toBeInstanceOf(TRPCClientError)
  expect(errors.map(({ data, message }) => [data.errorCode, data.httpStatus, message])).toEqual([
    ['NOT_FOUND', 404, 'Agent endpoint not found. GET /api/agents lists the available endpoints.'],
    ['BAD_REQUEST', 400, 'params.text: Must be a string'],
  ])
  expect((await service.get('/api/tasks', key)).body.total).toBe(1)
  await service.stop()
})

test('a batch sends superjson inputs keyed by position and returns one array of results', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '2.0000' })
  const { body, headers, status } = await service.post(
    '/trpc/tasks.create,tasks.create?batch=1',
    { 0: task('test.free'), 1: task('test.dear') },
    { key },
  )
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
  const result = {
    result: { data: { json: { taskId: expect.any(String), status: 'pending', message: 'Task created' } } },
  }
  expect(body).toEqual([result, result])
  expect(headers.get('x-ratelimit-remaining')).toBe('8')
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('0.7655')
  await service.stop()
})

test('an error has exactly the message, errorCode, status and details of REST, plus its path', async () => {
  const service = await startService({ clock: new FakeClock(), limits: { executionsPerMinute: 1 } })
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const codes = { code: expect.any(Number), data: { code: expect.any(String) } }
  const error = (message: string, data: object) => ({
    error: { json: { code: codes.code, message, data: { ...codes.data, ...data } } },
  })
  const path = 'tasks.create'
  const bad = await call(service, key, path, task('test.typed', { text: '' }))
  expect(bad.status).toBe(400)
  const { message } = bad.body.error.json.data.details[0]
  expect(bad.body).toEqual(
    error(`params.text: ${message}`, {
      httpStatus: 400,
      path,
      errorCode: 'BAD_REQUEST',
      details: [{ path: 'params.text', message }],
    }),
  )
  const input = await call(service, key, path, { json: {} })
  expect(input.body.error.json.data.details.map((detail: { path: string }) => detail.path)).toEqual([
    'endpointId',
    'params',
  ])

  const poor = await call(service, key, path, task('test.dear'))
  expect([poor.status, poor.body]).toEqual([
    403,
    error('The balance of 1.0000 USD is lower than the required 1.2345 USD. Add credit.', {
      httpStatus: 403,
      path,
      errorCode: 'INSUFFICIENT_BALANCE',
    }),
  ])
  expect((await call(service, key, path, task('test.echo'))).status).toBe(200)
  const limited = await call(service, key, path, task('test.echo'))
  expect([limited.status, limited.headers.get('retry-after'), limited.body]).toEqual([
    429,
    '60',
    error('At most 1 agent executions per minute are allowed. Wait before you try again.', {
      httpStatus: 429,
      path,
      errorCode: 'RATE_LIMIT_EXCEEDED',
      retryAfterSeconds: 60,
    }),
  ])
  const missing = await query(service, key, 'tasks.get', { json: { taskId: 'task_0' } })
  expect([missing.status, missing.body]).toEqual([
    404,
    error('Task not found. Check the id.', { httpStatus: 404, path: 'tasks.get', errorCode: 'NOT_FOUND' }),
  ])
  await service.stop()
})

test('authentication, scope, unknown operation and method errors have the same status as REST', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const readOnly = await service.createKey(userId, ['read'])
  const text = { 'Content-Type': 'text/plain' }
  const requests: [number, string, Promise<Answer>][] = [
    [401, 'UNAUTHORIZED', query(service, null, 'account.get')],
    [401, 'UNAUTHORIZED', query(service, 'wrong', 'account.get')],
    [401, 'UNAUTHORIZED', call(service, null, 'tasks.create', task('test.echo'))],
    [403, 'FORBIDDEN', call(service, readOnly, 'tasks.create', task('test.echo'))],
    [403, 'FORBIDDEN', query(service, readOnly, 'keys.list', { json: {} })],
    [404, 'NOT_FOUND', call(service, key, 'tasks.create', task('hidden.echo'))],
    [404, 'NOT_FOUND', query(service, key, 'tasks.nothing')],
    [405, 'METHOD_NOT_ALLOWED', query(service, key, 'tasks.create')],
    [405, 'METHOD_NOT_ALLOWED', call(service, key, 'account.get')],
    [400, 'BAD_REQUEST', call(service, key, 'tasks.create', 'no JSON')],
    [400, 'BAD_REQUEST', call(service, key, 'tasks.create', '{"json":{"params":1e999}}')],
  ]
  for (const [status, errorCode, request] of requests) {
    const answer = await request
    expect([answer.status, answer.body.error.json.data.errorCode], errorCode).toEqual([status, errorCode])
    expect(answer.body.error.json.data.httpStatus).toBe(status)
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    expect(answer.headers.get('x-ratelimit-limit')).toBe(status === 401 ? null : '10')
  }
  const { status } = await service.post('/trpc/tasks.create', '{}', { key, headers: text })
  expect(status).toBe(415)
  await service.stop()
})

test('responses are uncacheable JSON, even if the whole batch is rejected', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const many = Array(21).fill('account.get').join(',')
  const answers = [
    await query(service, key, 'account.get'),
    await query(service, key, 'tasks.get', { json: {} }),
    await service.get(`/trpc/${many}?batch=1`, key),
  ]
  await service.stop()
  expect(answers.map(({ status }) => status)).toEqual([200, 400, 400])
  for (const { headers } of answers) {
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-type')).toMatch(/^application\/json/)
  }
})

test('a batch has the common status of its calls, or 207 if they differ', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const batch = async (...endpoints: string[]) => {
    const body = Object.fromEntries(endpoints.map((endpointId, index) => [index, task(endpointId)]))
    const path = `/trpc/${endpoints.map(() => 'tasks.create').join(',')}?batch=1`
    return (await service.post(path, body, { key })).status
  }
  const statuses = [
    await batch('test.echo', 'test.free'),
    await batch('test.nothing', 'none.at-all'),
    await batch('test.echo', 'test.nothing'),
    await batch('test.nothing', 'test.echo'),
  ]
  await service.stop()
  expect(statuses).toEqual([200, 404, 207, 207])
})

test("data.code is tRPC's own error name, which its clients compare", async () => {
  const service = await startService({ limits: { executionsPerMinute: 1 } })
  const { key, userId } = await service.createPerson({ balanceUsd: '0.5000' })
  const named = { key, headers: { 'Idempotency-Key': 'once' } }
  const answers = [
    await query(service, null, 'account.get'),
    await query(service, await service.createKey(userId, ['execute']), 'account.get'),
    await call(service, key, 'tasks.create', task('test.dear')),
    await call(service, key, 'tasks.create', task('test.nothing')),
    await service.post('/trpc/tasks.create', task('test.echo'), named),
    await service.post('/trpc/tasks.create', task('test.value', { value: 1 }), named),
    await call(service, key, 'tasks.create', task('test.echo')),
    await call(service, key, 'tasks.create', task('test.typed')),
  ]
  await service.stop()
  expect(answers.map(({ body, status }) => [status, body.error?.json.data.code, body.error?.json.code])).toEqual([
    [401, 'UNAUTHORIZED', -32001],
    [403, 'FORBIDDEN', -32003],
    [403, 'FORBIDDEN', -32003],
    [404, 'NOT_FOUND', -32004],
    [200, undefined, undefined],
    [409, 'CONFLICT', -32009],
    [429, 'TOO_MANY_REQUESTS', -32029],
    [400, 'BAD_REQUEST', -32600],
  ])
})

test('rejects params that JSON cannot represent with 400 and charges nothing', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const loop: Record<string, unknown> = {}
  loop['self'] = loop
  const values: unknown[] = [10n, NaN, Infinity, new Date(0), new Map([['a', 1]]), new Set([1]), /x/]
  const statuses: [string, number][] = []
  for (const value of [...values, new URL('https://example.com'), loop]) {
    const input = superjson.serialize({ endpointId: 'test.echo', params: { value } })
    const { status } = await call(service, key, 'tasks.create', input)
    statuses.push([Object.prototype.toString.call(value), status])
  }
  const { body } = await service.get('/api/account', key)
  await service.stop()
  expect(statuses).toEqual(statuses.map(([name]) => [name, 400]))
  expect(body.balanceUsd).toBe('1.0000')
})

test('drops undefined params, as a JSON client would', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const input = { endpointId: 'test.echo', params: { a: 1, b: undefined } }
  const { taskId } = await typedClient(service, key).tasks.create.mutate(input)
  expect((await service.get(`/api/tasks/${taskId}`, key)).body.request).toEqual({ a: 1 })
  await service.stop()
})

test('a single call returns the same as in a batch', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { key } = await service.createPerson({ balanceUsd: '0.0000' })
  const queries: [string, unknown][] = [
    ['account.get', {}],
    ['tasks.get', { json: { taskId: 'task_none' } }],
    ['tasks.list', { json: { limit: 1000 } }],
    ['agents.list', { json: {} }],
  ]
  for (const [path, input] of queries) {
    const alone = await query(service, key, path, input)
    const batched = `?batch=1&input=${encodeURIComponent(JSON.stringify({ 0: input }))}`
    const together = await service.get(`/trpc/${path}${batched}`, key)
    expect([alone.status, [alone.body]], path).toEqual([together.status, together.body])
  }
  const calls: [string, unknown][] = [
    ['tasks.create', task('test.echo')],
    ['tasks.create', task('no.such')],
    ['tasks.create', { json: { endpointId: 7 } }],
    ['keys.revoke', { json: { keyId: 'key_none' } }],
  ]
  for (const [path, input] of calls) {
    const alone = await call(service, key, path, input)
    const together = await service.post(`/trpc/${path}?batch=1`, { 0: input }, { key })
    expect(alone.status, path).toBeGreaterThanOrEqual(400)
    expect([alone.status, [alone.body]], path).toEqual([together.status, together.body])
  }
  await service.stop()
})
