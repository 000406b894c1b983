import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { createServer, getDefaultAutoSelectFamily, setDefaultAutoSelectFamily } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import { missingCommand, testNeeding } from '../../support/test-needing.ts'
import { ConnectorError } from '../../../server/connectors/connector-spec.ts'
import type { GuardedFetch } from '../../../server/connectors/thread/guarded-fetch.ts'
import { HostNotFoundError, lookUpHost } from '../../../server/outbound/host-lookup.ts'
import {
  answering,
  gone,
  makeCertificate,
  openGuard,
  openGuardFor,
  post,
  startServer,
  startTcpServer,
  stopAll,
  type Answer,
} from '../guarded-server.ts'

afterEach(stopAll)

const isPrivate =
  'The URL of this connector has a host that is private or was not found. Use a public host, or ask the operator to allow this one.'
const noHttps = 'The URL of this connector does not start with https://. Use an https URL.'
const echo: Answer = (response, { body }) => response.setHeader('Content-Type', 'application/json').end(body)

/** Unassigned IPv6 unicast space: packets arrive nowhere. */
const unrouted = '2d00::1'
const noConnection =
  /^(Could not (?:establish a secure connection|connect) to the connector(?: within 0.1 seconds)?)\. Try again later\.$/

async function refusalOf(guard: GuardedFetch, url: string | URL | Request, init?: RequestInit): Promise<string> {
  const error: unknown = await guard.fetch(url, init).then(
    () => 'no refusal',
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(ConnectorError)
  expect(error).not.toHaveProperty('cause')
  return (error as ConnectorError).message
}

test('sends a request as given and returns a Response', async () => {
  const server = await startServer((response) =>
    response.writeHead(201, { 'Content-Type': 'application/json', 'Mcp-Session-Id': 's1' }).end('{"ok":"☃"}'),
  )
  const guard = openGuardFor([server])
  const response = await guard.fetch(`${server.origin}/mcp?v=1`, post('{"a":"Grüße"}', { Authorization: 'Bearer t' }))
  expect(response).toBeInstanceOf(Response)
  expect(response).toMatchObject({ status: 201, ok: true, statusText: 'Created' })
  expect(response.headers.get('mcp-session-id')).toBe('s1')
  expect(await response.json()).toEqual({ ok: '☃' })
  expect(server.requests).toEqual([
    {
      method: 'POST',
      url: '/mcp?v=1',
      body: '{"a":"Grüße"}',
      headers: {
        host: new URL(server.origin).host,
        accept: '*/*',
        'accept-encoding': 'identity',
        authorization: 'Bearer t',
        connection: 'keep-alive',
        'content-length': '15',
        'content-type': 'application/json',
        'user-agent': 'errand',
      },
    },
  ])
})

test('accepts a URL, a Request and a byte body like fetch', async () => {
  const server = await startServer(echo)
  const guard = openGuardFor([server])
  await guard.fetch(new URL('/url', server.origin), { method: 'DELETE' })
  await guard.fetch(new Request(`${server.origin}/request`, post('one', { 'X-Own': '1' })))
  await guard.fetch(`${server.origin}/bytes`, { method: 'POST', body: new TextEncoder().encode('two') })
  expect(server.requests.map(({ body, method, url }) => `${method} ${url} ${body}`)).toEqual([
    'DELETE /url ',
    'POST /request one',
    'POST /bytes two',
  ])
  expect(server.requests[1]!.headers['x-own']).toBe('1')
})

test('callers cannot override message framing headers', async () => {
  const server = await startServer(echo)
  const headers = { Host: 'elsewhere.example', 'Transfer-Encoding': 'chunked', 'Content-Length': '1', Expect: 'x' }
  await openGuardFor([server]).fetch(server.origin, post('{}', { ...headers, 'Accept-Encoding': 'gzip' }))
  const [{ body, headers: seen }] = server.requests as [(typeof server.requests)[0]]
  expect(body).toBe('{}')
  expect(seen).toMatchObject({
    host: new URL(server.origin).host,
    'content-length': '2',
    'accept-encoding': 'identity',
  })
  expect(seen).not.toHaveProperty('transfer-encoding')
  expect(seen).not.toHaveProperty('expect')
})

test.each(['a\nb', 'a\u0001b', '☃'])('rejects a header value invalid in HTTP without repeating it', async (value) => {
  const server = await startServer(echo)
  const init = post('{}', { Authorization: `secret${value}` })
  expect(await refusalOf(openGuardFor([server]), server.origin, init)).toBe(
    'A header of this connector has an invalid name or value. Correct the header.',
  )
  expect(server.connections).toEqual([])
})

test.each([
  '127.0.0.1',
  '127.0.0.1.',
  '127.1',
  '0x7f.1',
  '0x7f000001',
  '2130706433',
  '0177.0.0.1',
  '017700000001',
  '0',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '10.0.0.1',
  '169.254.169.254',
  '[fe80::1]',
  '１２７.0.0.1',
])('rejects the private address %s in any spelling, over http and https', async (host) => {
  const server = await startServer(echo)
  const lookup = answering('127.0.0.1')
  const guard = openGuard({ lookup })
  for (const protocol of ['http', 'https']) {
    expect(await refusalOf(guard, `${protocol}://${host}:${server.port}/`, post())).toBe(isPrivate)
  }
  expect(lookup.names).toEqual([])
  expect(server.connections).toEqual([])
})

test.each([
  ['localhost', undefined],
  ['localhost.', answering('127.0.0.1')],
  ['LOCALHOST', undefined],
  ['mcp.example', answering('127.0.0.1')],
  ['mcp.example.', answering('127.0.0.1')],
  ['mcp.example', answering('10.0.0.1', '127.0.0.1', '::1', 'fe80::1%eth0')],
  ['mcp.example', answering('::ffff:127.0.0.1')],
  ['mcp.example', answering('127.0.0.1', '::ffff:7f00:1')],
] as [string, typeof lookUpHost | undefined][])(
  'rejects a name with only private addresses without connecting: %s',
  async (host, lookup) => {
    const server = await startServer(echo)
    const guard = openGuard(lookup ? { lookup } : {})
    expect(await refusalOf(guard, `https://${host}:${server.port}/`, post())).toBe(isPrivate)
    expect(server.connections).toEqual([])
  },
)

test('never tries the private addresses of a name that also has public addresses', async () => {
  const server = await startServer(echo)
  for (const addresses of [
    ['127.0.0.1', unrouted],
    [unrouted, '127.0.0.1'],
  ]) {
    const guard = openGuard({ lookup: answering(...addresses), connectMs: 100 })
    expect(await refusalOf(guard, `https://mcp.example:${server.port}/`, post())).toMatch(noConnection)
  }
  expect(server.connections).toEqual([])
})

test('skips private addresses also for connections to a single address', async () => {
  const server = await startServer(echo)
  const before = getDefaultAutoSelectFamily()
  setDefaultAutoSelectFamily(false)
  try {
    const guard = openGuard({ lookup: answering('127.0.0.1', unrouted), connectMs: 100 })
    expect(await refusalOf(guard, `https://mcp.example:${server.port}/`, post())).toMatch(noConnection)
  } finally {
    setDefaultAutoSelectFamily(before)
  }
  expect(server.connections).toEqual([])
})

test('looks up a name once per connection, so a second lookup cannot bypass the check', async () => {
  const server = await startServer(echo)
  const names: string[] = []
  const lookup: typeof lookUpHost = (name, options) => {
    names.push(name)
    return answering(names.length === 1 ? unrouted : '127.0.0.1')(name, options)
  }
  const guard = openGuard({ lookup, connectMs: 100 })
  await refusalOf(guard, `https://mcp.example:${server.port}/`)
  expect(names).toEqual(['mcp.example'])
  expect(await refusalOf(guard, `https://mcp.example:${server.port}/`)).toBe(isPrivate)
  expect(server.connections).toEqual([])
})

test('detects an address that changes after its check and sends no byte', async () => {
  const received: Buffer[] = []
  const server = await startTcpServer((socket) => socket.on('data', (chunk) => received.push(chunk)))
  let reads = 0
  const changing = {
    family: 4,
    get address() {
      return reads++ === 0 ? '93.184.216.34' : '127.0.0.1'
    },
  }
  const lookup = async () => [changing]
  expect(await refusalOf(openGuard({ lookup }), `https://mcp.example:${server.port}/`, post())).toBe(isPrivate)
  expect(reads).toBeGreaterThan(1)
  for (const socket of server.connections) await gone(socket)
  expect(received).toEqual([])
})

test('allows a private host named by the operator only at its port', async () => {
  const [allowed, other] = [await startServer(echo), await startServer(echo)]
  const lookup = answering('127.0.0.1')
  const guard = openGuard({ lookup, privateHosts: [`MCP.internal:${allowed.port}`, `127.0.0.1:${allowed.port}`] })
  for (const host of ['mcp.internal', '127.0.0.1', '127.1']) {
    expect((await guard.fetch(`http://${host}:${allowed.port}/`, post())).status).toBe(200)
    expect(await refusalOf(guard, `https://${host}:${other.port}/`, post())).toBe(isPrivate)
  }
  expect(allowed.requests).toHaveLength(3)
  expect(other.connections).toEqual([])
})

function missingIpv6(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => resolve(error.message))
    server.listen(0, '::1', () => server.close(() => resolve(undefined)))
  })
}

