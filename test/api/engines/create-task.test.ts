import { expect, test } from 'vitest'
import { defineConfig } from '../../../server/agents/config/define-config.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startService, type Answer, type TestService } from '../../support/test-service.ts'

/** Defines an endpoint that ends its runs when `open` is called, so that a test controls the task's state. */
function gated() {
  const gate = Promise.withResolvers<void>()
  const config = defineConfig({
    agents: [
      {
        kind: 'code',
        id: 'gate',
        name: 'Gate',
        endpoints: {
          run: {
            description: 'Ends when the gate opens.',
            priceUsd: '0.0100',
            params: {},
            run: async () => {
              await gate.promise
              return {}
            },
          },
        },
      },
    ],
  })
  return { config, open: gate.resolve }
}

/** Expects no task, no transaction except the first credit, and an unused rate limit. */
async function expectNothingWritten(service: TestService, key: string, balanceUsd: string): Promise<void> {
  const tasks = await service.get('/api/tasks', key)
  expect(tasks.body).toEqual({ tasks: [], total: 0, limit: 50, offset: 0 })
  expect(tasks.headers.get('x-ratelimit-remaining')).toBe('10')
  const { body } = await service.get('/api/transactions', key)
  expect(body.transactions.map(({ type }: { type: string }) => type)).toEqual(balanceUsd === '0.0000' ? [] : ['credit'])
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe(balanceUsd)
}

test('returns the task id, status pending and a message; the task is charged and completes', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson({ balanceUsd: '1.0000' })
  const created = await service.createTask(key, 'test.echo', { hello: 'world' })
  expect(created.status).toBe(200)
  expect(created.body).toEqual({
    taskId: expect.stringMatching(/^task_[0-9a-z]{26}$/),
    status: 'pending',
    message: 'Task created',
  })
  const { body: task } = await service.get(`/api/tasks/${created.body.taskId}?wait=10`, key)
  expect(task).toMatchObject({
    userId,
    status: 'completed',
    response: { hello: 'world' },
    error: null,
    costUsd: '0.0100',
    refundedUsd: '0.0000',
  })
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('0.9900')
  await service.stop()
})

test('charges the price at creation, before the task runs', async () => {
  const { config, open } = gated()
  const service = await startService({ config, clock: new FakeClock() })
  const { key, userId } = await service.createPerson({ balanceUsd: '1.0000' })
  const { taskId } = (await service.createTask(key, 'gate.run')).body
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('0.9900')
  expect((await service.get('/api/transactions?type=task_charge', key)).body.transactions).toEqual([
    {
      id: expect.stringMatching(/^txn_[0-9a-z]{26}$/),
      userId,
      type: 'task_charge',
      amountUsd: '-0.0100',
      balanceAfterUsd: '0.9900',
      taskId,
      description: 'Task gate.run',
      createdAt: '2026-01-15T12:00:00.000Z',
    },
  ])
  open()
  expect((await service.get(`/api/tasks/${taskId}?wait=10`, key)).body.status).toBe('completed')
  expect((await service.get('/api/transactions', key)).body.total).toBe(2)
  await service.stop()
})

test('a balance equal to the price suffices; free tasks have a 0.0000 transaction', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.2345' })
  expect((await service.runTask(key, 'test.dear')).costUsd).toBe('1.2345')
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('0.0000')
  const free = await service.runTask(key, 'test.free')
  expect(free).toMatchObject({ status: 'completed', costUsd: '0.0000' })
  const { body } = await service.get(`/api/transactions?taskId=${free.id}`, key)
  expect(body.transactions).toMatchObject([
    { type: 'task_charge', taskId: free.id, amountUsd: '0.0000', balanceAfterUsd: '0.0000' },
  ])
  await service.stop()
})

test('creates only as many concurrent tasks as the balance covers', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '0.0399' })
  // Opens the connections, so that requests sent together also arrive together.
  await Promise.all(Array.from({ length: 8 }, () => service.get('/healthz')))
  const answers = await Promise.all(Array.from({ length: 8 }, () => service.createTask(key, 'test.echo')))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 403, 403, 403, 403, 403])
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('0.0099')
  await service.stop()
})

