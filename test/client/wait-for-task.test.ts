import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import { startService } from '../support/test-service.ts'
import { recordedFetch } from './recorded-fetch.ts'
import { rejection } from './rejection.ts'

test('resolves as soon as the task has completed, after one request', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const { fetch, sent } = recordedFetch()
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch })
  const { taskId } = await client.tasks.create({ endpointId: 'test.wait', params: { ms: 200 } })
  const task = await client.tasks.wait(taskId)
  expect(task).toMatchObject({ id: taskId, status: 'completed', response: { waited: 200 }, error: null })
  expect(sent).toHaveLength(2)
  await service.stop()
})

test('resolves with a failed task too', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const { taskId } = await client.tasks.create({ endpointId: 'test.fail', params: { message: 'No luck.' } })
  expect(await client.tasks.wait(taskId)).toMatchObject({
    status: 'failed',
    response: null,
    error: { code: 'AGENT_ERROR', message: 'No luck.' },
  })
  await service.stop()
})

test('an abort ends the wait and its request immediately and leaves no listener', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const { fetch, sent } = recordedFetch()
  const asked = Promise.withResolvers<void>()
  const client = createClient({
    baseUrl: service.url,
    apiKey: key,
    fetch: (url, init) => {
      if (url.includes('tasks.get')) asked.resolve()
      return fetch(url, init)
    },
  })
  const { taskId } = await client.tasks.create({ endpointId: 'test.wait', params: { ms: 1500 } })
  const controller = new AbortController()
  const reason = new Error('The user left.')
  const waiting = client.tasks.wait(taskId, { signal: controller.signal })
  await asked.promise
  controller.abort(reason)
  await expect(waiting).rejects.toBe(reason)
  expect(sent.at(-1)!.init.signal!.aborted).toBe(true)
  expect((await client.tasks.get({ taskId })).status).not.toBe('completed')
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  await expect(client.tasks.wait(taskId, { signal: controller.signal })).rejects.toBe(reason)
  await service.stop()
})

test('a signal that outlives many calls accumulates no listeners', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const { signal } = new AbortController()
  const { id } = await client.tasks.run({ endpointId: 'test.echo', params: {} }, { signal })
  await client.tasks.wait(id, { signal })
  await client.account.get({ signal })
  await rejection(client.tasks.get({ taskId: 'task_none' }, { signal }))
  expect(getEventListeners(signal, 'abort')).toEqual([])
  await service.stop()
})

test('TIMEOUT says that the task continues, and waiting for it again works', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const { taskId } = await client.tasks.create({ endpointId: 'test.wait', params: { ms: 1000 } })
  const error = await rejection(client.tasks.wait(taskId, { timeoutMs: 50 }))
  expect(error).toMatchObject({ code: 'TIMEOUT', status: undefined, taskId })
  expect(error.message).toBe(`The task ${taskId} did not end within 50 ms, but it continues. Wait for it again.`)
  expect((await client.tasks.wait(taskId, { timeoutMs: Infinity })).status).toBe('completed')
  await service.stop()
})

test('throws a rejection immediately, naming the task', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const blind = await service.createKey(userId, ['execute'])
  const client = createClient({ baseUrl: service.url, apiKey: blind })
  const { taskId } = await client.tasks.create({ endpointId: 'test.echo', params: {} })
  expect(await rejection(client.tasks.wait(taskId))).toMatchObject({ code: 'FORBIDDEN', status: 403, taskId })
  expect((await createClient({ baseUrl: service.url, apiKey: key }).tasks.wait(taskId)).status).toBe('completed')
  await service.stop()
})
