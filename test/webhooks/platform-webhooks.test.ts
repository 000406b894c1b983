import { afterEach, beforeEach, expect, test } from 'vitest'
import { webhooks } from '../../client/webhooks.ts'
import { PlatformCalls } from '../api/platform-calls.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { until, waitMsMax } from '../support/until.ts'
import { startReceiver, type Received, type Receiver } from './receiver.ts'

let receiver: Receiver
let service: TestService
let platform: PlatformCalls

beforeEach(async () => {
  receiver = await startReceiver()
  service = await startService({ privateHosts: ['127.0.0.1'] })
  platform = await PlatformCalls.open(service)
})

afterEach(async () => {
  await service.stop()
  await receiver.stop()
})

async function create(path: string | null): Promise<{ id: string; secret: string }> {
  const { body, status } = await platform.post('/api/webhooks', { url: path === null ? null : receiver.url + path })
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

const unwrap = ({ body, headers }: Received, secret: string) => webhooks.unwrap(body, headers, secret)
const echo = { endpointId: 'test.echo', params: {} }

test("a platform key's webhook receives each event of its users with the product's id", async () => {
  const { id, secret } = await create('/all')
  const userId = await platform.newUser('customer-1')
  const { body: task } = await platform.post('/api/tasks', echo, { user: 'ext:customer-1' })
  const events = await Promise.all((await receiver.waitFor(2, '/all')).map((one) => unwrap(one, secret)))
  const of = { userId, externalId: 'customer-1', timestamp: expect.any(String) }
  expect(events).toEqual(
    expect.arrayContaining([
      { ...of, type: 'credit.added', data: expect.objectContaining({ amountUsd: '10.0000' }) },
      { ...of, type: 'task.completed', data: expect.objectContaining({ taskId: task.taskId, costUsd: '0.0100' }) },
    ]),
  )
  const { body: page } = await platform.get(`/api/webhooks/${id}/deliveries`)
  expect(page.deliveries.map(({ type }: { type: string }) => type).toSorted()).toEqual([
    'credit.added',
    'task.completed',
  ])
  const bodies = await Promise.all(
    page.deliveries.map(
      async ({ eventId }: { eventId: string }) =>
        (await platform.get(`/api/webhooks/${id}/deliveries/${eventId}`)).body.request.body,
    ),
  )
  expect(bodies.toSorted()).toEqual(
    receiver
      .of('/all')
      .map(({ body }) => body)
      .toSorted(),
  )
})

test('a platform key lists, changes, tests, rotates and deletes its webhooks, and users do not see them', async () => {
  const { id } = await create('/all')
  const { key } = await service.createPerson()
  const other = await PlatformCalls.open(service)
  expect((await other.get('/api/webhooks')).body).toMatchObject({ total: 1, webhooks: [{ id }] })
  expect((await service.get('/api/webhooks', key)).body.total).toBe(0)
  expect((await service.get(`/api/webhooks/${id}`, key)).status).toBe(404)
  expect((await platform.get(`/api/webhooks/${id}`)).body).toMatchObject({ id, isEnabled: true })
  const { secret } = (await platform.post(`/api/webhooks/${id}/rotate`, { overlapSeconds: 0 })).body
  const { body: tested } = await platform.post(`/api/webhooks/${id}/test`, {})
  expect(tested).toMatchObject({ type: 'webhook.test', status: 'succeeded', httpStatus: 200 })
  const sent = receiver.of('/all').find(({ id: eventId }) => eventId === tested.eventId)
  expect(await unwrap(sent!, secret)).toMatchObject({ type: 'webhook.test', data: { webhookId: id } })
  const again = await platform.post(`/api/webhooks/${id}/deliveries/${tested.eventId}/redeliver`, {})
  expect(again.status).toBe(200)
  expect((await platform.call('PATCH', `/api/webhooks/${id}`, { body: { isEnabled: false } })).body).toMatchObject({
    isEnabled: false,
  })
  expect((await platform.call('DELETE', `/api/webhooks/${id}`)).status).toBe(200)
  expect((await platform.get('/api/webhooks')).body.total).toBe(0)
})

test("the events of a suspended user are delivered, and an admin's are not", async () => {
  const { secret } = await create('/all')
  const userId = await platform.newUser('customer-1')
  const admin = await service.createPerson({ isAdmin: true })
  await service.runTask(admin.key, 'test.echo')
  const { body: task } = await platform.post(
    '/api/tasks',
    { ...echo, endpointId: 'test.wait', params: { ms: 1500 } },
    { user: userId },
  )
  expect((await platform.call('PATCH', `/api/users/${userId}`, { body: { isSuspended: true } })).status).toBe(200)
  const received = await receiver.waitFor(2, '/all')
  const events = await Promise.all(received.map((one) => unwrap(one, secret)))
  expect(events.map((event) => event.userId)).toEqual([userId, userId])
  expect(events).toContainEqual(
    expect.objectContaining({
      type: expect.stringMatching(/^task\./),
      data: expect.objectContaining({ taskId: task.taskId }),
    }),
  )
})

test("tasks that a platform key creates for a user may name a URL, signed by the platform's webhook", async () => {
  const userId = await platform.newUser('customer-1')
  const key = await service.createKey(userId)
  const named = { ...echo, webhookUrl: `${receiver.url}/one` }
  expect((await platform.post('/api/tasks', named, { user: userId })).status).toBe(400)
  const { secret } = await create(null)
  // The user has no secret with which to verify the request.
  expect((await service.post('/api/tasks', named, { key })).status).toBe(400)
  const { body: task } = await platform.post('/api/tasks', named, { user: userId })
  const [received] = await receiver.waitFor(1, '/one')
  expect(await unwrap(received!, secret)).toMatchObject({
    userId,
    externalId: 'customer-1',
    data: { taskId: task.taskId },
  })
  await until('it is stored', waitMsMax, async () => (await service.app.store.verifyLedger()).differences.length === 0)
})
