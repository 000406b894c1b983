import { expect, test } from 'vitest'
import {
  expectErrorBody,
  expectRefused,
  expectUnchanged,
  RawConnection,
  rawRequest,
  sendRaw,
  shareService,
} from '../../support/raw-http.ts'

const guarded = shareService()
const authorization = () => `Authorization: Bearer ${guarded.person.key}`
const send = (bytes: string | Buffer) => sendRaw(guarded.service.url, bytes)
const task = JSON.stringify({ endpointId: 'test.free', params: {} })
const json = 'Content-Type: application/json'

test.each([
  ['a bare word', 'api/account'],
  ['an asterisk', '*'],
  ['a host and port', 'example.com:80'],
  ['an unsupported scheme', 'ftp://example.com/api/account'],
  ['a scheme without slashes', 'http:/api/account'],
  ['a scheme without a host', 'http://'],
  ['a scheme without a host but with a path', 'http:///api/account'],
  ['a question mark', '?limit=1'],
  ['a fragment', '#x'],
  ['non-ASCII bytes', '/caf\xc3\xa9'],
  ['an invalid UTF-8 byte', '/\xff'],
  ['a control character', '/api/\x01account'],
  ['a NUL', '/api/account\0'],
  ['a space in the path', '/api/account x'],
])('returns 400 for an invalid request target: %s', async (_title, target) => {
  await expectRefused(guarded, { status: 400 }, () => send(rawRequest(`GET ${target}`, [authorization()])))
})

test.each([
  'http://example.com/api/account',
  'HTTP://EXAMPLE.COM/api/account?x=1',
  'https://example.com:8443/api/account#x',
  'http://[::1]/api/account',
  'http://[2001:db8::192.0.2.1]:80/api/account',
  'http://under_score.example:/api/account',
])('serves an absolute-form target by its path, regardless of its host: %s', async (target) => {
  const answer = await expectUnchanged(guarded, () => send(rawRequest(`GET ${target}`, [authorization()])))
  expect(answer).toMatchObject({ status: 200, body: { userId: guarded.person.userId } })
})

test('serves the home page for an absolute-form target without a path', async () => {
  for (const target of ['http://example.com', 'http://example.com?x=1', 'http://example.com/#x']) {
    expect((await send(rawRequest(`GET ${target}`, [])))?.status, target).toBe(200)
  }
})

const noHosts = String.raw`
  [ ] [] [::1 ::1 [::1]x [::g] [1.2.3.4] [fe80::1%eth0] [:::] [::1]:99999 % %00 %zz a%20b \\ : :80 :x a:x a:65536 a:80:80
  a:-1 a,b a;b a* user@a user:password@a @a "a" <a> a|b a^b {a}`
  .trim()
  .split(/\s+/)

test.each(noHosts)('returns 400 for an invalid host in the target or the Host header: %s', async (host) => {
  for (const path of ['', '/', '/api/account', '/trpc/account.get', '/openapi.json']) {
    const target = rawRequest(`GET http://${host}${path}`, [authorization()])
    await expectRefused(guarded, { status: 400, field: '', message: /target|HTTP/ }, () => send(target))
  }
  const bytes = ['GET /api/account HTTP/1.1', `Host: ${host}`, authorization(), '', ''].join('\r\n')
  await expectRefused(guarded, { status: 400, field: 'Host', message: /Host/ }, () => send(bytes))
})

test('accepts an empty Host header', async () => {
  const bytes = ['GET /api/account HTTP/1.1', 'Host:', authorization(), '', ''].join('\r\n')
  expect(await send(bytes)).toMatchObject({ status: 200 })
})

test('rejects CONNECT with a regular error body', async () => {
  const answer = await expectUnchanged(guarded, () => send(rawRequest('CONNECT example.com:443', [authorization()])))
  expect(answer, 'is answered').toBeDefined()
  expectErrorBody(answer, { status: answer!.status })
  expect([400, 405]).toContain(answer!.status)
})

