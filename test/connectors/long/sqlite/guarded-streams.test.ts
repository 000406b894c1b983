import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { ConnectorError } from '../../../../server/connectors/connector-spec.ts'
import type { lookUpHost } from '../../../../server/outbound/host-lookup.ts'
import {
  gone,
  megabyte,
  openGuard,
  openGuardFor,
  post,
  startServer,
  startTcpServer,
  stopAll,
  type Answer,
  type TestServer,
} from '../../guarded-server.ts'

afterEach(stopAll)

const echo: Answer = (response, { body }) => response.end(body)

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => 'no failure',
    (error: unknown) => error,
  )
}

async function messageOf(promise: Promise<unknown>): Promise<string> {
  const error = await failureOf(promise)
  expect(error).toBeInstanceOf(ConnectorError)
  return (error as ConnectorError).message
}

/** Starts a server whose response the test writes piece by piece. */
async function startHeldServer(): Promise<{ server: TestServer; answered: Promise<ServerResponse> }> {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>()
  return { server: await startServer(resolve), answered: promise }
}

async function connection(server: TestServer): Promise<Socket> {
  await expect.poll(() => server.connections.length).toBe(1)
  return server.connections[0]!
}

test('an event stream arrives chunk by chunk', async () => {
  const { answered, server } = await startHeldServer()
  const asked = openGuardFor([server]).fetch(server.origin, { headers: { accept: 'text/event-stream' } })
  const outgoing = await answered
  outgoing.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders()
  const response = await asked
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  for (const event of ['data: 1\n\n', 'data: ☃\n\n']) {
    outgoing.write(event)
    expect(await reader.read()).toEqual({ done: false, value: event })
  }
  outgoing.end()
  expect(await reader.read()).toEqual({ done: true, value: undefined })
})

test('reads a body from the connection only as it is consumed', async () => {
  const { answered, server } = await startHeldServer()
  const asked = openGuardFor([server], { bytesMax: 64 * megabyte }).fetch(server.origin)
  const outgoing = await answered
  for (let piece = 0; piece < 32; piece++) outgoing.write(Buffer.alloc(megabyte))
  outgoing.end()
  const response = await asked
  await settle()
  expect(outgoing.writableLength).toBeGreaterThan(0)
  expect((await response.arrayBuffer()).byteLength).toBe(32 * megabyte)
})

