import { expect, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import { startService } from '../support/test-service.ts'

test('every method returns the same as REST', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const rest = async (path: string) => (await service.get(path, key)).body

  const created = await client.tasks.create({ endpointId: 'test.echo', params: { hello: 'wörld' } })
  expect(created).toEqual({
    taskId: expect.stringMatching(/^task_/),
    status: 'pending',
    message: expect.any(String),
  })
  const { taskId } = created
  const task = await client.tasks.get({ taskId, wait: 20 })
  expect(task).toMatchObject({ userId, status: 'completed', response: { hello: 'wörld' }, costUsd: '0.0100' })
  expect(task).toEqual(await rest(`/api/tasks/${taskId}`))
  expect(await client.tasks.list()).toEqual(await rest('/api/tasks'))
  const page = { status: 'failed', agentId: 'test', limit: 3, offset: 1 } as const
  expect(await client.tasks.list(page)).toEqual(await rest('/api/tasks?status=failed&agentId=test&limit=3&offset=1'))

  expect(await client.agents.list()).toEqual(await rest('/api/agents'))
  expect(await client.agents.get({ agentId: 'test' })).toEqual(await rest('/api/agents/test'))
  expect(await client.account.get()).toEqual(await rest('/api/account'))
  expect(await client.account.usage()).toEqual(await rest('/api/usage'))
  expect(await client.transactions.list()).toEqual(await rest('/api/transactions'))
  expect((await client.transactions.list({ type: 'task_charge' })).transactions).toMatchObject([
    { taskId, amountUsd: '-0.0100', balanceAfterUsd: '9.9900' },
  ])
  await service.stop()
})

test('creates, rotates, lists and revokes a key', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })

  const first = await client.keys.create({ name: 'deploys', scopes: ['read'] })
  expect(first).toMatchObject({ name: 'deploys', scopes: ['read'], hint: first.key.slice(-4) })
  const second = await client.keys.rotate({ keyId: first.id, overlapSeconds: 60 })
  expect(second).toMatchObject({ name: 'deploys', expiresAt: null })
  const { keys } = await client.keys.list()
  expect(keys.map(({ id }) => id)).toEqual(expect.arrayContaining([first.id, second.id]))
  const other = createClient({ baseUrl: service.url, apiKey: second.key })
  expect((await other.account.get()).balanceUsd).toBe('10.0000')
  expect((await client.keys.revoke({ keyId: second.id })).revokedAt).not.toBeNull()
  await expect(other.account.get()).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  await service.stop()
})

test('params are serialized as over REST, even with unusual key names', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const params = { at: new Date(0), constructor: { prototype: 1 }, left: undefined, list: [undefined] }
  const { taskId } = await client.tasks.create({ endpointId: 'test.echo', params })
  const { body: task } = await service.get(`/api/tasks/${taskId}?wait=20`, key)
  const asJson = { at: '1970-01-01T00:00:00.000Z', constructor: { prototype: 1 }, list: [null] }
  expect(task.request).toEqual(asJson)
  expect(task.response).toEqual(asJson)
  await service.stop()
})

test('keeps a path prefix in baseUrl', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const asked: string[] = []
  const client = createClient({
    baseUrl: `${service.url}/some/prefix/`,
    apiKey: key,
    fetch: (url, init) => {
      asked.push(new URL(url).pathname)
      return fetch(url.replace('/some/prefix', ''), init)
    },
  })
  expect((await client.account.get()).balanceUsd).toBe('10.0000')
  expect(asked).toEqual(['/some/prefix/trpc/account.get'])
  await service.stop()
})

test("an aborted call rejects with its signal's reason", async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const reason = { why: 'the user left' }
  const before = client.account.get({ signal: AbortSignal.abort(reason) })
  await expect(before).rejects.toBe(reason)
  const controller = new AbortController()
  const during = client.account.get({ signal: controller.signal })
  controller.abort(reason)
  await expect(during).rejects.toBe(reason)
  await service.stop()
})
