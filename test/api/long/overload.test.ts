import { createServer, type IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { createClient } from '../../../client/client.ts'
import { closeServer, listen, urlOf } from '../../../server/http/listening.ts'
import type { RequestEnds } from '../../../server/http/request-ends.ts'
import { identified, releaseGate, RequestGate, Sender } from '../../../server/http/limits/request-gate.ts'
import { createTurnAway } from '../../../server/http/limits/turn-away.ts'
import { Checker } from '../../pins/documented-answers.ts'
import { rejection } from '../../client/rejection.ts'
import { RawConnection, rawRequest, sendRaw } from '../../support/raw-http.ts'
import { startService, type Answer, type TestService } from '../../support/test-service.ts'

const json = 'Content-Type: application/json'

/** Sends more requests than the gate admits within one of its samples. */
async function readAtOnce(service: TestService, key: string, count: number): Promise<Answer[]> {
  return await Promise.all(Array.from({ length: count }, () => service.get('/api/account', key)))
}

async function untilRead(service: TestService, key: string, times: number): Promise<undefined> {
  for (let read = 0; read < times;) if ((await service.get('/api/account', key)).status === 200) read++
}

test('simultaneous requests beyond the bound get 503 with Retry-After; all others are answered', async () => {
  const service = await startService({ limits: { maxReadsInFlight: 1 } })
  const { key } = await service.createPerson()
  const checker = new Checker(service, key)
  await expect
    .poll(async () => (await readAtOnce(service, key, 50)).map(({ status }) => status), { timeout: 20_000 })
    .toEqual(expect.arrayContaining([200, 503]))
  const answers = await readAtOnce(service, key, 50)
  for (const answer of answers) {
    if (answer.status === 200) continue
    checker.note(503, 'GET /api/account', { answer })
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(answer.body).toMatchObject({ error: 'Service unavailable', statusCode: 503, code: 'SERVICE_UNAVAILABLE' })
  }
  for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json']) {
    const asked = await Promise.all([readAtOnce(service, key, 20), service.get(path)])
    expect(asked[1].status, path).toBe(200)
  }
  await service.stop()
})

test('the typed client reports an overload rejection as SERVICE_UNAVAILABLE', async () => {
  const service = await startService({ limits: { maxReadsInFlight: 1 } })
  const { key } = await service.createPerson()
  // Uses several clients, because one client would send simultaneous calls as a batch.
  const clients = Array.from({ length: 20 }, () => createClient({ baseUrl: service.url, apiKey: key }))
  const refused = async () => {
    const calls = clients.map((client) => rejection(client.tasks.get({ taskId: 'task_unknown' })))
    return (await Promise.all(calls)).find(({ status }) => status === 503)
  }
  await expect.poll(refused, { timeout: 20_000 }).toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 1 })
  await service.stop()
})

test('a read with wait counts as in flight only until its long poll starts', async () => {
  const service = await startService({ limits: { maxReadsInFlight: 1, taskConcurrency: 0 } })
  const { key } = await service.createPerson()
  const { taskId } = (await service.createTask(key, 'test.echo')).body
  const controller = new AbortController()
  const options = { headers: { Authorization: `Bearer ${key}` }, signal: controller.signal }
  const held: Promise<unknown>[] = []
  while (held.length < 5) {
    const waiting = fetch(`${service.url}/api/tasks/${taskId}?wait=60`, options)
    // Skips a rejected request, which gets its response before these reads do.
    if (await Promise.race([waiting, untilRead(service, key, 3)])) continue
    held.push(waiting)
  }
  for (const query of ['wait=0', 'x=wait']) {
    const path = `/api/tasks/${taskId}?${query}`
    const readSome = () => Promise.all(Array.from({ length: 50 }, async () => (await service.get(path, key)).status))
    await expect.poll(readSome, { timeout: 20_000 }).toEqual(expect.arrayContaining([200, 503]))
  }
  controller.abort()
  await Promise.allSettled(held)
  await service.stop()
})