/** Waits enough ticks for more loopback traffic than buffers hold. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test.each([204, 205, 304])('a response with status %s has no body', async (status) => {
  const server = await startServer((response) => response.writeHead(status).end())
  const response = await openGuardFor([server]).fetch(server.origin, post())
  expect([response.status, response.body]).toEqual([status, null])
})

test('a response to HEAD has no body, regardless of its headers', async () => {
  const server = await startServer((response) => response.writeHead(200, { 'Content-Length': megabyte * 2 }).end())
  expect(await (await openGuardFor([server]).fetch(server.origin, { method: 'HEAD' })).text()).toBe('')
})

test('reuses one connection, even after unread bodies and late aborts', async () => {
  const server = await startServer((response, { url }) => response.writeHead(Number(url.slice(1))).end('unread'))
  const guard = openGuardFor([server])
  const controllers: AbortController[] = []
  for (const status of [200, 202, 204, 405, 500]) {
    const controller = new AbortController()
    const response = await guard.fetch(`${server.origin}/${status}`, { ...post(), signal: controller.signal })
    expect(response.status).toBe(status)
    for (const controller of controllers) controller.abort()
    controllers.push(controller)
    // The response ends before the next request, although it is not read.
    await settle()
  }
  expect(server.connections).toHaveLength(1)
})

test('concurrent requests do not wait for each other', async () => {
  const held: ServerResponse[] = []
  const server = await startServer((response) => held.push(response))
  const guard = openGuardFor([server])
  const all = [1, 2, 3].map(() => guard.fetch(server.origin, post()))
  await expect.poll(() => held.length).toBe(3)
  for (const response of held) response.end('done')
  expect(await Promise.all((await Promise.all(all)).map((response) => response.text()))).toEqual([
    'done',
    'done',
    'done',
  ])
})

test('a request whose reused connection closes in flight fails without a retry', async () => {
  const requests: string[] = []
  const server = await startTcpServer((socket) => {
    socket.on('data', (chunk) => {
      requests.push(String(chunk).split('\r\n')[0]!)
      if (requests.length === 2) socket.resetAndDestroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  const guard = openGuardFor([server])
  expect(await (await guard.fetch(`${server.origin}/1`, post())).text()).toBe('ok')
  expect(await messageOf(guard.fetch(`${server.origin}/2`, post()))).toBe(
    'The connector closed the connection without a response. Try again.',
  )
  expect(server.connections).toHaveLength(1)
  expect(await (await guard.fetch(`${server.origin}/3`, post())).text()).toBe('ok')
  expect(requests).toEqual(['POST /1 HTTP/1.1', 'POST /2 HTTP/1.1', 'POST /3 HTTP/1.1'])
})

test('replaces a connection the server closed while idle', async () => {
  const server = await startServer(echo)
  const guard = openGuardFor([server])
  for (const body of ['1', '2']) {
    expect(await (await guard.fetch(server.origin, post(body))).text()).toBe(body)
    const socket = server.connections.at(-1)!
    socket.end()
    await gone(socket)
  }
  expect(server.connections).toHaveLength(2)
})

test('closes an idle connection after a few seconds, before its server would', async () => {
  const server = await startTcpServer((socket) => {
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
  })
  expect(await (await openGuardFor([server]).fetch(server.origin, post())).text()).toBe('ok')
  await gone(server.connections[0]!)
})

test('an already aborted signal opens no connection', async () => {
  const server = await startServer(echo)
  const signal = AbortSignal.abort(new Error('Not today.'))
  await expect(openGuardFor([server]).fetch(server.origin, { ...post(), signal })).rejects.toBe(signal.reason)
  expect(server.connections).toEqual([])
})

test.each(['a text', 0])("rejects with the signal's reason, regardless of its type: %s", async (reason) => {
  const server = await startTcpServer(() => controller.abort(reason))
  const controller = new AbortController()
  const url = server.origin.replace('http', 'https')
  expect(await failureOf(openGuardFor([server]).fetch(url, { signal: controller.signal }))).toBe(reason)
})

test('an abort during the DNS lookup rejects immediately and prevents the connection', async () => {
  const server = await startServer(echo)
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  const lookup: typeof lookUpHost = async (_name, { signal }) => {
    resolve()
    await once(signal, 'abort')
    throw signal.reason
  }
  const guard = openGuard({ privateHosts: ['mcp.internal'], lookup })
  const controller = new AbortController()
  const request = guard.fetch(`http://mcp.internal:${server.port}/`, { ...post(), signal: controller.signal })
  await asked
  controller.abort()
  expect(await failureOf(request)).toMatchObject({ name: 'AbortError' })
  await settle()
  expect(server.connections).toEqual([])
})

test('an abort during the TLS handshake closes the connection', async () => {
  const server = await startTcpServer((socket) => void socket.once('data', () => controller.abort()))
  const controller = new AbortController()
  const url = server.origin.replace('http', 'https')
  const failure = failureOf(openGuardFor([server]).fetch(url, { ...post(), signal: controller.signal }))
  expect(await failure).toMatchObject({ name: 'AbortError' })
  await gone(server.connections[0]!)
})

test('an abort before the response closes the connection', async () => {
  const { answered, server } = await startHeldServer()
  const controller = new AbortController()
  const request = openGuardFor([server]).fetch(server.origin, { ...post(), signal: controller.signal })
  await answered
  controller.abort()
  expect(await failureOf(request)).toBe(controller.signal.reason)
  await gone(server.connections[0]!)
})

test.each(['unread', 'being read'])(
  'an abort while the body streams (%s) fails the body and closes the connection',
  async (state) => {
    const { answered, server } = await startHeldServer()
    const controller = new AbortController()
    const asked = openGuardFor([server]).fetch(server.origin, { signal: controller.signal })
    ;(await answered).write('first')
    const response = await asked
    const reader = response.body!.getReader()
    expect((await reader.read()).value).toHaveLength(5)
    const failure = state === 'unread' ? null : failureOf(reader.read())
    controller.abort()
    expect(await (failure ?? failureOf(reader.read()))).toBe(controller.signal.reason)
    await gone(server.connections[0]!)
  },
)

test("canceling the body's reader closes the connection", async () => {
  const { answered, server } = await startHeldServer()
  const asked = openGuardFor([server]).fetch(server.origin)
  ;(await answered).write('first')
  const reader = (await asked).body!.getReader()
  expect((await reader.read()).value).toHaveLength(5)
  await reader.cancel()
  await gone(server.connections[0]!)
})

test('accepts a body of exactly the maximum size; one byte more fails and disconnects', async () => {
  const server = await startServer((response, { url }) => {
    // In chunks, so that no length is announced.
    response.write(Buffer.alloc(megabyte))
    if (url === '/more') response.write('x')
    else response.end()
  })
  const guard = openGuardFor([server])
  expect((await (await guard.fetch(server.origin, post())).arrayBuffer()).byteLength).toBe(megabyte)
  const response = await guard.fetch(`${server.origin}/more`, post())
  expect(await messageOf(response.text())).toBe(
    'The connector responded with more than 1 MB. Return a smaller response.',
  )
  for (const socket of server.connections) await gone(socket)
})

test('rejects a body whose Content-Length is too large before reading it', async () => {
  const server = await startServer((response) => {
    response.writeHead(200, { 'Content-Length': megabyte + 1 }).flushHeaders()
  })
  expect(await messageOf(openGuardFor([server]).fetch(server.origin, post()))).toBe(
    'The connector responded with more than 1 MB. Return a smaller response.',
  )
  await gone(server.connections[0]!)
})

test.each(['gzip', 'br', 'x, identity', 'GZIP'])('rejects a response with content encoding %s', async (encoding) => {
  const server = await startServer((response) => {
    response.writeHead(200, { 'Content-Encoding': encoding }).write('x')
  })
  expect(await messageOf(openGuardFor([server]).fetch(server.origin, post()))).toBe(
    'The connector sent a compressed response. Turn off compression there.',
  )
  await gone(server.connections[0]!)
})

test('accepts a response with content encoding identity', async () => {
  const server = await startServer((response) => response.writeHead(200, { 'Content-Encoding': 'Identity' }).end('x'))
  expect(await (await openGuardFor([server]).fetch(server.origin, post())).text()).toBe('x')
})

const unanswered = 'The connector closed the connection without a response. Try again.'
const garbled = 'The connector sent a response that is not HTTP. Check the URL.'

test.each([
  ['garbage', 'SSH-2.0-OpenSSH_9.6\r\n', garbled],
  ['a broken header', 'HTTP/1.1 200 OK\r\nBad Header\r\n\r\n', garbled],
  ['endless headers', `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(100_000)}\r\n\r\n`, garbled],
  ['nothing', '', unanswered],
  ['a truncated header block', 'HTTP/1.1 200 OK\r\nA: b', unanswered],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n', unanswered],
  [
    'an invalid status',
    'HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n',
    'The connector responded with the invalid HTTP status 999. Report this to its operator.',
  ],
])('rejects %s instead of a response and closes the connection', async (_, bytes, message) => {
  const server = await startTcpServer((socket) => void socket.once('data', () => socket.end(bytes)))
  expect(await messageOf(openGuardFor([server]).fetch(server.origin, post()))).toBe(message)
  await gone(server.connections[0]!)
})

test('a server that disconnects immediately gives no response', async () => {
  const server = await startTcpServer((socket) => socket.destroy())
  expect(await messageOf(openGuardFor([server]).fetch(server.origin, post()))).toBe(unanswered)
})

test.each([
  ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut'],
  ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ncut\r\n'],
  ['a broken chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ncut\r\nzz\r\n'],
])('a body that ends early fails: with %s', async (_, bytes) => {
  const server = await startTcpServer((socket) => void socket.once('data', () => socket.end(bytes)))
  const response = await openGuardFor([server]).fetch(server.origin, post())
  expect(await messageOf(response.text())).toBe(
    'The connector closed the connection before its response was complete. Try again.',
  )
})

/** Shorter than the idle timeout of connections, so that `close` ends it. */
const timeout = 3000

