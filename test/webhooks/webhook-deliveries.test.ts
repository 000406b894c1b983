import { afterEach, beforeEach, expect, test } from 'vitest'
import { webhooks } from '../../client/webhooks.ts'
import { leaseMs } from '../../server/webhooks/webhook-dispatcher.ts'
import { say } from '../support/chat-agents.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type Person, type TestService } from '../support/test-service.ts'
import { until, waitMsMax } from '../support/until.ts'
import { startReceiver, type Received, type Receiver } from './receiver.ts'

// Deliveries to real endpoints, and the service's reactions to their responses.

let clock: FakeClock
let receiver: Receiver
let service: TestService
let person: Person

beforeEach(async () => {
  clock = new FakeClock(Date.now())
  receiver = await startReceiver()
  service = await startService({
    clock,
    privateHosts: ['127.0.0.1'],
    limits: { executionsPerMinute: 0, abuseFailures: 0 },
  })
  person = await service.createPerson()
})

afterEach(async () => {
  await service.stop()
  await receiver.stop()
})

async function create(input: object, key = person.key): Promise<{ id: string; secret: string }> {
  const { body, status } = await service.post('/api/webhooks', input, { key })
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

const at = (path: string) => receiver.url + path
const unwrap = ({ body, headers }: Received, secret: string | string[]) =>
  webhooks.unwrap(body, headers, secret, { toleranceSeconds: 100_000_000 })
const deliveries = async (webhookId: string, query = '') =>
  (await service.get(`/api/webhooks/${webhookId}/deliveries${query}`, person.key)).body.deliveries
const ended = (webhookId: string, count = 1) =>
  until('deliveries ended', waitMsMax, async () => {
    const all = await deliveries(webhookId)
    return all.length >= count && all.every(({ status }: { status: string }) => status !== 'pending')
  })

test('task ends and credits are delivered with a signature and without content', async () => {
  const { id, secret } = await create({ url: at('/all') })
  const completed = await service.runTask(person.key, 'test.echo', { text: 'secret words' })
  const failed = await service.runTask(person.key, 'test.fail', { message: 'secret words' })
  await service.app.store.credit({
    userId: person.userId,
    amount: 5000,
    description: 'secret words',
    idempotencyKey: null,
  })
  await ended(id, 3)
  const received = await receiver.waitFor(3)
  const events = await Promise.all(received.map((one) => unwrap(one, secret)))
  const { agentId, endpointId } = completed
  expect(events.toSorted((a, b) => (a.type < b.type ? -1 : 1))).toEqual([
    { type: 'credit.added', timestamp: expect.any(String), data: expect.objectContaining({ amountUsd: '0.5000' }) },
    {
      type: 'task.completed',
      timestamp: completed.completedAt,
      data: {
        taskId: completed.id,
        agentId,
        endpointId,
        status: 'completed',
        costUsd: '0.0100',
        refundedUsd: '0.0000',
      },
    },
    {
      type: 'task.failed',
      timestamp: failed.completedAt,
      data: {
        taskId: failed.id,
        agentId,
        endpointId: failed.endpointId,
        status: 'failed',
        costUsd: '0.0200',
        refundedUsd: '0.0200',
        errorCode: 'AGENT_ERROR',
      },
    },
  ])
  for (const { body, headers } of received) {
    expect(body).not.toContain('secret words')
    expect(Buffer.byteLength(body)).toBeLessThan(1024)
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'errand' })
    expect(headers.authorization).toBeUndefined()
  }
  const listed = await deliveries(id)
  expect(listed.map(({ taskId }: { taskId?: string }) => taskId).toSorted()).toEqual(
    [completed.id, failed.id, undefined].toSorted(),
  )
  for (const one of listed) {
    expect(one).toMatchObject({ status: 'succeeded', attempts: 1, httpStatus: 200, error: null, nextAttemptAt: null })
    expect(JSON.stringify(one)).not.toContain('an answer')
  }
  expect(receiver.connections()).toBeLessThanOrEqual(3)
})

test('the end of a chat is delivered with its outcome and cost, and without content', async () => {
  const { id, secret } = await create({ url: at('/chats'), types: ['chat.settled'] })
  const { body: session } = await service.post('/api/sessions', { agentId: 'talk' }, { key: person.key })
  const message = say({ do: 'text', delta: 'secret words' })
  await service.post('/api/chat', { sessionId: session.sessionId, message }, { key: person.key })
  await ended(id)
  expect(await deliveries(id)).toMatchObject([{ sessionId: session.sessionId }])
  const [received] = await receiver.waitFor(1)
  const { transactions } = (await service.get('/api/transactions?limit=1', person.key)).body
  expect(await unwrap(received!, secret)).toEqual({
    type: 'chat.settled',
    timestamp: expect.any(String),
    data: {
      turnId: expect.stringMatching(/^turn_/),
      sessionId: session.sessionId,
      agentId: 'talk',
      outcome: 'finished',
      costUsd: transactions[0].amountUsd.slice(1),
    },
  })
  expect(received!.body).not.toContain('secret words')
})