test.each([
  ['GET', ''],
  ['POST', 'a body'],
])('slows a client that immediately retries a rejected %s to a few per second', async (method, body) => {
  const turnAway = createTurnAway({ ends: { turnedAway: () => {} } as RequestEnds, onRefused: () => {} })
  const server = createServer((request, response) => turnAway(request, response, { headers: [], form: undefined }))
  await listen(server, { host: '127.0.0.1', port: 0 })
  {
    using client = await RawConnection.open(urlOf(server))
    let refusals = 0
    for (const end = performance.now() + 1000; performance.now() < end; refusals++) {
      await client.send(rawRequest(`${method} /api/tasks`, [], body))
      expect((await client.readAnswer())!.status).toBe(503)
    }
    expect(refusals).toBeGreaterThan(1)
    expect(refusals).toBeLessThan(20)
  }
  await closeServer(server)
})

test('requests occupy no slot until their bodies arrive', async () => {
  const service = await startService({ limits: { maxWritesInFlight: 1 } })
  const { key } = await service.createPerson()
  const slow = await Promise.all(Array.from({ length: 10 }, () => RawConnection.open(service.url)))
  const bytes = rawRequest('POST /api/tasks', [`Authorization: Bearer ${key}`, json, 'Content-Length: 100'])
  await Promise.all(slow.map((connection) => connection.send(bytes)))
  expect((await service.createTask(key, 'test.echo')).status).toBe(200)
  for (const connection of slow) connection[Symbol.dispose]()
  await service.stop()
})

test('requests waiting to be processed occupy no slot', async () => {
  const writesMax = 4
  const service = await startService({ limits: { maxWritesInFlight: writesMax, writesPerMinute: 0 } })
  const { key } = await service.createPerson()
  const many = await service.createPerson()
  // Makes both users known senders, so that they cannot use the capacity reserved for other senders.
  for (const own of [key, many.key]) expect((await service.get('/api/account', own)).status).toBe(200)
  const body = { endpointId: 'no.such', params: { text: 'x'.repeat(100_000) } }
  const large = Array.from({ length: 10 * writesMax }, () => service.post('/api/tasks', body, { key: many.key }))
  for (let write = 0; write < 5; write++) expect((await service.createTask(key, 'test.free')).status).toBe(200)
  // A queued request gets a 503 if there is no free memory when its turn comes.
  for (const { status } of await Promise.all(large)) expect([404, 503]).toContain(status)
  await service.stop()
})

const limits = { maxWritesInFlight: 500, maxReadsInFlight: 1000, maxLoopDelayMs: 50 }
const write = () => ({ method: 'DELETE', url: '/api/keys/x', headers: {} }) as IncomingMessage

/** Returns the number of writes that a gate admits for a user or for an anonymous sender. */
function letIn(gate: RequestGate, sender?: Sender): number {
  let count = 0
  while (gate.enter(write(), sender)) count++
  return count
}

test('a mostly idle service rejects nothing after one long pause', () => {
  const gate = new RequestGate(limits)
  gate.enter(write())
  gate.sampled(60_000)
  expect(letIn(gate)).toBe(499)
  gate.close()
})

const sender = (userId: string | null) => new Sender(userId)

test('one user can take three quarters of the capacity; the rest stays for others', () => {
  const gate = new RequestGate(limits)
  expect(letIn(gate, sender('many'))).toBe(375)
  expect(letIn(gate, sender('one'))).toBe(125)
  expect(gate.enter(write())).toBe(false)
  gate.close()
})

test('when half the capacity is taken, each further user gets at most a quarter', () => {
  const gate = new RequestGate(limits)
  const [other, many, one, another] = [sender('other'), sender('many'), sender('one'), sender('another')]
  const others = Array.from({ length: 200 }, write)
  for (const request of others) expect(gate.enter(request, other)).toBe(true)
  expect(letIn(gate, many)).toBe(125)
  expect(letIn(gate, one)).toBe(125)
  for (const request of others) releaseGate(request)
  expect(letIn(gate, one)).toBe(0)
  expect(letIn(gate, another)).toBe(125)
  gate.close()
})

