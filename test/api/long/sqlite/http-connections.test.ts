import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  expectErrorBody,
  expectRefused,
  expectUnchanged,
  RawConnection,
  rawRequest,
  shareService,
} from '../../../support/raw-http.ts'
import { newDataDir, startService } from '../../../support/test-service.ts'
import { runErrand, startProcess } from '../../../support/test-process.ts'

const guarded = shareService()
const json = 'Content-Type: application/json'
const task = JSON.stringify({ endpointId: 'test.echo', params: {} })
const authorization = (key = guarded.person.key) => `Authorization: Bearer ${key}`
const garbage = 'GARBAGE \r\n\r\n'

test.each([
  ['inside the request line', () => 'GET /api/acc'],
  ['inside the headers', () => `GET /api/account HTTP/1.1\r\nHost: a\r\n${authorization()}\r\nX-Half: `],
  ['before the body', () => rawRequest('POST /api/tasks', [authorization(), json, 'Content-Length: 100'])],
  ['inside the body', () => rawRequest('POST /api/tasks', [authorization(), json, 'Content-Length: 100']) + '{"end'],
  [
    'inside a chunk',
    () => rawRequest('POST /api/tasks', [authorization(), json, 'Transfer-Encoding: chunked']) + '50\r\n{',
  ],
  [
    'inside a body over RPC',
    () => rawRequest('POST /trpc/tasks.create', [authorization(), json, 'Content-Length: 100']) + '{',
  ],
])('requests that stall %s do not disturb others and write nothing when aborted', async (_title, bytes) => {
  const { service, person } = guarded
  await expectUnchanged(guarded, async () => {
    for (let count = 0; count < 20; count++) {
      using stalled = await RawConnection.open(service.url)
      await stalled.send(bytes())
      // Resets every second connection.
      if (count % 2 === 1) stalled.reset()
      expect((await service.get('/api/account', person.key)).status).toBe(200)
    }
  })
})

test('other requests are served while many requests stall', async () => {
  const { service } = guarded
  const { key } = await service.createPerson()
  const stalled = await Promise.all(Array.from({ length: 100 }, () => RawConnection.open(service.url)))
  try {
    const bytes = rawRequest('POST /api/tasks', [authorization(), json, 'Content-Length: 100'])
    await Promise.all(stalled.map((connection) => connection.send(bytes)))
    expect(await service.runTask(key, 'test.echo', { a: 1 })).toMatchObject({ status: 'completed', response: { a: 1 } })
  } finally {
    for (const connection of stalled) connection[Symbol.dispose]()
  }
})

test('serves a request that arrives byte by byte', async () => {
  using connection = await RawConnection.open(guarded.service.url)
  for (const byte of rawRequest('GET /api/account', [authorization()])) await connection.send(Buffer.of(byte))
  expect((await connection.readAnswer())!.status).toBe(200)
})

test('returns 400 for a body cut short by a client that still listens', async () => {
  await expectRefused(guarded, { status: 400 }, async () => {
    using connection = await RawConnection.open(guarded.service.url)
    await connection.send(rawRequest('POST /api/tasks', [authorization(), json, 'Content-Length: 100']) + task)
    connection.finishSending()
    return await connection.readAnswer()
  })
})

test('does not treat the body of a rejected request as another request', async () => {
  const hidden = rawRequest('POST /api/tasks', [authorization(), json], task)
  await expectUnchanged(guarded, async () => {
    using connection = await RawConnection.open(guarded.service.url)
    const lines = [authorization(), json, `Content-Length: ${hidden.length}`]
    await connection.send(rawRequest('POST /api/nope', lines))
    expectErrorBody(await connection.readAnswer(), { status: 404 })
    await connection.send(hidden)
    await connection.send(rawRequest('GET /api/account', [authorization(), 'Connection: close']))
    // The server may close the connection or answer the next request on it.
    const next = await connection.readAnswer()
    expect([200, undefined]).toContain(next?.status)
  })
})

test.each([
  ['invalid HTTP', garbage],
  ['a CONNECT request', rawRequest('CONNECT a:1', [])],
])('never answers %s in place of the preceding request', async (_what, bytes) => {
  const { service } = guarded
  const { key } = await service.createPerson()
  using connection = await RawConnection.open(service.url)
  await connection.send(
    Buffer.concat([rawRequest('POST /api/tasks', [authorization(key), json], task), Buffer.from(bytes)]),
  )
  // Not a 400, because the first request may have been accepted and charged.
  const answer = await connection.readAnswer()
  expect([200, undefined]).toContain(answer?.status)
})