test('close fails pending and later requests and leaves no connection open', { timeout }, async () => {
  const held: ServerResponse[] = []
  const server = await startServer((response, { url }) => {
    if (url === '/idle') return response.end()
    held.push(response)
    if (url === '/body') response.write('first')
  })
  const guard = openGuardFor([server])
  const { signal } = new AbortController()
  const body = (await guard.fetch(`${server.origin}/body`, { signal })).text()
  const waiting = guard.fetch(`${server.origin}/waiting`, { signal })
  await expect.poll(() => held.length).toBe(2)
  await (await guard.fetch(`${server.origin}/idle`)).text()
  guard.close()
  guard.close()
  const message = 'The connection to this connector was closed. Try again.'
  expect(await Promise.all([messageOf(body), messageOf(waiting)])).toEqual([message, message])
  expect(await messageOf(guard.fetch(server.origin))).toBe(message)
  expect(server.connections).toHaveLength(3)
  for (const socket of server.connections) await gone(socket)
})

test('close ends a connection during its handshake', async () => {
  const server = await startTcpServer((socket) => socket.resume())
  const guard = openGuardFor([server])
  const { signal } = new AbortController()
  const request = guard.fetch(server.origin.replace('http', 'https'), { signal })
  const socket = await connection(server)
  guard.close()
  expect(await messageOf(request)).toBe('The connection to this connector was closed. Try again.')
  await gone(socket)
})
