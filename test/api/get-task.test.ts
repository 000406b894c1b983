import { expect, test } from 'vitest'
import { defineConfig } from '../../server/agents/config/define-config.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService } from '../support/test-service.ts'
import { until, waitMsMax } from '../support/until.ts'

/** Defines an endpoint that ends its runs when `open` is called, and one that throws a given error. */
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
            run: async ({ params }) => {
              await gate.promise
              if (params['fail'] === true) throw new TypeError('The gate is rusty.', { cause: new Error('rain') })
              return { passed: params['name'] }
            },
          },
        },
      },
    ],
  })
  return { config, open: gate.resolve }
}

test('a task in each status has exactly its fields and omits times of later steps', async () => {
  const { config, open } = gated()
  const clock = new FakeClock(Date.UTC(2026, 1, 3, 4, 5, 6, 7))
  // Only one task runs at a time, so the second one stays pending while the first runs.
  const service = await startService({ config, clock, limits: { taskConcurrency: 1 } })
  const { key, userId } = await service.createPerson()
  const read = async (taskId: string, wait = 0) => (await service.get(`/api/tasks/${taskId}?wait=${wait}`, key)).body

  const first = (await service.createTask(key, 'gate.run', { name: 'Ada' })).body.taskId
  await expect.poll(async () => (await read(first)).status).toBe('processing')
  clock.advance(1)
  const second = (await service.createTask(key, 'gate.run', { fail: true })).body.taskId
  const keyId = expect.stringMatching(/^key_/)
  const common = {
    userId,
    keyId,
    agentId: 'gate',
    endpointId: 'gate.run',
    costUsd: '0.0100',
    refundedUsd: '0.0000',
  }
  const times = { createdAt: '2026-02-03T04:05:06.007Z', startedAt: '2026-02-03T04:05:06.007Z' }
  const request = { name: 'Ada' }
  expect(await read(first)).toEqual({
    ...common,
    ...times,
    id: first,
    status: 'processing',
    attempt: 1,
    request,
    response: null,
    error: null,
  })
  expect(await read(second)).toEqual({
    ...common,
    id: second,
    status: 'pending',
    attempt: 0,
    request: { fail: true },
    response: null,
    error: null,
    createdAt: '2026-02-03T04:05:06.008Z',
  })

  clock.advance(992)
  open()
  expect(await read(first, 10)).toEqual({
    ...common,
    ...times,
    id: first,
    status: 'completed',
    attempt: 1,
    request,
    response: { passed: 'Ada' },
    error: null,
    completedAt: '2026-02-03T04:05:07.000Z',
  })
  expect(await read(second, 10)).toEqual({
    ...common,
    id: second,
    status: 'failed',
    refundedUsd: '0.0100',
    attempt: 1,
    request: { fail: true },
    response: null,
    error: { code: 'AGENT_ERROR', message: 'The gate is rusty.', details: 'TypeError, caused by: rain' },
    createdAt: '2026-02-03T04:05:06.008Z',
    startedAt: '2026-02-03T04:05:07.000Z',
    completedAt: '2026-02-03T04:05:07.000Z',
  })
  await service.stop()
})

test('returns uncacheable JSON; HEAD returns the same headers without a body', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const { id } = await service.runTask(key, 'test.echo')
  const got = await service.get(`/api/tasks/${id}`, key)
  expect(got.status).toBe(200)
  expect(got.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(got.headers.get('cache-control')).toBe('no-store')
  const head = await service.request('HEAD', `/api/tasks/${id}`, { key })
  expect([head.status, head.body]).toEqual([200, ''])
  expect(head.headers.get('content-length')).toBe(got.headers.get('content-length'))
  await service.stop()
})

test('wait delays the response until the task ends', async () => {
  const { config, open } = gated()
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const { taskId } = (await service.createTask(key, 'gate.run')).body
  const waiting = service.get(`/api/tasks/${taskId}?wait=60`, key)
  // During a long poll the service answers other requests, and immediately if they have no `wait`.
  await expect.poll(async () => (await service.get(`/api/tasks/${taskId}`, key)).body.status).toBe('processing')
  expect((await service.get(`/api/tasks/${taskId}?wait=0`, key)).body.status).toBe('processing')
  open()
  expect((await waiting).body.status).toBe('completed')
  expect((await service.get(`/api/tasks/${taskId}?wait=60`, key)).body.status).toBe('completed')
  await service.stop()
})

