import { afterEach, expect, test } from 'vitest'
import { ConnectorError } from '../../../server/connectors/connector-spec.ts'
import {
  answering,
  gone,
  openGuard,
  openGuardFor,
  post,
  startServer,
  stopAll,
  type Answer,
  type TestServer,
} from '../guarded-server.ts'

afterEach(stopAll)

const redirectTo =
  (location: string, status = 307): Answer =>
  (response) =>
    response.writeHead(status, { Location: location }).end('elsewhere')

const echo: Answer = (response, { body, method, url }) => response.end(`${method} ${url} ${body}`)

const secrets = { Authorization: 'Bearer t', 'X-Api-Key': 'k', Cookie: 'c=1', 'Last-Event-Id': '7' }
const harmless = {
  accept: 'text/event-stream',
  'content-type': 'application/json',
  'mcp-protocol-version': '2025-06-18',
  'mcp-session-id': 's1',
  'user-agent': 'ai-sdk/mcp',
}

async function failureOf(request: Promise<Response>): Promise<string> {
  const error: unknown = await request.then(
    () => 'no refusal',
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(ConnectorError)
  return (error as ConnectorError).message
}

const isPrivate =
  'The URL that this connector redirects to has a host that is private or was not found. Use a public host, or ask the operator to allow this one.'

/** URLs with private addresses, on ports that are not allowed. */
const forbidden = (server: TestServer) => [
  server.origin,
  server.origin.replace('http:', 'https:'),
  `//127.1:${server.port}/`,
  `https://localhost:${server.port}/`,
  `https://[::ffff:127.0.0.1]:${server.port}/`,
  `https://mcp.example:${server.port}/`,
  'http://169.254.169.254/latest/meta-data/',
]

test.each([307, 308, 301, 302, 303])(
  'rejects a redirect with %s to a private address without connecting',
  async (status) => {
    const inner = await startServer(echo)
    for (const location of forbidden(inner)) {
      const outer = await startServer(redirectTo(location, status))
      const guard = openGuardFor([outer], { lookup: answering('127.0.0.1') })
      expect(await failureOf(guard.fetch(outer.origin, { headers: secrets }))).toBe(isPrivate)
      expect(outer.requests).toHaveLength(1)
    }
    expect(inner.connections).toEqual([])
  },
)

test("checks the port of a redirect's target host", async () => {
  const inner = await startServer(echo)
  const outer = await startServer(redirectTo(`https://mcp.internal:${inner.port}/`))
  const lookup = answering('127.0.0.1')
  const guard = openGuard({ lookup, privateHosts: [`mcp.internal:${outer.port}`] })
  expect(await failureOf(guard.fetch(`http://mcp.internal:${outer.port}/`, post()))).toBe(isPrivate)
  expect(inner.connections).toEqual([])
})

test('checks every redirect hop, not only the first', async () => {
  const inner = await startServer(echo)
  const second = await startServer(redirectTo(`https://127.0.0.1:${inner.port}/`))
  const first = await startServer(redirectTo(second.origin))
  expect(await failureOf(openGuardFor([first, second]).fetch(first.origin, post()))).toBe(isPrivate)
  expect(second.requests).toHaveLength(1)
  expect(inner.connections).toEqual([])
})

test.each([
  ['http://8.8.8.8/', 'The URL that this connector redirects to does not start with https://. Use an https URL.'],
  ['http://mcp.example/', 'The URL that this connector redirects to does not start with https://. Use an https URL.'],
  ['ftp://mcp.example/', 'The URL that this connector redirects to does not start with https://. Use an https URL.'],
  ['file:///etc/passwd', 'The URL that this connector redirects to does not start with https://. Use an https URL.'],
  ['data:text/plain,hello', 'The URL that this connector redirects to does not start with https://. Use an https URL.'],
  [
    'https://u:p@mcp.example/',
    'The URL that this connector redirects to contains a user name or password. Remove them from the URL.',
  ],
  ['http://[', "The URL that this connector redirects to is invalid. Set the connector's URL to the final URL."],
])('rejects a redirect to %s', async (location, message) => {
  const server = await startServer(redirectTo(location))
  const lookup = answering('127.0.0.1')
  expect(await failureOf(openGuardFor([server], { lookup }).fetch(server.origin, post()))).toBe(message)
  expect(lookup.names).toEqual([])
})

test.each([307, 308])('%s repeats a POST unchanged, with all its headers at the same origin', async (status) => {
  const server = await startServer((response, request) =>
    request.url === '/mcp' ? redirectTo('/v2/mcp?a=1', status)(response, request) : echo(response, request),
  )
  for (const redirect of ['error', 'manual', 'follow'] as const) {
    const init = { ...post('{"a":1}', { ...secrets, ...harmless }), redirect }
    const response = await openGuardFor([server]).fetch(`${server.origin}/mcp`, init)
    expect(await response.text()).toBe('POST /v2/mcp?a=1 {"a":1}')
    expect(server.requests.at(-1)!.headers).toMatchObject({
      ...harmless,
      authorization: 'Bearer t',
      'x-api-key': 'k',
      cookie: 'c=1',
      'last-event-id': '7',
    })
  }
})

test.each([
  ['another port', (outer: TestServer, inner: TestServer) => [outer, inner.origin] as const],
  ['another host', (outer: TestServer) => [outer, `http://mcp.internal:${outer.port}`] as const],
])('a redirect to %s drops all headers that may hold a secret', async (_, arrange) => {
  const inner = await startServer(echo)
  const outer: TestServer = await startServer((response, request) =>
    request.url === '/' ? redirectTo(`${arrange(outer, inner)[1]}/mcp`)(response, request) : echo(response, request),
  )
  const guard = openGuard({ lookup: answering('127.0.0.1'), privateHosts: ['127.0.0.1', 'mcp.internal'] })
  const response = await guard.fetch(outer.origin, post('{"a":1}', { ...secrets, ...harmless }))
  expect(await response.text()).toBe('POST /mcp {"a":1}')
  const { host, ...headers } = [...outer.requests, ...inner.requests].at(-1)!.headers
  expect(host).toBe(new URL(arrange(outer, inner)[1]).host)
  expect(headers).toEqual({
    ...harmless,
    'accept-encoding': 'identity',
    'content-length': '7',
    connection: 'keep-alive',
  })
})

test('dropped headers stay dropped after a redirect back to the first origin', async () => {
  const second: TestServer = await startServer((response, request) =>
    redirectTo(`${first.origin}/end`)(response, request),
  )
  const first: TestServer = await startServer((response, request) =>
    request.url === '/end' ? echo(response, request) : redirectTo(second.origin)(response, request),
  )
  await openGuardFor([first, second]).fetch(first.origin, post('{}', secrets))
  expect(first.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer t', undefined])
})

test.each([301, 302, 303])('rejects %s for a POST or DELETE but follows it for a GET', async (status) => {
  const server = await startServer((response, request) =>
    request.url === '/' ? redirectTo('/next', status)(response, request) : echo(response, request),
  )
  const guard = openGuardFor([server])
  const message = `The connector redirects with the status ${status}, which would change the request method. Set its URL to the final URL.`
  expect(await failureOf(guard.fetch(server.origin, post()))).toBe(message)
  expect(await failureOf(guard.fetch(server.origin, { method: 'DELETE' }))).toBe(message)
  expect(server.requests).toHaveLength(2)
  expect(await (await guard.fetch(server.origin)).text()).toBe('GET /next ')
})

test('follows three redirects but not a fourth or a loop', async () => {
  const server = await startServer((response, request) => {
    const left = Number(request.url.slice(1))
    return left === 0 ? echo(response, request) : redirectTo(left === 9 ? '/9' : `/${left - 1}`)(response, request)
  })
  const guard = openGuardFor([server])
  expect(await (await guard.fetch(`${server.origin}/3`, post())).text()).toBe('POST /0 {}')
  const asked = server.requests.length
  for (const path of ['/4', '/9']) {
    expect(await failureOf(guard.fetch(server.origin + path, post()))).toBe(
      'The connector redirects more than 3 times. Set its URL to the final URL.',
    )
  }
  expect(server.requests.length - asked).toBe(8)
})

test('returns redirects without a location, and other 3xx statuses, as responses', async () => {
  const server = await startServer((response, { url }) => response.writeHead(Number(url.slice(1))).end('body'))
  const guard = openGuardFor([server])
  for (const status of [300, 302, 307]) {
    const response = await guard.fetch(`${server.origin}/${status}`, post())
    expect([response.status, await response.text()]).toEqual([status, 'body'])
  }
})

test('does not read the body of a redirect and closes its connection', async () => {
  const server = await startServer((response, request) => {
    if (request.url === '/next') return echo(response, request)
    response.writeHead(307, { Location: '/next' })
    response.write('endless')
  })
  expect(await (await openGuardFor([server]).fetch(server.origin, post())).text()).toBe('POST /next {}')
  await gone(server.connections[0]!)
})