testNeeding('ipv6', await missingIpv6())('allows an IPv6 host with or without brackets', async () => {
  const server = await startServer(echo, { host: '::1' })
  for (const host of ['::1', '[::1]', `[::1]:${server.port}`]) {
    const response = await openGuard({ privateHosts: [host] }).fetch(server.origin, post('"text"'))
    expect(await response.text()).toBe('"text"')
  }
  expect(server.requests[0]!.headers.host).toBe(`[::1]:${server.port}`)
  expect(await refusalOf(openGuard(), server.origin)).toBe(isPrivate)
})

test.each([
  ['http://mcp.example/', noHttps],
  ['http://8.8.8.8/', noHttps],
  ['ftp://mcp.example/', noHttps],
  ['file:///etc/passwd', noHttps],
  ['data:text/plain,hello', noHttps],
  ['unix:/var/run/docker.sock', noHttps],
  [
    'https://user@mcp.example/',
    'The URL of this connector contains a user name or password. Remove them from the URL.',
  ],
  [
    'https://:secret@mcp.example/',
    'The URL of this connector contains a user name or password. Remove them from the URL.',
  ],
  ['mcp.example', 'The URL of this connector is invalid. Correct the URL.'],
  ['/mcp', 'The URL of this connector is invalid. Correct the URL.'],
  ['https://[fe80::1%25eth0]/', 'The URL of this connector is invalid. Correct the URL.'],
])('rejects %s before any lookup', async (url, message) => {
  const lookup = answering(unrouted)
  expect(await refusalOf(openGuard({ lookup }), url)).toBe(message)
  expect(lookup.names).toEqual([])
})