test('a task whose agent throws fails with its error and is refunded in full', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const task = await service.runTask(key, 'test.fail', { message: 'No such page.' })
  expect(task).toMatchObject({ status: 'failed', response: null, costUsd: '0.0200', refundedUsd: '0.0200' })
  expect(task.error).toEqual({ code: 'AGENT_ERROR', message: 'No such page.', details: 'Error' })
  const { body } = await service.get(`/api/transactions?taskId=${task.id}`, key)
  expect(body.transactions).toMatchObject([
    {
      type: 'task_refund',
      amountUsd: '0.0200',
      balanceAfterUsd: '1.0000',
      description: 'Refund of task test.fail: AGENT_ERROR',
    },
    { type: 'task_charge', amountUsd: '-0.0200', balanceAfterUsd: '0.9800', description: 'Task test.fail' },
  ])
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('1.0000')
  await service.stop()
})

test('returns objects and strings unchanged and wraps other values in `result`', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const pairs: [unknown, unknown][] = [
    [{ a: [1, { b: null }] }, { a: [1, { b: null }] }],
    ['plain text', 'plain text'],
    ['', ''],
    [[1, 2], { result: [1, 2] }],
    [42, { result: 42 }],
    [false, { result: false }],
    [null, { result: null }],
  ]
  for (const [value, response] of pairs) {
    const task = await service.runTask(key, 'test.value', { value })
    expect(task).toMatchObject({ status: 'completed', error: null })
    expect(task.response, JSON.stringify(value)).toEqual(response)
  }
  await service.stop()
})

test('applies Zod and JSON Schema defaults but stores the request as sent', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const schema = await service.runTask(key, 'test.schema', { name: 'Ada' })
  expect(schema).toMatchObject({ status: 'completed', request: { name: 'Ada' }, response: { name: 'Ada', times: 2 } })
  const typed = await service.runTask(key, 'test.typed', { text: 'Hello' })
  expect(typed).toMatchObject({ request: { text: 'Hello' }, response: { text: 'Hello', count: 3 } })
  expect(typed.request).toEqual({ text: 'Hello' })
  await service.stop()
})

test('returns 400 with the path of each invalid field and writes nothing', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const expectBad = ({ status, body }: Answer, paths: string[]) => {
    expect(status).toBe(400)
    expect(body).toEqual({
      error: 'Bad request',
      message: `${paths[0]}: ${body.details[0].message}`,
      statusCode: 400,
      code: 'BAD_REQUEST',
      details: paths.map((path) => ({ path, message: expect.stringMatching(/./) })),
    })
  }
  expectBad(await service.post('/api/tasks', {}, { key }), ['endpointId', 'params'])
  expectBad(await service.post('/api/tasks', { endpointId: 'test.echo', params: [] }, { key }), ['params'])
  expectBad(await service.createTask(key, 'test.typed', { text: '', count: 6 }), ['params.text', 'params.count'])
  expectBad(await service.createTask(key, 'test.typed', { text: 'a', extra: 1 }), ['params.extra'])
  expectBad(await service.createTask(key, 'test.schema', { times: 1.5 }), ['params.name', 'params.times'])
  expectBad(
    await service.post('/api/tasks', { endpointId: 'test.echo', params: {}, connectorIds: ['c', 1] }, { key }),
    ['connectorIds[1]'],
  )
  await expectNothingWritten(service, key, '1.0000')
  await service.stop()
})

test('returns 400 with at most 20 invalid fields', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const extra = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`extra${index}`, index]))
  const { status, body } = await service.createTask(key, 'test.typed', { text: 'a', ...extra })
  await service.stop()
  expect(status).toBe(400)
  expect(body.details).toHaveLength(20)
})

test('returns 403 with the balance and required amount and writes nothing', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.2344' })
  const { status, body } = await service.createTask(key, 'test.dear')
  expect(status).toBe(403)
  expect(body).toEqual({
    error: 'Insufficient balance',
    message: 'The balance of 1.2344 USD is lower than the required 1.2345 USD. Add credit.',
    statusCode: 403,
    code: 'INSUFFICIENT_BALANCE',
  })
  await expectNothingWritten(service, key, '1.2344')
  await service.stop()
})

test('returns 404 for an agent hidden from the caller; allowed users can run it', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const { status, body } = await service.createTask(key, 'hidden.echo')
  expect(status).toBe(404)
  expect(body).toEqual({
    error: 'Not found',
    message: 'Agent endpoint not found. GET /api/agents lists the available endpoints.',
    statusCode: 404,
    code: 'NOT_FOUND',
  })
  await expectNothingWritten(service, key, '1.0000')
  const friend = await service.createPerson({ email: 'Friend@Example.com' })
  expect(await service.runTask(friend.key, 'hidden.echo', { a: 1 })).toMatchObject({ response: { a: 1 } })
  await service.stop()
})