test('a webhook gets only the event types it names, and no events of other users', async () => {
  const other = await service.createPerson()
  const [some, all] = [await create({ url: at('/some'), types: ['task.failed'] }), await create({ url: at('/all') })]
  await create({ url: at('/other') }, other.key)
  await service.runTask(person.key, 'test.echo')
  await service.runTask(person.key, 'test.fail')
  await Promise.all([ended(some.id), ended(all.id, 2)])
  expect(receiver.of('/some').map(({ body }) => JSON.parse(body).type)).toEqual(['task.failed'])
  expect(receiver.of('/all')).toHaveLength(2)
  expect(receiver.of('/other')).toEqual([])
})

test("the webhook URL of a task gets the end of that task, signed with the account's one secret", async () => {
  const { id, secret } = await create({ url: null })
  const body = { endpointId: 'test.echo', params: {}, webhookUrl: at('/task') }
  const created = await service.post('/api/tasks', body, { key: person.key })
  expect(created.status).toBe(200)
  const [received] = await receiver.waitFor(1, '/task')
  expect(await unwrap(received!, secret)).toMatchObject({
    type: 'task.completed',
    data: { taskId: created.body.taskId },
  })
  await ended(id)
  expect(await deliveries(id)).toMatchObject([{ url: at('/task'), status: 'succeeded' }])
  // A task without a webhook URL sends nothing.
  await service.runTask(person.key, 'test.echo')
  expect(await deliveries(id)).toHaveLength(1)
})

test('tries a failed delivery nine times in total, with the same id and bytes', async () => {
  const { id } = await create({ url: at('/down') })
  receiver.answers.set('/down', 500)
  await service.runTask(person.key, 'test.echo')
  const pauses = [5, 30, 120, 600, 3600, 4 * 3600, 10 * 3600, 24 * 3600]
  for (const [n, pause] of pauses.entries()) {
    await receiver.waitFor(n + 1, '/down')
    let one = (await deliveries(id))[0]
    // The due time is the end of the lease until the outcome is stored.
    await until('the outcome is kept', waitMsMax, async () => {
      one = (await deliveries(id))[0]
      return one.attempts === n + 1 && one.error !== null && Date.parse(one.nextAttemptAt) - clock.now() !== leaseMs
    })
    expect(one).toMatchObject({ status: 'pending', httpStatus: 500 })
    const inMs = Date.parse(one.nextAttemptAt) - clock.now()
    expect(inMs).toBeGreaterThan(pause * 890)
    expect(inMs).toBeLessThan(pause * 1110)
    clock.advance(pause * 1110)
  }
  await ended(id)
  expect(await deliveries(id)).toMatchObject([{ status: 'failed', attempts: 9, httpStatus: 500 }])
  expect(new Set(receiver.received.map((one) => `${one.id} ${one.body}`)).size).toBe(1)
  const [first, last] = [receiver.received[0]!.headers, receiver.received.at(-1)!.headers]
  expect(Number(last['webhook-timestamp']) - Number(first['webhook-timestamp'])).toBeGreaterThan(100_000)
  expect((await service.get(`/api/webhooks/${id}`, person.key)).body.failingSince).not.toBeNull()
})

test('a delivery has its last request, the start of the last response, and its attempts', async () => {
  const { id } = await create({ url: at('/boom') })
  receiver.answers.set('/boom', (_, response) => response.writeHead(500, { 'x-of': 'it' }).end('boom'.repeat(1000)))
  const { id: taskId } = await service.runTask(person.key, 'test.echo')
  for (const count of [1, 2]) {
    await receiver.waitFor(count, '/boom')
    await until('it is kept', waitMsMax, async () => (await one()).history.length === count)
    clock.advance(6000)
  }
  async function one() {
    const [{ eventId }] = await deliveries(id)
    return (await service.get(`/api/webhooks/${id}/deliveries/${eventId}`, person.key)).body
  }
  const { history, request, response } = await one()
  const [, second] = receiver.of('/boom')
  expect(request).toEqual({
    url: at('/boom'),
    headers: Object.fromEntries(
      ['content-type', 'user-agent', 'webhook-id', 'webhook-timestamp'].map((name) => [name, second!.headers[name]]),
    ),
    body: second!.body,
  })
  expect(JSON.parse(request.body).data.taskId).toBe(taskId)
  expect(response.head).toMatch(/^HTTP\/1.1 500 Internal Server Error\nx-of: it\n/)
  expect(response.body).toBe('boom'.repeat(256))
  const attempt = { at: expect.any(String), durationMs: expect.any(Number), httpStatus: 500, error: expect.any(String) }
  expect(history).toEqual([attempt, attempt])
  const { error } = history[1]
  expect((await service.get(`/api/webhooks/${id}`, person.key)).body).toMatchObject({
    recent: { succeeded: 0, failed: 0, responseP95Ms: null },
    lastFailure: { error },
  })
  const other = await service.createPerson()
  expect((await service.get(`/api/webhooks/${id}/deliveries/${second!.id}`, other.key)).status).toBe(404)
})

