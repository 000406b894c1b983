import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { ofTier } from '../../run/tiers.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startService, type Person, type TestService } from '../../support/test-service.ts'
import { until, waitMsMax } from '../../support/until.ts'
import { startReceiver, type Receiver } from '../receiver.ts'

// Dead, slow or many endpoints of one user must not delay another user's events for long.

const origins = Array.from({ length: ofTier(300, 600) }, (_, n) => `127.1.${n >> 8}.${n & 255}`)
const soonMs = 5000

let clock: FakeClock
let receiver: Receiver
let service: TestService
let person: Person
let other: Person

beforeEach(async () => {
  clock = new FakeClock(Date.now())
  receiver = await startReceiver()
  service = await startService({
    clock,
    privateHosts: ['127.0.0.1', ...origins],
    limits: { executionsPerMinute: 0, abuseFailures: 0 },
  })
  other = await service.createPerson()
  person = await service.createPerson()
})

afterEach(async () => {
  await service.stop()
  await receiver.stop()
})

async function create(url: string | null, { key }: Person): Promise<string> {
  clock.advance(1)
  const { body, status } = await service.post('/api/webhooks', { url }, { key })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.id
}

const at = (path: string) => receiver.url + path
const credit = ({ userId }: Person) =>
  service.app.store.credit({ userId, amount: 1, description: '', idempotencyKey: null })
const sendTest = (webhookId: string, signal?: AbortSignal) =>
  fetch(`${service.url}/api/webhooks/${webhookId}/test`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${person.key}` },
    ...(signal && { signal }),
  })

/** Creates one task per origin, alternating between these users. All origins give this response. */
async function taskOfEach(answer: RequestListener, owners = [other]): Promise<void> {
  const server = createServer(answer).listen(0, '0.0.0.0')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  for (let n = 0; n < origins.length; n += 20) {
    const created = origins.slice(n, n + 20).map(async (host, at) => {
      const body = { endpointId: 'test.free', params: {}, webhookUrl: `http://${host}:${port}/` }
      const { key } = owners[at % owners.length]!
      expect((await service.post('/api/tasks', body, { key })).status).toBe(200)
    })
    await Promise.all(created)
  }
}

async function arrivesSoon(): Promise<void> {
  const count = receiver.of('/alive').length + 1
  const startedAt = performance.now()
  await credit(person)
  await receiver.waitFor(count, '/alive')
  expect(performance.now() - startedAt).toBeLessThan(soonMs)
}

test('ten thousand deliveries to a dead endpoint and eight hanging endpoints delay no other deliveries', async () => {
  await create(at('/dead'), other)
  receiver.answers.set('/dead', (request) => request.socket.destroy())
  for (let n = 0; n < 8; n++) {
    receiver.answers.set(`/hangs/${n}`, () => {})
    await create(at(`/hangs/${n}`), other)
  }
  await Promise.all(Array.from({ length: 1200 }, () => credit(other)))
  await until('all of its places are taken', waitMsMax, () => receiver.received.length >= 8)
  await create(at('/alive'), person)
  for (let n = 0; n < 5; n++) await arrivesSoon()
})

test("hundreds of hanging origins in one user's tasks delay no other deliveries", async () => {
  await create(null, other)
  await create(at('/alive'), person)
  await taskOfEach(() => {})
  for (let n = 0; n < 3; n++) await arrivesSoon()
})

test('hanging origins of two users leave room for other users, even before they count as slow', async () => {
  const third = await service.createPerson()
  for (const owner of [other, third]) await create(null, owner)
  await create(at('/alive'), person)
  let open = 0
  await taskOfEach(() => void open++, [other, third])
  await until('their places are taken', waitMsMax, () => open >= 8)
  for (let n = 0; n < 3; n++) await arrivesSoon()
})

test("four slowly failing webhooks of one user do not delay another user's retry", async () => {
  for (let n = 0; n < 4; n++) {
    receiver.answers.set(`/slow/${n}`, (_, response) => setTimeout(() => response.writeHead(503).end(), 1000))
    await create(at(`/slow/${n}`), other)
  }
  await create(at('/flaky'), person)
  await Promise.all(Array.from({ length: 60 }, () => credit(other)))
  await until('they have failed', waitMsMax, () => receiver.received.length >= 12)
  receiver.answers.set('/flaky', 503)
  const { id } = await service.runTask(person.key, 'test.echo')
  await receiver.waitFor(1, '/flaky')
  receiver.answers.set('/flaky', 200)
  const webhookId = (await service.get('/api/webhooks', person.key)).body.webhooks[0].id
  const deliveries = async () =>
    (await service.get(`/api/webhooks/${webhookId}/deliveries`, person.key)).body.deliveries
  await until('it is kept', waitMsMax, async () => (await deliveries())[0].error !== null)
  clock.advance(6000)
  const startedAt = performance.now()
  const [, second] = await receiver.waitFor(2, '/flaky')
  expect(performance.now() - startedAt).toBeLessThan(soonMs)
  expect(JSON.parse(second!.body).data.taskId).toBe(id)
})

test('an endpoint that has failed gets one request at a time', async () => {
  let [open, openMax] = [0, 0]
  receiver.answers.set('/failing', (_, response) => {
    openMax = Math.max(openMax, ++open)
    setTimeout(() => (open--, response.writeHead(503).end()), 50)
  })
  await create(at('/failing'), other)
  await credit(other)
  await receiver.waitFor(1, '/failing')
  await until('it has failed', waitMsMax, () => open === 0)
  await Promise.all(Array.from({ length: 20 }, () => credit(other)))
  await receiver.waitFor(9, '/failing')
  expect(openMax).toBe(1)
})

test('every origin of a user is tried, no matter how many of them fail', async () => {
  const failed = new Set<string>()
  await create(null, other)
  await taskOfEach(({ headers }, response) => {
    failed.add(headers.host!)
    response.writeHead(500).end()
  })
  await until('each was tried', waitMsMax, () => failed.size === origins.length)
})

test('a client that leaves the test queue sends no test, and a queue of two is full', async () => {
  let answer = () => {}
  receiver.answers.set('/alive', (_, response) => (answer = () => response.end()))
  const id = await create(at('/alive'), person)
  const first = sendTest(id)
  await receiver.waitFor(1, '/alive')
  const leaving = new AbortController()
  const three = Array.from({ length: 3 }, () => sendTest(id, leaving.signal))
  const full = await Promise.race(three)
  expect(full.status).toBe(429)
  expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(full.headers.get('ratelimit-remaining')).toBeNull()
  leaving.abort()
  const left = (await Promise.allSettled(three)).filter(({ status }) => status === 'rejected')
  expect(left).toHaveLength(2)
  await until('the service knows', waitMsMax, async () => {
    const { body } = await service.get('/metrics')
    return String(body).includes('errand_refusals_total{code="REQUEST_TIMEOUT"} 2')
  })
  receiver.answers.set('/alive', 200)
  answer()
  expect((await first).status).toBe(200)
  expect((await sendTest(id)).status).toBe(200)
  expect(receiver.of('/alive')).toHaveLength(2)
})

test('an account can send sixty tests an hour', async () => {
  const id = await create(at('/alive'), person)
  const statuses = []
  for (let n = 0; n < 61; n++) statuses.push((await sendTest(id)).status)
  expect(statuses).toEqual([...Array<number>(60).fill(200), 429])
  expect(receiver.of('/alive')).toHaveLength(60)
  clock.advance(3_600_000)
  expect((await sendTest(id)).status).toBe(200)
})