test.each([
  ['WebSocket', ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==']],
  // Java's HTTP client and curl --http2 add these to every plain request.
  ['HTTP/2', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA']],
  ['an unknown protocol', ['Connection: Upgrade', 'Upgrade: x/1']],
])('ignores an offered upgrade to %s', async (_title, lines) => {
  const answer = await expectUnchanged(guarded, () => send(rawRequest('GET /api/account', [authorization(), ...lines])))
  expect(answer).toMatchObject({ status: 200, body: { userId: guarded.person.userId } })
})

test('HTTP/1.0 works without a Host header', async () => {
  expect(await send(`GET /api/account HTTP/1.0\r\n${authorization()}\r\n\r\n`)).toMatchObject({ status: 200 })
  expectErrorBody(await send('GET /api/account HTTP/1.0\r\n\r\n'), { status: 401 })
})

test.each([
  ['no Host header', []],
  ['two Host headers', ['Host: a', 'Host: b']],
])('HTTP/1.1 requires exactly one Host header: 400 for %s', async (_title, lines) => {
  const bytes = ['GET /api/account HTTP/1.1', ...lines, authorization(), '', ''].join('\r\n')
  await expectRefused(guarded, { status: 400 }, () => send(bytes))
})

test('answers pipelined requests in order, including rejected ones', async () => {
  const { service } = guarded
  using connection = await RawConnection.open(service.url)
  await connection.send(
    Buffer.concat([
      rawRequest('GET /healthz', []),
      rawRequest('GET /api/nope', [authorization()]),
      rawRequest('POST /api/tasks', [authorization(), json], '{"endpointId":1}'),
      rawRequest('GET /api/account', [authorization()]),
      rawRequest('GET /api/account', ['Authorization: Bearer x']),
      rawRequest('GET /trpc/nope', [authorization()]),
      rawRequest('GET /api/tasks?limit=7', [authorization()]),
    ]),
  )
  const statuses: number[] = []
  for (let count = 0; count < 7; count++) statuses.push((await connection.readAnswer())!.status)
  expect(statuses).toEqual([200, 404, 400, 200, 401, 404, 200])
})

test.each([
  ['one header of 20 KB', rawRequest('GET /healthz', [`X-Long: ${'a'.repeat(20_000)}`])],
  [
    '4,000 headers',
    rawRequest(
      'GET /healthz',
      Array.from({ length: 4000 }, (_, index) => `X-${index}: a`),
    ),
  ],
  ['a key of 20 KB', rawRequest('GET /api/account', [`Authorization: Bearer ${'a'.repeat(20_000)}`])],
  ['a target of 20 KB', rawRequest(`GET /${'a'.repeat(20_000)}`, [])],
  ['a header name of 20 KB', rawRequest('GET /healthz', [`${'a'.repeat(20_000)}: b`])],
])('returns 431 for %s', async (_title, bytes) => {
  await expectRefused(guarded, { status: 431 }, () => send(bytes))
})

const invalid: [title: string, bytes: string | Buffer][] = [
  ['a word', 'HELLO\r\n\r\n'],
  ['a TLS ClientHello', Buffer.from('16030100c8010000c40303', 'hex')],
  ['the HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['version 9.9', 'GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n'],
  ['version 2', 'GET /healthz HTTP/2\r\nHost: a\r\n\r\n'],
  ['a method in lower case', 'get /healthz HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a header without a colon', 'GET /healthz HTTP/1.1\r\nHost a\r\n\r\n'],
  ['a header without a name', 'GET /healthz HTTP/1.1\r\n: a\r\n\r\n'],
  ['a space before the colon', 'GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n'],
  ['a NUL in a header', 'GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n'],
  ['a carriage return in a header', 'GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n'],
  ['a negative length', 'POST /api/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n'],
  ['a length that is not a number', 'POST /api/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n'],
  ['a length with a sign', 'POST /api/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n'],
  ['a length in hexadecimal', 'POST /api/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n'],
  ['a length beyond 64 bits', `POST /api/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: ${'9'.repeat(30)}\r\n\r\n`],
  ['two lengths', 'POST /api/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  [
    'a length and chunked encoding',
    'POST /api/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['an unsupported transfer coding', 'POST /api/tasks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\nab'],
  ['chunked before another coding', 'POST /api/tasks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, x\r\n\r\n'],
]

test.each(invalid)('returns 400 for invalid HTTP: %s', async (_title, bytes) => {
  using connection = await RawConnection.open(guarded.service.url)
  await expectRefused(guarded, { status: 400 }, async () => {
    await connection.send(bytes)
    return connection.readAnswer()
  })
  // The server closes the connection, because it cannot tell where the broken request ends.
  await connection.ended()
})

test.each([
  ['a size that is not a number', 'zz\r\nab\r\n0\r\n\r\n'],
  ['a negative size', '-1\r\nab\r\n0\r\n\r\n'],
  ['more bytes than its size', '1\r\nabc\r\n0\r\n\r\n'],
  ['a size beyond 64 bits', 'fffffffffffffffff\r\nab\r\n0\r\n\r\n'],
])('returns 400 for a chunk with %s', async (_title, chunks) => {
  await expectRefused(guarded, { status: 400 }, () =>
    send(rawRequest('POST /api/tasks', [authorization(), json, 'Transfer-Encoding: chunked']) + chunks),
  )
})

test.each(['200-ok', '100', 'x'])('returns 417 for the expectation %s', async (expectation) => {
  await expectRefused(guarded, { status: 417 }, () =>
    send(rawRequest('POST /api/tasks', [authorization(), json, `Expect: ${expectation}`], task)),
  )
})

test('answers Expect: 100-continue with 100 and then reads the body', async () => {
  const { service } = guarded
  const { key } = await service.createPerson()
  using connection = await RawConnection.open(service.url)
  const lines = [`Authorization: Bearer ${key}`, json, 'Expect: 100-continue', `Content-Length: ${task.length}`]
  await connection.send(rawRequest('POST /api/tasks', lines))
  expect((await connection.readAnswer())!.status).toBe(100)
  await connection.send(task)
  expect(await connection.readAnswer()).toMatchObject({ status: 200, body: { status: 'pending' } })
})

test.each(['__proto__', 'constructor', 'hasOwnProperty', 'toString', '__defineGetter__'])(
  'ignores a header named %s',
  async (name) => {
    for (const target of ['GET /api/account', 'GET /trpc/account.get', 'GET /healthz']) {
      const lines = [authorization(), `${name}: x`, `${name}: y`]
      expect((await send(rawRequest(target, lines)))!.status).toBe(200)
    }
  },
)

test('does not treat the body of a GET as a request', async () => {
  const hidden = rawRequest('POST /api/tasks', [authorization(), json], task)
  using connection = await RawConnection.open(guarded.service.url)
  await expectUnchanged(guarded, async () => {
    await connection.send(rawRequest('GET /api/account', [authorization(), 'Connection: close'], hidden))
    expect((await connection.readAnswer())!.status).toBe(200)
    await connection.ended()
  })
  expect(connection.received.toString()).toBe('')
})