test('accepts any 2xx status, follows no redirects, and neither waits for nor stores long responses', async () => {
  receiver.answers.set('/204', 204)
  receiver.answers.set('/redirect', (_, response) => response.writeHead(302, { location: at('/elsewhere') }).end())
  receiver.answers.set('/large', (_, response) => response.end('x'.repeat(5_000_000)))
  receiver.answers.set('/endless', (_, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('.'), 20)
    response.on('close', () => clearInterval(timer))
  })
  const made = new Map<string, string>()
  for (const path of ['/204', '/redirect', '/large', '/endless']) made.set(path, (await create({ url: at(path) })).id)
  const outcomes: Record<string, unknown> = {}
  for (const [path, id] of made) {
    const tested = await service.post(`/api/webhooks/${id}/test`, {}, { key: person.key })
    outcomes[path] = [tested.status, tested.body.status, tested.body.httpStatus, tested.body.error]
  }
  expect(outcomes).toEqual({
    '/204': [200, 'succeeded', 204, null],
    '/redirect': [
      200,
      'failed',
      302,
      "The endpoint responded with a redirect. Set the webhook's URL to the final URL.",
    ],
    '/large': [200, 'succeeded', 200, null],
    '/endless': [200, 'succeeded', 200, null],
  })
  expect(receiver.of('/elsewhere')).toEqual([])
})

test('an endpoint that answers 410 is disabled, and its pending deliveries end unsent', async () => {
  const { id } = await create({ url: at('/gone') })
  receiver.answers.set('/gone', 500)
  await service.runTask(person.key, 'test.echo')
  await receiver.waitFor(1, '/gone')
  receiver.answers.set('/gone', 410)
  await service.runTask(person.key, 'test.echo')
  await until(
    'it is disabled',
    waitMsMax,
    async () => (await service.get(`/api/webhooks/${id}`, person.key)).body.disabledReason === 'gone',
  )
  clock.advance(10_000)
  await ended(id, 2)
  expect((await deliveries(id)).map(({ status }: { status: string }) => status).toSorted()).toEqual([
    'canceled',
    'failed',
  ])
  const before = receiver.received.length
  await service.runTask(person.key, 'test.echo')
  expect(await deliveries(id)).toHaveLength(2)
  const again = await service.request('PATCH', `/api/webhooks/${id}`, { key: person.key, body: { isEnabled: true } })
  expect(again.body).toMatchObject({ isEnabled: true, disabledReason: null, failingSince: null })
  receiver.answers.set('/gone', 200)
  const last = await service.runTask(person.key, 'test.echo')
  await ended(id, 3)
  expect(receiver.received.slice(before).map(({ body }) => JSON.parse(body).data.taskId)).toEqual([last.id])
})

test('three days without a success disable a webhook, and a success restarts the count', async () => {
  const { id } = await create({ url: at('/flaky') })
  receiver.answers.set('/flaky', 500)
  const day = 86_400_000
  const fail = async (count: number) => {
    clock.advance(10)
    await service.runTask(person.key, 'test.free')
    await receiver.waitFor(count, '/flaky')
    await until('it is kept', waitMsMax, async () => (await deliveries(id))[0].error !== null)
  }
  const webhook = async () => (await service.get(`/api/webhooks/${id}`, person.key)).body
  await fail(1)
  const since = (await webhook()).failingSince
  clock.advance(2 * day)
  receiver.answers.set('/flaky', 200)
  // The pending delivery is sent together with the new one.
  await service.runTask(person.key, 'test.free')
  await ended(id, 2)
  expect(await webhook()).toMatchObject({ failingSince: null, isEnabled: true })
  receiver.answers.set('/flaky', 500)
  const count = receiver.received.length
  await fail(count + 1)
  expect(Date.parse((await webhook()).failingSince)).toBeGreaterThan(Date.parse(since))
  clock.advance(3 * day)
  await service.runTask(person.key, 'test.free')
  await until('it is disabled', waitMsMax, async () => (await webhook()).disabledReason === 'failing')
  await ended(id, 4)
})

