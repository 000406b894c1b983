import { expect, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import { startService } from '../support/test-service.ts'
import { recordedFetch } from './recorded-fetch.ts'
import { rejection, rejections } from './rejection.ts'

test('sends 45 reads of one tick in three requests, each with its own response', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const { fetch, sent } = recordedFetch()
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch })
  const tasks = [await service.runTask(key, 'test.echo', { n: 0 }), await service.runTask(key, 'test.echo', { n: 1 })]
  const calls = Array.from({ length: 45 }, (_, n) => client.tasks.get({ taskId: tasks[n % 2].id }))
  const answers = await Promise.all(calls)
  expect(answers).toEqual(Array.from({ length: 45 }, (_, n) => tasks[n % 2]))
  expect(sent.map(({ url }) => url.pathname.split(',').length)).toEqual([20, 20, 5])
  await service.stop()
})

test('a failing call does not affect others in its batch', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const { fetch, sent } = recordedFetch()
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch })
  const [account, task] = await Promise.allSettled([client.account.get(), client.tasks.get({ taskId: 'task_none' })])
  expect(account).toMatchObject({ status: 'fulfilled', value: { userId } })
  expect(task).toMatchObject({ status: 'rejected', reason: { code: 'NOT_FOUND', status: 404 } })
  expect(sent).toHaveLength(1)
  await service.stop()
})

test('an aborted call does not affect others in its batch', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const { fetch, sent } = recordedFetch()
  const client = createClient({
    baseUrl: service.url,
    apiKey: key,
    fetch: (url, init) => {
      const response = fetch(url, init)
      // Aborts between the request and its response.
      controller.abort('enough')
      return response
    },
  })
  const controller = new AbortController()
  const aborted = client.account.get({ signal: controller.signal })
  const other = client.account.get()
  await expect(aborted).rejects.toBe('enough')
  expect((await other).userId).toBe(userId)
  expect(sent).toHaveLength(1)
  await service.stop()
})

test('splits batches whose URL would be too long; the service rejects a single input that is too long', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const { fetch, sent } = recordedFetch()
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch })
  const calls = Array.from({ length: 20 }, (_, n) => client.tasks.get({ taskId: `task_${n}${'ä'.repeat(190)}` }))
  for (const { code } of await rejections(calls)) expect(code).toBe('NOT_FOUND')
  expect(sent.length).toBeGreaterThan(1)
  for (const { url } of sent) expect(url.href.length).toBeLessThanOrEqual(4000)
  const long = await rejection(client.tasks.get({ taskId: 'x'.repeat(5000) }))
  expect(long).toMatchObject({ code: 'BAD_REQUEST', status: 400, details: [{ path: 'taskId' }] })
  await service.stop()
})

test('sends mutations separately, each with its own Idempotency-Key', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const { fetch, sent } = recordedFetch()
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch })
  const input = { endpointId: 'test.echo', params: {} }
  const created = await Promise.all([
    client.tasks.create(input, { idempotencyKey: 'a' }),
    client.tasks.create(input, { idempotencyKey: 'b' }),
    client.tasks.create(input),
    client.keys.create({ name: 'x' }),
  ])
  expect(sent.map(({ init }) => new Headers(init.headers).get('idempotency-key'))).toEqual([
    'a',
    'b',
    expect.stringMatching(/^run_[0-9a-f]{32}$/),
    null,
  ])
  const again = await client.tasks.create(input, { idempotencyKey: 'b' })
  expect(again.taskId).toBe(created[1].taskId)
  await service.stop()
})

test('a long poll does not delay other reads', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const { taskId } = await client.tasks.create({ endpointId: 'test.wait', params: { ms: 1000 } })
  const order: string[] = []
  await Promise.all([
    client.tasks.get({ taskId, wait: 20 }).then(({ status }) => order.push(status)),
    client.account.get().then(() => order.push('account')),
  ])
  expect(order).toEqual(['account', 'completed'])
  await service.stop()
})
