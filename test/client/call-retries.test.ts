import { expect, test } from 'vitest'
import { createClient, type RequestEvent, type ResponseEvent, type RetryEvent } from '../../client/client.ts'
import { startService } from '../support/test-service.ts'
import { rejection } from './rejection.ts'
import { answer, completedTask, cut, refusal, result, startStub } from './stub-server.ts'

const input = { endpointId: 'test.echo', params: {} }

test('retries reads after cut connections, proxy pages, 429, 502, 503 and 504, and calls onRetry', async () => {
  const stub = await startStub(
    cut,
    answer(502, '<h1>Bad gateway</h1>'),
    answer(504, 'late'),
    refusal('SERVICE_UNAVAILABLE', 503),
    refusal('RATE_LIMIT_EXCEEDED', 429, 1),
    result({ userId: 'u' }),
  )
  const retries: RetryEvent[] = []
  const options = {
    baseUrl: stub.url,
    apiKey: 'key',
    maxRetries: 5,
    onRetry: (retry: RetryEvent) => void retries.push(retry),
  }
  expect(await createClient(options).account.get()).toEqual({ userId: 'u' })
  expect(retries.map(({ error, operation, retry }) => [operation, error.code, retry])).toEqual([
    ['account.get', 'NETWORK_ERROR', 1],
    ['account.get', 'BAD_RESPONSE', 2],
    ['account.get', 'BAD_RESPONSE', 3],
    ['account.get', 'SERVICE_UNAVAILABLE', 4],
    ['account.get', 'RATE_LIMIT_EXCEEDED', 5],
  ])
  expect(retries.at(-1)!.delayMs).toBeGreaterThanOrEqual(1000)
  await stub.stop()
})

test('retries twice by default and never with maxRetries 0', async () => {
  const stub = await startStub(cut)
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  await rejection(client.account.get())
  expect(stub.requests).toHaveLength(3)
  await rejection(client.account.get({ maxRetries: 0 }))
  expect(stub.requests).toHaveLength(4)
  await rejection(createClient({ baseUrl: stub.url, apiKey: 'key', maxRetries: 0 }).tasks.create(input))
  expect(stub.requests).toHaveLength(5)
  await stub.stop()
})

test('creates a task and a session only once, reusing one key for all attempts', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  let isCut = true
  const keys: (string | null)[] = []
  const client = createClient({
    baseUrl: service.url,
    apiKey: key,
    fetch: async (url, init) => {
      keys.push(new Headers(init.headers).get('idempotency-key'))
      const response = await fetch(url, init)
      // The service has executed the request, but its response is lost.
      if (isCut && init.method === 'POST') {
        isCut = false
        await response.body?.cancel()
        throw new TypeError('terminated')
      }
      return response
    },
  })
  await client.tasks.create(input)
  expect(new Set(keys).size).toBe(1)
  isCut = true
  await client.sessions.create({ agentId: 'talk' })
  expect(keys).toHaveLength(4)
  const [tasks, sessions, charges] = await Promise.all([
    client.tasks.list(),
    client.sessions.list(),
    client.transactions.list({ type: 'task_charge' }),
  ])
  expect([tasks.total, sessions.total, charges.total]).toEqual([1, 1, 1])
  await service.stop()
})

test('does not retry non-idempotent calls: keys, updates, deletions, messages', async () => {
  const stub = await startStub(cut)
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  const calls = [
    () => client.keys.create({ name: 'x' }),
    () => client.sessions.update({ sessionId: 'x', status: 'completed' }),
    () => client.connectors.delete({ connectorId: 'x' }),
    () => client.chat.text({ sessionId: 'x', message: 'y' }),
  ]
  for (const [index, call] of calls.entries()) {
    expect(await rejection(call())).toMatchObject({ code: 'NETWORK_ERROR' })
    expect(stub.requests).toHaveLength(index + 1)
  }
  await stub.stop()
})