test('a retry after a secret rotation has both signatures, until the overlap ends', async () => {
  const { id, secret: old } = await create({ url: at('/rotated') })
  receiver.answers.set('/rotated', 503)
  await service.runTask(person.key, 'test.echo')
  await receiver.waitFor(1, '/rotated')
  await until('it is kept', waitMsMax, async () => (await deliveries(id))[0].error !== null)
  const rotated = await service.post(`/api/webhooks/${id}/rotate`, { overlapSeconds: 3600 }, { key: person.key })
  expect(rotated.body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const { secret } = rotated.body
  receiver.answers.set('/rotated', 200)
  clock.advance(6000)
  const [, second] = await receiver.waitFor(2, '/rotated')
  const signatures = String(second!.headers['webhook-signature']).split(' ')
  expect(signatures).toHaveLength(2)
  for (const one of [old, secret, [secret, old]])
    expect(await unwrap(second!, one)).toMatchObject({ type: 'task.completed' })
  clock.advance(3_600_000)
  await service.runTask(person.key, 'test.echo')
  const [, , third] = await receiver.waitFor(3, '/rotated')
  expect(String(third!.headers['webhook-signature']).split(' ')).toHaveLength(1)
  await expect(unwrap(third!, old)).rejects.toMatchObject({ code: 'INVALID_SIGNATURE' })
  expect(await unwrap(third!, secret)).toMatchObject({ type: 'task.completed' })
})

test('pending deliveries of a deleted or disabled webhook are sent only if redelivered', async () => {
  const [deleted, disabled] = [await create({ url: at('/deleted') }), await create({ url: at('/disabled') })]
  for (const path of ['/deleted', '/disabled']) receiver.answers.set(path, 500)
  await service.runTask(person.key, 'test.echo')
  await Promise.all([receiver.waitFor(1, '/deleted'), receiver.waitFor(1, '/disabled')])
  await service.request('DELETE', `/api/webhooks/${deleted.id}`, { key: person.key })
  await service.request('PATCH', `/api/webhooks/${disabled.id}`, { key: person.key, body: { isEnabled: false } })
  for (const path of ['/deleted', '/disabled']) receiver.answers.set(path, 200)
  const [canceled] = await deliveries(disabled.id)
  expect(canceled.status).toBe('canceled')
  const redeliver = () =>
    service.post(`/api/webhooks/${disabled.id}/deliveries/${canceled.eventId}/redeliver`, {}, { key: person.key })
  expect((await redeliver()).status).toBe(409)
  clock.advance(3_600_000)
  await service.request('PATCH', `/api/webhooks/${disabled.id}`, { key: person.key, body: { isEnabled: true } })
  expect(receiver.received).toHaveLength(2)
  expect((await redeliver()).body).toMatchObject({ eventId: canceled.eventId, status: 'pending', attempts: 0 })
  const [first, second] = await receiver.waitFor(2, '/disabled')
  expect([second!.id, second!.body]).toEqual([first!.id, first!.body])
  expect(receiver.of('/deleted')).toHaveLength(1)
  expect((await service.get(`/api/webhooks/${deleted.id}/deliveries`, person.key)).status).toBe(404)
})

test('lists deliveries newest first, by status, in pages', async () => {
  const { id } = await create({ url: at('/pages') })
  for (let n = 0; n < 5; n++) {
    receiver.answers.set('/pages', n % 2 === 0 ? 200 : 410)
    clock.advance(10)
    await service.post(`/api/webhooks/${id}/test`, {}, { key: person.key })
  }
  const page = async (query: string) => (await service.get(`/api/webhooks/${id}/deliveries?${query}`, person.key)).body
  const all = (await page('limit=100')).deliveries
  expect(all.map(({ status }: { status: string }) => status)).toEqual([
    'succeeded',
    'failed',
    'succeeded',
    'failed',
    'succeeded',
  ])
  const read = []
  let after = ''
  for (;;) {
    const one = await page(`limit=2${after && `&after=${after}`}`)
    read.push(...one.deliveries)
    if (one.next === undefined) break
    after = one.next
  }
  expect(read).toEqual(all)
  const failed = await page('status=failed&limit=1')
  expect(failed.deliveries).toEqual([all[1]])
  expect((await page(`status=failed&after=${failed.next}`)).deliveries).toEqual([all[3]])
})
