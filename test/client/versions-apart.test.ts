import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createClient, type ErrandClient } from '../../client/client.ts'
import { say } from '../support/chat-agents.ts'
import { newDataDir, startService } from '../support/test-service.ts'
import { collect, delta, done, hello, startStream, streamOf, streamRefusal, toLine } from './chat-answers.ts'
import { rejection } from './rejection.ts'
import { answer, completedTask, cut, result, startStub } from './stub-server.ts'

// Services older or newer than the client, restarts, and proxies that cut responses.

test('passes through fields, states, events and codes of a newer service', async () => {
  const task = {
    ...completedTask,
    status: 'completed',
    cancelledBy: 'you',
    error: { code: 'EXPIRED', message: 'x', extra: 1 },
  }
  const newer = { type: 'citation', timestamp: 'x', source: { id: 7 } }
  const stub = await startStub(
    result(task),
    result({ ...task, status: 'paused' }),
    streamOf(delta('a'), newer, done),
    streamRefusal(402, 'TOP_UP_FIRST'),
  )
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  expect(await client.tasks.get({ taskId: 'task_1' })).toEqual(task)
  expect(await client.tasks.get({ taskId: 'task_1' })).toMatchObject({ status: 'paused' })
  expect(await collect(client.chat.stream(hello))).toEqual([delta('a'), newer, done])
  expect(await rejection(client.chat.text(hello))).toMatchObject({ code: 'TOP_UP_FIRST', status: 402 })
  await stub.stop()
})

test('an operation missing in an older service gives a clear error without affecting other calls', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const client = createClient({
    baseUrl: service.url,
    apiKey: key,
    fetch: (url, init) =>
      fetch(url.replace('account.usage', 'account.forecast').replace('keys.rotate', 'keys.turn'), init),
  })
  const [missing, account] = await Promise.allSettled([client.account.usage(), client.account.get()])
  expect(missing).toMatchObject({
    reason: {
      code: 'NOT_FOUND',
      status: 404,
      message:
        'The service does not have the operation account.usage. It may be older than this client, so update the service.',
    },
  })
  expect(account).toMatchObject({ value: { userId } })
  expect((await rejection(client.keys.rotate({ keyId: 'x' }))).message).toContain('keys.rotate')
  await service.stop()
})

test('reads a response envelope with unknown extra fields', async () => {
  const stub = await startStub(
    answer(200, JSON.stringify({ result: { data: { json: { userId: 'u' }, meta: { values: {} } }, extra: 1 } })),
  )
  expect(await createClient({ baseUrl: stub.url, apiKey: 'key' }).account.get()).toEqual({ userId: 'u' })
  await stub.stop()
})

test('a stream cut off by a proxy throws NETWORK_ERROR after its events, without resending', async () => {
  const stub = await startStub((response) => {
    startStream(response).write(toLine(delta('Half')) + '{"type":"assist', () => response.socket?.destroy())
  })
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  const seen: unknown[] = []
  const reading = (async () => {
    for await (const event of client.chat.stream(hello)) seen.push(event)
  })()
  const error = await rejection(reading)
  expect(seen).toEqual([delta('Half')])
  expect(error).toMatchObject({ code: 'NETWORK_ERROR', requestId: 'req_1' })
  expect(error.message).toContain("Look up the reply's charge in the transactions")
  expect(stub.requests).toHaveLength(1)
  await stub.stop()
})

/** Returns a client with one URL, at which services replace each other. */
function clientOf(key: string, url: () => string): ErrandClient {
  const base = 'http://errand.test'
  return createClient({ baseUrl: base, apiKey: key, fetch: (asked, init) => fetch(asked.replace(base, url()), init) })
}

test('a wait survives a restart of the service, without duplicate tasks or charges', async () => {
  const dataDir = newDataDir()
  let service = await startService({ dataDir })
  const { key } = await service.createPerson()
  const client = clientOf(key, () => service.url)
  const { taskId } = await client.tasks.create({ endpointId: 'test.wait', params: { ms: 200 } })
  const { taskId: second } = await client.tasks.create({ endpointId: 'test.echo', params: { a: 1 } })
  const waiting = Promise.all([client.tasks.wait(taskId), client.tasks.wait(second)])
  await service.stop()
  service = await startService({ dataDir })
  const tasks = await waiting
  expect(tasks.map(({ status }) => status)).toEqual(['completed', 'completed'])
  expect((await client.tasks.list()).total).toBe(2)
  expect((await client.transactions.list({ type: 'task_charge' })).total).toBe(2)
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

test('a restart during a stream is reported in it, charges nothing and keeps the session', async () => {
  const dataDir = newDataDir()
  const limits = { drainSeconds: 0 }
  let service = await startService({ dataDir, limits })
  const { key } = await service.createPerson()
  const client = clientOf(key, () => service.url)
  const { sessionId } = await client.sessions.create({ agentId: 'talk' })
  const message = say({ do: 'text', delta: 'x' }, { do: 'wait', ms: 30_000 })
  const stream = client.chat.stream({ sessionId, message })
  const reading = collect(stream)
  await expect.poll(() => stream.requestId).toBeDefined()
  await service.stop()
  expect((await reading).at(-1)).toMatchObject({ type: 'error', error: { code: 'AGENT_INTERRUPTED' } })
  service = await startService({ dataDir, limits })
  expect((await client.transactions.list({ type: 'chat_charge' })).total).toBe(0)
  expect(await client.chat.text({ sessionId, message: 'again' })).toMatchObject({ text: 'You said: again' })
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

test('retries reads and creates while the service is unreachable', async () => {
  const stub = await startStub(
    cut,
    result({ taskId: 'task_1', status: 'pending', message: 'x' }),
    cut,
    result(completedTask),
  )
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  expect((await client.tasks.create({ endpointId: 'test.echo', params: {} })).taskId).toBe('task_1')
  expect(await client.tasks.get({ taskId: 'task_1' })).toEqual(completedTask)
  const [first, second] = stub.requests.map(({ headers }) => headers['idempotency-key'])
  expect(second).toBe(first)
  await stub.stop()
})