test('invalid HTTP after a download request does not corrupt the download', async () => {
  const { service } = guarded
  const { key } = await service.createPerson()
  const { responseUri } = await service.runTask(key, 'test.large', { chars: 8_000_000 })
  using connection = await RawConnection.open(service.url)
  await connection.send(rawRequest(`GET ${responseUri.slice(service.url.length)}`, []))
  await connection.begun()
  // The download is too large for the kernel's buffers of a few megabytes, so it is still in progress.
  connection.pause()
  await connection.send(garbage)
  // After these responses, the service has also read the garbage.
  for (let count = 0; count < 3; count++) await service.get('/api/account', key)
  connection.resume()
  await connection.ended()
  expect(connection.received.includes('HTTP/1.1 200')).toBe(true)
  expect(connection.received.includes('HTTP/1.1 400')).toBe(false)
})

test('shutdown does not wait for rejected connections that stay open', { timeout: 15_000 }, async () => {
  const service = await startService()
  const refused = [
    garbage,
    rawRequest('GET a b', []),
    rawRequest('CONNECT a:1', []),
    rawRequest('GET /healthz', ['Connection: Upgrade', 'Upgrade: websocket']),
    rawRequest('POST /api/tasks', [json, 'Content-Length: 100']),
  ]
  const connections = await Promise.all(refused.map(() => RawConnection.open(service.url)))
  try {
    for (const [index, connection] of connections.entries()) {
      await connection.send(refused[index]!)
      await connection.readAnswer()
    }
    await service.stop()
  } finally {
    for (const connection of connections) connection[Symbol.dispose]()
  }
})

test('clients that disconnect at any moment cause no uncaught error or logged fault', async () => {
  const dataDir = newDataDir()
  const server = await startProcess({ dataDir })
  try {
    const at = ['--data', dataDir, '--json']
    await runErrand(['users', 'create', '--email', 'a@example.com', ...at])
    const args = ['keys', 'create', '--user', 'a@example.com', '--name', 'test', ...at]
    const { key } = JSON.parse(await runErrand(args)) as { key: string }
    for (const bytes of [
      rawRequest('GET /', ['Connection: Upgrade', 'Upgrade: websocket']),
      rawRequest('CONNECT a:1', []),
      rawRequest('GET /api/account', [authorization(key)]),
      rawRequest('POST /api/tasks', [authorization(key), json, 'Content-Length: 100']) + '{"a":',
      rawRequest('POST /trpc/tasks.create', [authorization(key), json, 'Content-Length: 100']) + '{"a":',
      rawRequest('POST /api/tasks', [authorization(key), json, 'Expect: x'], task),
      garbage,
      `GET / HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
    ]) {
      for (let count = 0; count < 10; count++) {
        using connection = await RawConnection.open(server.url)
        await connection.send(bytes)
        // Half of the connections break before the service examines the request, the others while it does.
        if (count % 2 === 0) expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
        connection.reset()
      }
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    }
  } finally {
    expect(await server.end('SIGTERM')).toBe(0)
    rmSync(dataDir, { recursive: true, force: true })
  }
  const faults = server
    .log()
    .split('\n')
    .filter((line) => /"level":[456]0/.test(line))
  expect(faults).toEqual([])
})

test('buffers about 64 KB of pipelined requests and closes connections with more', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const lines = ['Host: test', `Authorization: Bearer ${key}`, 'Content-Type: application/json']
  const body = JSON.stringify({ name: 'x'.repeat(60_000) })
  const post = ['POST /api/keys HTTP/1.1', ...lines, `Content-Length: ${body.length}`, '', body].join('\r\n')
  for (const { answered, bodies } of [
    { bodies: 1, answered: true },
    { bodies: 20, answered: false },
  ]) {
    const { taskId } = (await service.createTask(key, 'test.wait', { ms: 2000 })).body
    const held = [`GET /api/tasks/${taskId}?wait=20 HTTP/1.1`, ...lines, '', ''].join('\r\n')
    using connection = await RawConnection.open(service.url)
    await connection.send(held + post.repeat(bodies))
    expect((await connection.readAnswer())?.status).toBe(answered ? 200 : undefined)
    if (answered) expect((await connection.readAnswer())?.status).toBe(400)
  }
  await service.stop()
})