test('throws permanent errors, and a Retry-After above one minute, immediately', async () => {
  const stub = await startStub(refusal('INSUFFICIENT_BALANCE', 403), refusal('SERVICE_UNAVAILABLE', 503, 61))
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  expect(await rejection(client.tasks.create(input))).toMatchObject({ code: 'INSUFFICIENT_BALANCE' })
  expect(await rejection(client.account.get())).toMatchObject({ retryAfterSeconds: 61 })
  expect(stub.requests).toHaveLength(2)
  await stub.stop()
})

test('an abort ends the pause before a retry immediately', async () => {
  const stub = await startStub(refusal('SERVICE_UNAVAILABLE', 503, 60))
  const controller = new AbortController()
  const client = createClient({ baseUrl: stub.url, apiKey: 'key', onRetry: () => controller.abort('enough') })
  await expect(client.account.get({ signal: controller.signal })).rejects.toBe('enough')
  await stub.stop()
})

test('run reports why and how long it waits at the rate limit', async () => {
  const created = result({ taskId: 'task_1', status: 'pending', message: 'Task created' })
  const stub = await startStub(refusal('RATE_LIMIT_EXCEEDED', 429, 59))
  const controller = new AbortController()
  const seen: RetryEvent[] = []
  const onRetry = (retry: RetryEvent) => {
    seen.push(retry)
    controller.abort('told')
  }
  const client = createClient({ baseUrl: stub.url, apiKey: 'key', onRetry })
  await expect(client.tasks.run(input, { signal: controller.signal })).rejects.toBe('told')
  expect(seen).toMatchObject([{ operation: 'tasks.create', error: { code: 'RATE_LIMIT_EXCEEDED' }, retry: 1 }])
  expect(seen[0]!.delayMs).toBeGreaterThanOrEqual(59_000)
  await stub.stop()

  const waited = await startStub(created, refusal('SERVICE_UNAVAILABLE', 503), result(completedTask))
  const operations: string[] = []
  const other = createClient({
    baseUrl: waited.url,
    apiKey: 'key',
    onRetry: (retry) => void operations.push(retry.operation),
  })
  await other.tasks.run(input)
  expect(operations).toEqual(['tasks.get'])
  await waited.stop()
})

test('hooks receive every request and response, including those of chats, but never the key', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const requests: RequestEvent[] = []
  const responses: ResponseEvent[] = []
  const client = createClient({
    baseUrl: service.url,
    apiKey: key,
    defaultHeaders: {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      authorization: 'ours wins',
    },
    onRequest: (request) => void requests.push(request),
    onResponse: (response) => void responses.push(response),
  })
  await client.account.get()
  const { sessionId } = await client.sessions.create({ agentId: 'talk' })
  await client.chat.text({ sessionId, message: 'hello' })
  const paths = (events: readonly RequestEvent[]) =>
    events.map(({ method, url }) => `${method} ${new URL(url).pathname}`)
  expect(paths(requests)).toEqual(['GET /trpc/account.get', 'POST /trpc/sessions.create', 'POST /api/chat'])
  expect(paths(responses)).toEqual(paths(requests))
  for (const { durationMs, headers, requestId, status } of responses) {
    expect([status, requestId]).toEqual([200, headers.get('x-request-id')])
    expect(durationMs).toBeGreaterThan(0)
  }
  expect(JSON.stringify([requests, responses])).not.toContain(key)
  await service.stop()
})

test('withResponse adds headers and request id, and fails like the call', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const { data, headers, requestId, status } = await client.tasks.create(input).withResponse()
  expect(data.taskId).toMatch(/^task_/)
  expect([status, headers.get('x-ratelimit-remaining'), requestId]).toEqual([200, '9', headers.get('x-request-id')])
  const account = await client.account.get().withResponse()
  expect([account.data.userId, account.status]).toEqual([userId, 200])
  expect((await client.tasks.list().withResponse()).data.total).toBe(1)
  await expect(client.agents.get({ agentId: 'none' }).withResponse()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await service.stop()
})
