import { expect, test } from 'vitest'
import { createClient, type ClientFetch } from '../../client/client.ts'
import { startService } from '../support/test-service.ts'
import { rejection } from './rejection.ts'
import { rpcResult, scriptedFetch } from './scripted-fetch.ts'
import { completedTask, cut, refusal, result, startStub, type StubAnswer } from './stub-server.ts'

const input = { endpointId: 'test.echo', params: { hello: 'world' } }
const newTask = { taskId: 'task_1', status: 'pending', message: 'Task created' }
const createdTask = result(newTask)

test('creates the task and resolves with its final state', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  expect(await client.tasks.run(input)).toMatchObject({ status: 'completed', response: { hello: 'world' } })
  expect(await client.tasks.run({ endpointId: 'test.fail', params: {} })).toMatchObject({ status: 'failed' })
  expect((await client.tasks.list()).total).toBe(2)
  await service.stop()
})

test('retries a create whose connection broke, with one task and one charge', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const forward: StubAnswer = async (response, { method, url, headers, body }) => {
    const { authorization = '', 'content-type': type = '', 'idempotency-key': idempotencyKey } = headers
    const answered = await fetch(service.url + url, {
      method,
      headers: {
        Authorization: authorization,
        'Content-Type': type,
        ...(typeof idempotencyKey === 'string' && { 'Idempotency-Key': idempotencyKey }),
      },
      ...(method === 'POST' && { body }),
    })
    const text = await answered.text()
    response.writeHead(answered.status, { 'Content-Type': 'application/json' }).end(text)
  }
  const forwardThenCut: StubAnswer = async (response, { url, headers, body }) => {
    const { authorization = '', 'idempotency-key': idempotencyKey } = headers
    await fetch(service.url + url, {
      method: 'POST',
      headers: {
        Authorization: authorization,
        'Content-Type': 'application/json',
        'Idempotency-Key': String(idempotencyKey),
      },
      body,
    })
    response.socket?.destroy()
  }
  const proxy = await startStub(forwardThenCut, cut, forward)
  const client = createClient({ baseUrl: proxy.url, apiKey: key })
  const task = await client.tasks.run(input)
  expect(task).toMatchObject({ status: 'completed', response: { hello: 'world' } })
  const keys = proxy.requests.slice(0, 3).map(({ headers }) => headers['idempotency-key'])
  expect(keys).toEqual([keys[0], keys[0], keys[0]])
  expect(keys[0]).toMatch(/^run_[0-9a-f]{32}$/)
  const { body: list } = await service.get('/api/tasks', key)
  expect(list.tasks.map(({ id }: { id: string }) => id)).toEqual([task.id])
  const { body: charges } = await service.get('/api/transactions?type=task_charge', key)
  expect(charges.total).toBe(1)
  await proxy.stop()
  await service.stop()
})

test("each run has its own key; reusing the caller's key returns the same task", async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const [first, second] = await Promise.all([client.tasks.run(input), client.tasks.run(input)])
  expect(first.id).not.toBe(second.id)
  const third = await client.tasks.run(input, { idempotencyKey: 'job-7' })
  expect((await client.tasks.run(input, { idempotencyKey: 'job-7' })).id).toBe(third.id)
  expect((await client.tasks.list()).total).toBe(3)
  await service.stop()
})

test('retries after 503 and 429 with the same key', async () => {
  const stub = await startStub(
    refusal('SERVICE_UNAVAILABLE', 503),
    refusal('RATE_LIMIT_EXCEEDED', 429),
    createdTask,
    result(completedTask),
  )
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  expect(await client.tasks.run(input)).toEqual(completedTask)
  const keys = stub.requests.slice(0, 3).map(({ headers }) => headers['idempotency-key'])
  expect(new Set(keys).size).toBe(1)
  await stub.stop()
})

test('tries a create five times and throws the last failure', async () => {
  const stub = await startStub(cut)
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  expect(await rejection(client.tasks.run(input))).toMatchObject({ code: 'NETWORK_ERROR', taskId: undefined })
  expect(stub.requests).toHaveLength(5)
  await stub.stop()
})

test('throws a rejection immediately', async () => {
  const stub = await startStub(refusal('INSUFFICIENT_BALANCE', 403))
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  expect(await rejection(client.tasks.run(input))).toMatchObject({ code: 'INSUFFICIENT_BALANCE', status: 403 })
  expect(stub.requests).toHaveLength(1)
  await stub.stop()
})

test('TIMEOUT names the task, or the key if it is unknown whether a task exists', async () => {
  const run = (fetch: ClientFetch) =>
    rejection(createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'key', fetch }).tasks.run(input, { timeoutMs: 100 }))
  const silent = scriptedFetch()
  const unknown = await run(silent.fetch)
  expect(unknown).toMatchObject({ code: 'TIMEOUT', taskId: undefined })
  expect(unknown.message).toContain(silent.sent[0]!.get('idempotency-key'))
  const known = await run(scriptedFetch(rpcResult(newTask)).fetch)
  expect(known).toMatchObject({ code: 'TIMEOUT', taskId: 'task_1' })
  expect(known.message).toContain('task_1')
})

test('an abort ends the run immediately with its reason', async () => {
  const stub = await startStub(() => controller.abort('enough'))
  const controller = new AbortController()
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  await expect(client.tasks.run(input, { signal: controller.signal })).rejects.toBe('enough')
  expect(stub.requests).toHaveLength(1)
  await stub.stop()
})
