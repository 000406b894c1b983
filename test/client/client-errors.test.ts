import { expect, test } from 'vitest'
import { createClient, ErrandClientError, isErrandError } from '../../client/client.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService } from '../support/test-service.ts'
import { rejection, rejections } from './rejection.ts'

test('a 400 error names the code, the invalid fields and the request', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  let requestId: string | null = null
  const client = createClient({
    baseUrl: service.url,
    apiKey: key,
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      requestId = response.headers.get('x-request-id')
      return response
    },
  })
  const error = await rejection(client.tasks.create({ endpointId: 'test.typed', params: { text: '', count: 9 } }))
  expect(error).toMatchObject({ name: 'ErrandClientError', code: 'BAD_REQUEST', status: 400 })
  expect(error.details.map(({ path }) => path)).toEqual(['params.text', 'params.count'])
  expect(error.message).toBe(`params.text: ${error.details[0]!.message}`)
  expect(error.requestId).toBe(requestId)
  expect(error.retryAfterSeconds).toBeUndefined()
  expect(await rejection(client.tasks.list({ limit: 101 }))).toMatchObject({
    code: 'BAD_REQUEST',
    status: 400,
    details: [{ path: 'limit' }],
  })
  await service.stop()
})

test('an invalid key gives 401', async () => {
  const service = await startService()
  const client = createClient({ baseUrl: service.url, apiKey: 'wrong' })
  const calls = [client.account.get(), client.tasks.create({ endpointId: 'test.echo', params: {} })]
  for (const error of await rejections(calls)) {
    expect(error).toMatchObject({
      code: 'UNAUTHORIZED',
      status: 401,
      message: 'The API key is invalid or revoked. Send an active key.',
      details: [],
    })
  }
  await service.stop()
})

test('a 403 error distinguishes a low balance from a missing permission', async () => {
  const service = await startService()
  const poor = await service.createPerson({ balanceUsd: '0.0050' })
  const reader = await service.createPerson({ scopes: ['read'] })
  const input = { endpointId: 'test.echo', params: {} }
  const broke = await rejection(createClient({ baseUrl: service.url, apiKey: poor.key }).tasks.create(input))
  expect(broke).toMatchObject({ code: 'INSUFFICIENT_BALANCE', status: 403 })
  expect(broke.message).toContain('0.0050')
  expect(broke.message).toContain('0.0100')
  const client = createClient({ baseUrl: service.url, apiKey: reader.key })
  expect(await rejection(client.tasks.create(input))).toMatchObject({ code: 'FORBIDDEN', status: 403 })
  expect(await rejection(client.keys.list())).toMatchObject({ code: 'FORBIDDEN', status: 403 })
  await service.stop()
})

test('a 403 error of a blocked account has a Retry-After', async () => {
  const service = await startService({ limits: { abuseFailures: 1, abuseBlockSeconds: 600 }, clock: new FakeClock() })
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  await client.tasks.run({ endpointId: 'test.fail', params: {} })
  expect(await rejection(client.tasks.run({ endpointId: 'test.echo', params: {} }))).toMatchObject({
    code: 'ACCOUNT_BLOCKED',
    status: 403,
    retryAfterSeconds: 600,
  })
  await service.stop()
})

test('an unknown endpoint, task or agent gives 404', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const calls = [
    client.tasks.create({ endpointId: 'test.nothing', params: {} }),
    client.tasks.get({ taskId: 'task_nothing' }),
    client.agents.get({ agentId: 'nothing' }),
  ]
  for (const error of await rejections(calls)) {
    expect(error).toMatchObject({ code: 'NOT_FOUND', status: 404 })
  }
  expect(await rejection(client.tasks.wait('task_nothing'))).toMatchObject({
    code: 'NOT_FOUND',
    taskId: 'task_nothing',
  })
  await service.stop()
})

test('reusing an idempotency key returns the same task for the same input, otherwise 409', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const input = { endpointId: 'test.echo', params: { n: 1 } }
  const first = await client.tasks.create(input, { idempotencyKey: 'order-1' })
  expect(await client.tasks.create(input, { idempotencyKey: 'order-1' })).toEqual(first)
  const other = client.tasks.create({ ...input, params: { n: 2 } }, { idempotencyKey: 'order-1' })
  expect(await rejection(other)).toMatchObject({ code: 'CONFLICT', status: 409 })
  expect((await client.transactions.list({ type: 'task_charge' })).total).toBe(1)
  await service.stop()
})

test('too large params give 413', async () => {
  const service = await startService({ limits: { maxBodyBytes: 1000 } })
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const call = client.tasks.create({ endpointId: 'test.echo', params: { text: 'x'.repeat(1000) } })
  expect(await rejection(call)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', status: 413 })
  await service.stop()
})

test('a 429 error says how long to wait', async () => {
  const service = await startService({ limits: { executionsPerMinute: 1 }, clock: new FakeClock() })
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key, maxRetries: 0 })
  const input = { endpointId: 'test.echo', params: {} }
  await client.tasks.create(input)
  expect(await rejection(client.tasks.create(input))).toMatchObject({
    code: 'RATE_LIMIT_EXCEEDED',
    status: 429,
    retryAfterSeconds: 60,
  })
  await service.stop()
})

test('a stopping service gives 503 for new tasks but still serves reads', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key, maxRetries: 0 })
  const { taskId } = await client.tasks.create({ endpointId: 'test.wait', params: { ms: 1000 } })
  // Waits until the task is running, because only running tasks delay a shutdown.
  while ((await client.tasks.get({ taskId })).status === 'pending') continue
  const stopping = service.stop()
  expect(await rejection(client.tasks.create({ endpointId: 'test.echo', params: {} }))).toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    status: 503,
    retryAfterSeconds: expect.any(Number),
  })
  expect((await client.tasks.get({ taskId })).id).toBe(taskId)
  await stopping
})

test('isErrandError recognizes errors of another copy of the package and nothing else', async () => {
  const path = new URL('../../client/client-error.ts?copy', import.meta.url).href
  const copy = (await import(path)) as { ErrandClientError: typeof ErrandClientError }
  const foreign = new copy.ErrandClientError('NOT_FOUND', 'x')
  expect([foreign instanceof ErrandClientError, isErrandError(foreign)]).toEqual([false, true])
  expect(isErrandError(new ErrandClientError('NOT_FOUND', 'x'))).toBe(true)
  const alike = Object.assign(new Error('x'), { name: 'ErrandClientError', code: 'NOT_FOUND' })
  for (const other of [alike, null, undefined, 'x', {}]) expect(isErrandError(other)).toBe(false)
})