test('rejects credentials in the URL of an allowed host too', async () => {
  const server = await startServer(echo)
  const url = server.origin.replace('//', '//user:secret@')
  expect(await refusalOf(openGuardFor([server]), url)).toMatch('contains a user name or password')
})

test('reports an unknown name, or a name without addresses, as not found', async () => {
  const lookups = [answering(), () => Promise.reject(new HostNotFoundError())]
  for (const lookup of lookups) {
    expect(await refusalOf(openGuard({ lookup }), 'https://nowhere.example/')).toBe(isPrivate)
  }
})

test('reports a refused connection without its address', async () => {
  const server = await startServer(echo)
  const guard = openGuard({ lookup: answering('127.0.0.1'), privateHosts: ['mcp.internal'] })
  await stopAll()
  const again = openGuard({ lookup: answering('127.0.0.1'), privateHosts: ['mcp.internal'] })
  expect(await refusalOf(again, `http://mcp.internal:${server.port}/`)).toBe(
    'The connector refused the connection. Check that it is running.',
  )
  expect(await refusalOf(guard, `http://mcp.internal:${server.port}/`)).toBe(
    'The connection to this connector was closed. Try again.',
  )
})

test('the connect timeout covers the DNS lookup and the TLS handshake', async () => {
  const silent = await startTcpServer(() => {})
  const late = 'Could not connect to the connector within 0.05 seconds. Try again later.'
  const guard = openGuardFor([silent], { connectMs: 50 })
  expect(await refusalOf(guard, silent.origin.replace('http', 'https'))).toBe(late)
  await gone(silent.connections[0]!)
  const lookup: typeof lookUpHost = async (_name, { signal }) => {
    await once(signal, 'abort')
    throw signal.reason
  }
  expect(await refusalOf(openGuard({ lookup, connectMs: 50 }), 'https://mcp.example/')).toBe(late)
})