test('returns 403 for a key without the scope execute', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.0000', scopes: ['read', 'manage'] })
  const { status, body } = await service.createTask(key, 'test.echo')
  expect(status).toBe(403)
  expect(body).toEqual({
    error: 'Forbidden',
    message: 'This API key lacks permission for this operation. Use a credential with the scope "execute".',
    statusCode: 403,
    code: 'FORBIDDEN',
  })
  await expectNothingWritten(service, key, '1.0000')
  await service.stop()
})

test('returns 404 for an unknown endpoint or connector', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const unknown = await service.createTask(key, 'test.nothing')
  expect(unknown.status).toBe(404)
  expect(unknown.body).toEqual({
    error: 'Not found',
    message: 'Agent endpoint not found. GET /api/agents lists the available endpoints.',
    statusCode: 404,
    code: 'NOT_FOUND',
  })
  const connector = await service.post(
    '/api/tasks',
    { endpointId: 'test.echo', params: {}, connectorIds: ['con_1'] },
    { key },
  )
  expect(connector.status).toBe(404)
  expect(connector.body).toEqual({
    error: 'Not found',
    message: 'Connector con_1 not found. GET /api/connectors lists your connectors.',
    statusCode: 404,
    code: 'CONNECTOR_NOT_FOUND',
  })
  await expectNothingWritten(service, key, '1.0000')
  await service.stop()
})

test('returns 413 for an oversized body and 415 for a non-JSON body', async () => {
  const service = await startService({ limits: { maxBodyBytes: 200 } })
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const large = await service.createTask(key, 'test.echo', { text: 'x'.repeat(200) })
  expect(large.status).toBe(413)
  expect(large.body).toEqual({
    error: 'Payload too large',
    message: 'The request body is larger than 200 bytes, the maximum. Send a smaller request.',
    statusCode: 413,
    code: 'PAYLOAD_TOO_LARGE',
  })
  const text = await service.post('/api/tasks', '{}', { key, headers: { 'Content-Type': 'text/plain' } })
  expect(text.status).toBe(415)
  expect(text.body).toEqual({
    error: 'Unsupported media type',
    message: 'The Content-Type is not supported. Send application/json in UTF-8.',
    statusCode: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
  })
  await expectNothingWritten(service, key, '1.0000')
  await service.stop()
})

test('checks endpoint, params, connectors, block, rate limit and balance in this order', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock, limits: { executionsPerMinute: 1, abuseFailures: 1 } })
  const { key, userId } = await service.createPerson({ balanceUsd: '0.0200' })
  await service.runTask(key, 'test.fail')
  const { store } = service.app
  await store.credit({ userId, amount: -200, description: 'Taken back', idempotencyKey: null })
  const refusal = async (endpointId: string, params: unknown, connectorIds?: string[]) => {
    const { body, status } = await service.post('/api/tasks', { endpointId, params, connectorIds }, { key })
    return `${status} ${body.error}`
  }
  expect(await refusal('hidden.nothing', { bad: 1 }, ['con_1'])).toBe('404 Not found')
  expect(await refusal('test.typed', {}, ['con_1'])).toBe('400 Bad request')
  expect(await refusal('hidden.echo', {}, ['con_1'])).toBe('404 Not found')
  expect(await refusal('test.echo', {}, ['con_1'])).toBe('404 Not found')
  expect(await refusal('test.echo', {})).toBe('403 Forbidden')
  await store.unblock(userId)
  expect(await refusal('test.echo', {})).toBe('429 Rate limit exceeded')
  clock.advance(60_000)
  expect(await refusal('test.echo', {})).toBe('403 Insufficient balance')
  await service.stop()
})

test('returns 503 without a charge while stopping; reads work until running tasks end', async () => {
  const { config, open } = gated()
  const service = await startService({ config })
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const { taskId } = (await service.createTask(key, 'gate.run')).body
  await expect.poll(async () => (await service.get(`/api/tasks/${taskId}`, key)).body.status).toBe('processing')
  const stopped = service.stop()
  const { body, headers, status } = await service.createTask(key, 'gate.run')
  expect(status).toBe(503)
  expect(headers.get('retry-after')).toBe('5')
  expect(body).toEqual({
    error: 'Service unavailable',
    message: 'The service is stopping and does not accept new work. Try again later.',
    statusCode: 503,
    code: 'SERVICE_UNAVAILABLE',
  })
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('0.9900')
  open()
  await stopped
})