test.each(['/trpc/', 'http://localhost/trpc/'])('a batch under %s counts once per call', (prefix) => {
  const gate = new RequestGate(limits)
  const url = `${prefix}${Array(20).fill('sessions.list').join(',')}?batch=1&input={"0":{},"1":{}}`
  const batch = { method: 'GET', url, headers: {} } as IncomingMessage
  expect(gate.enter(batch)).toBe(true)
  expect(gate.inFlight.reads).toBe(20)
  releaseGate(batch)
  expect(gate.inFlight.reads).toBe(0)
  gate.close()
})

const batch = (comma: string) =>
  ({ method: 'GET', url: `/trpc/${Array(20).fill('a').join(comma)}`, headers: {} }) as IncomingMessage

test.each([',', '%2C', '%2c'])(
  'an unidentified batch counts once; calls joined by %s count individually after identification',
  (comma) => {
    const gate = new RequestGate(limits)
    const [strangers, many] = [sender(null), sender('many')]
    const request = batch(comma)
    expect(gate.enter(request, strangers)).toBe(true)
    expect(gate.inFlight.reads).toBe(1)
    identified(request, many)
    expect([gate.inFlight.reads, strangers.reads, many.reads]).toEqual([20, 0, 20])
    identified(request, many)
    releaseGate(request)
    expect([gate.inFlight.reads, strangers.reads, many.reads]).toEqual([0, 0, 0])
    gate.close()
  },
)

test('rejects a request once it is identified if its user already has a full share', () => {
  const gate = new RequestGate(limits)
  const [strangers, many] = [sender(null), sender('many')]
  expect(letIn(gate, many)).toBe(375)
  const request = write()
  expect(gate.enter(request, strangers)).toBe(true)
  expect(() => identified(request, many)).toThrow('overloaded')
  expect([gate.inFlight.writes, strangers.writes]).toEqual([375, 0])
  expect(letIn(gate, sender('one'))).toBe(125)
  gate.close()
})

test("reads answered immediately count toward their user's share until the sample ends", () => {
  const gate = new RequestGate(limits)
  const [many, one] = [sender('many'), sender('one')]
  const read = (of: Sender) => {
    const request = { method: 'GET', url: '/api/account', headers: {} } as IncomingMessage
    if (!gate.enter(request, of)) return false
    releaseGate(request)
    return true
  }
  let count = 0
  while (count < 1000 && read(many)) count++
  expect(count).toBe(750)
  expect(read(one)).toBe(true)
  gate.sampled(0)
  expect(read(many)).toBe(true)
  gate.close()
})

test('admits a user with nothing in flight even after the bound fell below current usage', () => {
  const gate = new RequestGate(limits)
  letIn(gate, sender('many'))
  for (let sample = 0; sample < 100; sample++) gate.sampled(10_000)
  expect(gate.boundOf('writes')).toBe(32)
  const [one, first] = [sender('one'), write()]
  expect(gate.enter(first, one)).toBe(true)
  expect(letIn(gate, one)).toBe(0)
  expect(letIn(gate, sender(null))).toBe(0)
  for (let n = 0; n < 15; n++) expect(letIn(gate, sender(`user ${n}`))).toBe(1)
  expect(letIn(gate, sender('too many'))).toBe(0)
  releaseGate(first)
  expect(letIn(gate, one)).toBe(1)
  gate.close()
})

test('slow disk syncs without event-loop delay do not lower the bound', () => {
  const gate = new RequestGate(limits)
  letIn(gate)
  for (let sample = 0; sample < 100; sample++) {
    gate.synced(150)
    gate.sampled(160)
  }
  expect(gate.boundOf('writes')).toBe(500)
  gate.sampled(160)
  expect(gate.boundOf('writes')).toBeLessThan(500)
  gate.close()
})

test('event-loop delay lowers the bound proportionally, but never to zero', () => {
  const gate = new RequestGate(limits)
  letIn(gate)
  gate.sampled(100)
  expect(gate.boundOf('writes')).toBe(250)
  for (let sample = 0; sample < 100; sample++) gate.sampled(10_000)
  expect(gate.boundOf('writes')).toBe(32)
  expect(gate.boundOf('reads')).toBe(64)
  for (let sample = 0; sample < 500; sample++) gate.sampled(0)
  expect(gate.boundOf('writes')).toBe(500)
  gate.close()
})