const opensslTest = testNeeding('openssl', missingCommand('openssl', 'version'))

opensslTest(`sends nothing to a server whose certificate is untrusted or for another name`, async () => {
  const tls = makeCertificate('DNS:elsewhere.example')
  const server = await startServer(echo, { tls })
  const before = getCACertificates('default')
  const refusals: string[] = []
  for (const trusted of [before, [...before, tls.cert]]) {
    setDefaultCACertificates(trusted)
    try {
      refusals.push(await refusalOf(openGuardFor([server]), server.origin, post()))
    } finally {
      setDefaultCACertificates(before)
    }
  }
  const message = 'The connector does not have a trusted certificate for 127.0.0.1. Install one there.'
  expect(refusals).toEqual([message, message])
  expect(server.requests).toEqual([])
})

opensslTest(`environment variables cannot disable certificate checks`, async () => {
  const server = await startServer(echo, { tls: makeCertificate('IP:127.0.0.1') })
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  try {
    expect(await refusalOf(openGuardFor([server]), server.origin, post())).toMatch('trusted certificate')
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  }
})

opensslTest(`sends requests to a trusted server over one TLS connection`, async () => {
  const tls = makeCertificate('DNS:mcp.internal,IP:127.0.0.1')
  const server = await startServer(echo, { tls })
  const before = getCACertificates('default')
  setDefaultCACertificates([tls.cert])
  try {
    const guard = openGuard({ lookup: answering('127.0.0.1'), privateHosts: ['mcp.internal', '127.0.0.1'] })
    for (const body of ['1', '2']) {
      // Certificates do not contain the trailing dot of an absolute name.
      for (const host of ['mcp.internal', '127.0.0.1']) {
        expect(await (await guard.fetch(`https://${host}:${server.port}/`, post(body))).text()).toBe(body)
      }
    }
  } finally {
    setDefaultCACertificates(before)
  }
  expect(server.connections).toHaveLength(2)
})

test('ignores proxies from the environment and Node’s global agent', async () => {
  const [proxy, server] = [await startServer(echo), await startServer(echo)]
  const before = [http.globalAgent, https.globalAgent] as const
  const proxyEnv = { HTTP_PROXY: proxy.origin, HTTPS_PROXY: proxy.origin }
  http.globalAgent = new http.Agent({ proxyEnv })
  https.globalAgent = new https.Agent({ proxyEnv })
  try {
    expect((await openGuardFor([server]).fetch(server.origin, post())).status).toBe(200)
  } finally {
    ;[http.globalAgent, https.globalAgent] = before
  }
  expect(proxy.connections).toEqual([])
})