test('wait returns the current task when the wait time is up', async () => {
  const { config, open } = gated()
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const { taskId } = (await service.createTask(key, 'gate.run')).body
  const { body, status } = await service.get(`/api/tasks/${taskId}?wait=1`, key)
  expect([status, body.status]).toEqual([200, 'processing'])
  expect(body).not.toHaveProperty('completedAt')
  open()
  await service.stop()
})

test('returns 400 if wait is not an integer from 0 to 60 seconds', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const { id } = await service.runTask(key, 'test.echo')
  for (const query of ['wait=61', 'wait=-1', 'wait=1.5', 'wait=soon', 'wait=', 'wait=1&wait=1']) {
    const { body, status } = await service.get(`/api/tasks/${id}?${query}`, key)
    expect(status, query).toBe(400)
    expect(body).toEqual({
      error: 'Bad request',
      message: `wait: ${body.details[0].message}`,
      statusCode: 400,
      code: 'BAD_REQUEST',
      details: [{ path: 'wait', message: expect.stringMatching(/./) }],
    })
  }
  await service.stop()
})

test("returns the same 404 for an unknown task and another user's task", async () => {
  const service = await startService()
  const [owner, stranger] = [await service.createPerson(), await service.createPerson()]
  const { id } = await service.runTask(owner.key, 'test.echo')
  for (const taskId of [id, id.replaceAll(/.$/g, (last: string) => (last === '0' ? '1' : '0')), 'nothing']) {
    const { body, status } = await service.get(`/api/tasks/${taskId}?wait=60`, stranger.key)
    expect(status).toBe(404)
    expect(body).toEqual({
      error: 'Not found',
      message: 'Task not found. Check the id.',
      statusCode: 404,
      code: 'NOT_FOUND',
    })
  }
  expect((await service.get(`/api/tasks/${id}`, owner.key)).status).toBe(200)
  await service.stop()
})

test('a task that is polled repeatedly stays current and private, and its path names it', async () => {
  const { config, open } = gated()
  const service = await startService({ config })
  const [owner, stranger] = [await service.createPerson(), await service.createPerson()]
  const [first, second] = [
    (await service.createTask(owner.key, 'gate.run')).body.taskId as string,
    (await service.createTask(owner.key, 'gate.run')).body.taskId as string,
  ]
  const path = `/api/tasks/${first}`
  for (let n = 0; n < 5; n++) {
    const { body } = await service.get(path, owner.key)
    expect(body).toMatchObject({ id: first, response: null })
    expect((await service.get(path, stranger.key)).status).toBe(404)
  }
  expect((await service.get(`${path}?taskId=${second}`, owner.key)).body.id).toBe(first)
  open()
  await until('the task ends', waitMsMax, async () => (await service.get(path, owner.key)).body.status === 'completed')
  const answers = await Promise.all(Array.from({ length: 5 }, () => service.get(path, owner.key)))
  const read = await service.get(`${path}?wait=1`, owner.key)
  for (const { body } of answers) expect(body).toEqual(read.body)
  await service.stop()
})

test('returns 403 for a key without the read scope', async () => {
  const service = await startService()
  const person = await service.createPerson()
  const { id } = await service.runTask(person.key, 'test.echo')
  const { body, status } = await service.get(`/api/tasks/${id}`, await service.createKey(person.userId, ['execute']))
  expect(status).toBe(403)
  expect(body).toEqual({
    error: 'Forbidden',
    message: 'This API key lacks permission for this operation. Use a credential with the scope "read".',
    statusCode: 403,
    code: 'FORBIDDEN',
  })
  await service.stop()
})

test('returns large requests and responses as a preview and a link, and small ones in full', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const params = { text: 'é'.repeat(10_000) }
  const sent = await service.runTask(key, 'test.echo', params)
  expect(sent.request).toBe(JSON.stringify(params).slice(0, 1024))
  expect(sent.response).toBe(sent.request)
  const links = [sent.requestUri, sent.responseUri]
  for (const link of links) {
    expect(link).toMatch(
      new RegExp(`^${service.url}/api/payloads/pay_[0-9a-z]{26}\\?expires=\\d+&signature=[\\w-]{43}$`),
    )
    expect((await service.get(link.slice(service.url.length))).body).toEqual(params)
  }
  expect(links[0]).not.toBe(links[1])
  const returned = await service.runTask(key, 'test.large', { chars: 20_000 })
  expect(returned.request).toEqual({ chars: 20_000 })
  expect(returned).not.toHaveProperty('requestUri')
  expect(returned).toHaveProperty('responseUri')
  await service.stop()
})