test('beyond maxConnections each connection gets one response: 200 for health, otherwise 503', async () => {
  const service = await startService({ limits: { maxConnections: 3 } })
  const { key } = await service.createPerson()
  const held = await Promise.all(Array.from({ length: 3 }, () => RawConnection.open(service.url)))
  const account = rawRequest('GET /api/account', [`Authorization: Bearer ${key}`])
  for (const connection of held) {
    await connection.send(account)
    expect((await connection.readAnswer())!.status).toBe(200)
  }
  for (const [bytes, status] of [
    [account, 503],
    [rawRequest('GET /healthz', []), 200],
  ] as const) {
    using spare = await RawConnection.open(service.url)
    await spare.send(bytes)
    const answer = (await spare.readAnswer())!
    expect(answer.status).toBe(status)
    expect(answer.headers.get('connection')).toBe('close')
    await spare.ended()
  }
  {
    using silent = await RawConnection.open(service.url)
    await silent.ended()
    expect(silent.received).toHaveLength(0)
  }
  for (const connection of held) connection[Symbol.dispose]()
  const goesOn = async () => (await service.get('/api/account', key)).status
  await expect.poll(goesOn, { timeout: 20_000 }).toBe(200)
  await service.stop()
})

test.each([
  ['reads', (bearer: string) => rawRequest('GET /api/account', [bearer])],
  // Node handles such requests on a separate path.
  ['requests with an unknown Expect header', () => rawRequest('GET /healthz', ['Expect: something'])],
])('disconnects a client that pipelines %s endlessly, and still serves others', async (_what, of) => {
  const service = await startService()
  const { key } = await service.createPerson()
  using flood = await RawConnection.open(service.url)
  const waiting = (await service.createTask(key, 'test.wait', { ms: 4000 })).body.taskId
  const bearer = `Authorization: Bearer ${key}`
  const first = rawRequest(`GET /api/tasks/${waiting}?wait=20`, [bearer])
  const more = of(bearer)
  await flood.send(Buffer.concat([first, ...Array.from({ length: 500 }, () => more)]))
  await flood.ended()
  expect(flood.received).toHaveLength(0)
  expect((await service.get('/api/account', key)).status).toBe(200)
  await service.stop()
})

test('disconnects a client that stops reading responses', async () => {
  const service = await startService({ limits: { writeStallSeconds: 1 } })
  const { key } = await service.createPerson()
  const bearer = `Authorization: Bearer ${key}`
  // Uses a new connection per request, which closes afterwards, so that the test can count the remaining ones.
  const ask = async (bytes: Buffer) => (await sendRaw(service.url, bytes))!.body
  const params = { text: 'x'.repeat(5_000_000) }
  const body = JSON.stringify({ endpointId: 'test.echo', params })
  const { taskId } = await ask(rawRequest('POST /api/tasks', [bearer, json], body))
  const { requestUri } = await ask(rawRequest(`GET /api/tasks/${taskId}?wait=20`, [bearer]))
  const { pathname, search } = new URL(requestUri)
  using stopped = await RawConnection.open(service.url)
  stopped.pause()
  // More data than the buffers on both ends hold.
  await stopped.send(Buffer.concat(Array.from({ length: 60 }, () => rawRequest(`GET ${pathname}${search}`, []))))
  const othersOpen = async () => {
    const text = await ask(Buffer.from('GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'))
    return Number(/^errand_http_connections (\d+)$/m.exec(text)![1]) - 1
  }
  expect(await othersOpen()).toBeGreaterThan(0)
  await expect.poll(othersOpen, { timeout: 20_000 }).toBe(0)
  await service.stop()
})

test("listening on the service's port fails with EADDRINUSE until the service stops", async () => {
  const service = await startService()
  const { port } = new URL(service.url)
  const server = createServer()
  await expect(listen(server, { host: '127.0.0.1', port: Number(port) })).rejects.toThrow('EADDRINUSE')
  await service.stop()
  await listen(server, { host: '127.0.0.1', port: Number(port) })
  await closeServer(server)
})
