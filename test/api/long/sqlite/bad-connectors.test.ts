import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectRefused, expectRpcRefused, shareService, type Refusal } from '../../../support/raw-http.ts'
import { ConnectorCalls, connectorConfig } from '../../connector-calls.ts'

const guarded = shareService({ config: connectorConfig, privateHosts: ['127.0.0.1:4000', 'mcp.internal'] })
const url = 'https://mcp.example.com/mcp'
const bearer = { type: 'bearer', token: 'a-token-of-the-user' }
let connector: any
let ofServer: any
let calls: ConnectorCalls

beforeAll(async () => {
  calls = new ConnectorCalls(guarded.service, guarded.person.key)
  connector = await calls.add({ name: 'Kept', url, auth: bearer })
  ofServer = await calls.add({ name: 'Server', url: undefined, server: 'token', auth: bearer })
})

// No rejected request may change the existing connectors.
afterAll(async () => {
  const { body } = await calls.list()
  expect(body.connectors).toEqual([ofServer, connector])
})

const request = (method: string, path: string, body: unknown) =>
  guarded.service.request(method, path, { key: guarded.person.key, body })

/** Expects that a creation is rejected over REST and typed RPC. `undefined` removes a field. */
async function expectCreateRefused(expected: Refusal, changes: object): Promise<void> {
  const input = { name: 'New', url, ...changes }
  await expectRefused(guarded, expected, () => request('POST', '/api/connectors', input))
  await expectRpcRefused(guarded, expected, () => request('POST', '/trpc/connectors.create', { json: input }))
}

async function expectUpdateRefused(expected: Refusal, changes: object, of = connector): Promise<void> {
  const before = (await calls.get(of.id)).body
  await expectRefused(guarded, expected, () => request('PATCH', `/api/connectors/${of.id}`, changes))
  const input = { json: { connectorId: of.id, ...changes } }
  await expectRpcRefused(guarded, expected, () => request('POST', '/trpc/connectors.update', input))
  expect((await calls.get(of.id)).body).toEqual(before)
}

async function expectBothRefused(field: string, changes: object): Promise<void> {
  await expectCreateRefused({ status: 400, field }, changes)
  await expectUpdateRefused({ status: 400, field }, changes)
}

const long = (count: number) => 'x'.repeat(count)
const wordsOf = (text: string) => text.trim().split(/\s+/)

test.each([
  ['null', null],
  ['empty', ''],
  ['blank', ' \t\n'],
  ['a number', 1],
  ['an array', ['Docs']],
  ['of 61 characters', long(61)],
  ['a lone surrogate', '\ud800'],
])('returns 400 and names the field "name" if it is %s', async (_title, name) => {
  await expectBothRefused('name', { name })
})

test('returns 400 for missing fields at creation and for an update without changes', async () => {
  await expectCreateRefused({ status: 400, field: 'name' }, { name: undefined })
  await expectCreateRefused({ status: 400, field: 'url', message: /either url or server/ }, { url: undefined })
  await expectCreateRefused({ status: 400, field: 'url', message: /either url or server/ }, { server: 'plain' })
  for (const nothing of [{}, { server: 'plain' }, { type: 'mcp' }, { status: 'ok' }]) {
    await expectUpdateRefused({ status: 400, message: /Must have at least one field to change/ }, nothing)
  }
})

test.each([['rest'], [''], [null], [1]])('returns 400 and names type for %j', async (type) => {
  await expectCreateRefused({ status: 400, field: 'type' }, { type })
})

test.each([
  ['null', null],
  ['empty', ''],
  ['a number', 1],
  ['not a URL', 'mcp.example.com'],
  ['without a host', 'https://'],
  ['relative', '/mcp'],
  ['of 2,001 characters', `https://mcp.example.com/${long(1977)}`],
  ['of an unsupported scheme', 'ftp://mcp.example.com/'],
  ['a file: URL', 'file:///etc/passwd'],
  ['a javascript: URL', 'javascript:alert(1)'],
  ['a data: URL', 'data:text/plain,x'],
  ['a WebSocket URL', 'wss://mcp.example.com/'],
  ['with a user name', 'https://user@mcp.example.com/'],
  ['with a password', 'https://:password@mcp.example.com/'],
  ['on an allowed host, with credentials', 'http://user:password@127.0.0.1:4000/'],
  ['not encrypted', 'http://mcp.example.com/'],
  ['not encrypted, on a different port of an allowed host', 'http://127.0.0.1:4001/'],
  ['not encrypted, on a subdomain of an allowed host', 'http://a.mcp.internal/'],
])('returns 400 and names url if it is %s', async (_title, bad) => {
  await expectBothRefused('url', { url: bad })
})

const privateHosts = `
  127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0177.0.0.1 0x7f.0.0.0x1 127.0.0.1.
  １２７.０.０.１ 127。0。0。1 %31%32%37.0.0.1 ⑫７.0.0.1 0 0.0.0.0 10.0.0.1 10.1
  172.16.0.1 172.31.255.255 192.168.0.1 3232235521 169.254.169.254 0xa9fea9fe 100.64.0.1
  192.0.2.1 198.18.0.1 224.0.0.1 255.255.255.255 [::] [::1] [0:0:0:0:0:0:0:1]
  [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:8.8.8.8] [::127.0.0.1] [64:ff9b::7f00:1]
  [fe80::1] [fc00::1] [fd12:3456::1] [ff02::1] [2002:7f00:1::] [2001:db8::1]
`

test.each(wordsOf(privateHosts))('returns 400 and names url if its host is the non-public address %s', async (host) => {
  await expectBothRefused('url', { url: `https://${host}/mcp` })
  await expectBothRefused('url', { url: `https://${host}:8443/mcp` })
})

const badAuth: [title: string, auth: unknown, field: string][] = [
  ['null', null, 'auth'],
  ['a string', 'a-token', 'auth'],
  ['without a type', { token: 'x' }, 'auth.type'],
  ['of an unknown type', { type: 'basic', token: 'x' }, 'auth.type'],
  ['without a token', { type: 'bearer' }, 'auth.token'],
  ['with an empty token', { type: 'bearer', token: '' }, 'auth.token'],
  ['with a token that contains a line break', { type: 'bearer', token: 'one\r\ntwo: 2' }, 'auth.token'],
  ['with a token that ends in a line break', { type: 'bearer', token: 'one\n' }, 'auth.token'],
  ['with a token with a space', { type: 'bearer', token: 'one two' }, 'auth.token'],
  ['with a non-ASCII token', { type: 'bearer', token: 'schlüssel' }, 'auth.token'],
  ['with a token of 8,193 characters', { type: 'bearer', token: long(8193) }, 'auth.token'],
  ['without headers', { type: 'headers' }, 'auth.headers'],
  ['with empty headers', { type: 'headers', headers: {} }, 'auth.headers'],
  ['with an array as headers', { type: 'headers', headers: [['X-Api-Key', 'one']] }, 'auth.headers'],
  [
    'with headers of more than 16,384 characters in total',
    { type: 'headers', headers: { A: long(8192), B: long(8192), C: 'x' } },
    'auth.headers',
  ],
  [
    'with eleven headers',
    { type: 'headers', headers: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`X-${n}`, 'one'])) },
    'auth.headers',
  ],
]

test.each(badAuth)('returns 400 and names the path if auth is %s', async (_title, auth, field) => {
  await expectBothRefused(field, { auth })
})

test.each(['', 'X Api', 'X:Api', 'X-Apí', 'X-Api\r\nHost', long(101)])(
  'returns 400 for the header name %j',
  async (name) => {
    await expectBothRefused(`auth.headers${name === '' ? '.' : `.${name}`}`, {
      auth: { type: 'headers', headers: { [name]: 'one' } },
    })
  },
)

test.each([
  ['empty', ''],
  ['a number', 1],
  ['null', null],
  ['a string with a line break', 'one\r\nX-Two: two'],
  ['with a NUL', 'one\0'],
  ['a string with a leading space', ' one'],
  ['a string with a trailing space', 'one '],
  ['with a tab', 'one\ttwo'],
  ['not ASCII', 'schlüssel'],
  ['of 8,193 characters', long(8193)],
])('returns 400 and names the header whose value is %s', async (_title, value) => {
  await expectBothRefused('auth.headers.X-Api-Key', { auth: { type: 'headers', headers: { 'X-Api-Key': value } } })
})

const ownHeaders = `
  Host hOST Connection Keep-Alive Proxy-Authorization TE Trailer Transfer-Encoding Upgrade
  Content-Length Content-Type Content-Encoding Accept Accept-Encoding Expect User-Agent Mcp-Session-Id MCP-Protocol-Version
`

test.each(wordsOf(ownHeaders))('returns 400 for the header %s, which the connection sets', async (header) => {
  const auth = { type: 'headers', headers: { 'X-Api-Key': 'one', [header]: 'two' } }
  await expectBothRefused(`auth.headers.${header}`, { auth })
})

test.each([
  ['a string', 'look', 'allowedTools'],
  ['an object', { look: true }, 'allowedTools'],
  ['an array with a number', ['look', 1], 'allowedTools[1]'],
  ['an array with an empty name', [''], 'allowedTools[0]'],
  ['an array with a name of 201 characters', [long(201)], 'allowedTools[0]'],
  ['501 names', Array.from({ length: 501 }, (_, n) => `t${n}`), 'allowedTools'],
])('returns 400 and names allowedTools if it is %s', async (_title, allowedTools, field) => {
  await expectBothRefused(field, { allowedTools })
})

test('returns 400 for an unknown server and for a server that does not accept the auth', async () => {
  for (const server of ['nope', 'Plain', '__proto__', 'constructor', '']) {
    await expectCreateRefused({ status: 400, field: 'server' }, { url: undefined, server })
  }
  const headers = { type: 'headers', headers: { 'X-Api-Key': 'one' } }
  for (const [server, auth] of [
    ['plain', bearer],
    ['plain', headers],
    ['token', headers],
  ] as const) {
    await expectCreateRefused({ status: 400, field: 'auth.type' }, { url: undefined, server, auth })
  }
  await expectUpdateRefused({ status: 400, field: 'auth.type' }, { auth: headers }, ofServer)
  await expectUpdateRefused({ status: 400, field: 'url' }, { url }, ofServer)
})

test.each([
  ['another host', 'https://evil.example.com/mcp'],
  ['a subdomain', 'https://a.mcp.example.com/mcp'],
  ['another port', 'https://mcp.example.com:8443/mcp'],
  ['a host that starts with the same name', 'https://mcp.example.com.evil.example/mcp'],
  ['an allowed private host', 'http://mcp.internal/mcp'],
])('returns 400 and names auth if secrets would be sent to %s', async (_title, other) => {
  await expectUpdateRefused({ status: 400, field: 'auth' }, { url: other })
  await expectUpdateRefused({ status: 400, field: 'auth' }, { url: other, name: 'Renamed', allowedTools: [] })
})

test('keeps secrets for a URL on the same host; another host needs new auth', async () => {
  const own = await calls.add({ name: 'Moved', url, auth: bearer })
  const good: [changes: Record<string, unknown>, url: string, type: string][] = [
    [{ url: 'https://mcp.example.com:443/other?a=1#part' }, 'https://mcp.example.com/other?a=1', 'bearer'],
    [{ url: 'HTTPS://MCP.Example.com/third' }, 'https://mcp.example.com/third', 'bearer'],
    [{ url: 'https://example.org/', auth: bearer }, 'https://example.org/', 'bearer'],
    [{ url: 'https://example.net/', auth: { type: 'none' } }, 'https://example.net/', 'none'],
    [{ url: 'https://example.com/' }, 'https://example.com/', 'none'],
    [{ url: 'http://127.0.0.1:4000/' }, 'http://127.0.0.1:4000/', 'none'],
    [{ url: 'http://mcp.internal:99/' }, 'http://mcp.internal:99/', 'none'],
    [{ url: 'https://8.8.8.8/' }, 'https://8.8.8.8/', 'none'],
    [{ url: 'https://[2606:4700::1111]/' }, 'https://[2606:4700::1111]/', 'none'],
  ]
  for (const [changes, kept, type] of good) {
    const { body, status } = await calls.update(own.id, changes)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject({ url: kept, auth: { type } })
  }
  await calls.delete(own.id)
})

test('accepts secrets of the maximum length and of every allowed character', async () => {
  const visible = String.fromCharCode(...Array.from({ length: 94 }, (_, n) => 0x21 + n))
  const headers = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`X-${n}`, `${visible} ${visible}`]))
  for (const auth of [
    { type: 'bearer', token: visible },
    { type: 'bearer', token: long(8192) },
    { type: 'headers', headers },
    { type: 'headers', headers: { [long(100)]: 'x' } },
  ]) {
    const { id } = await calls.add({
      name: long(60),
      auth,
      allowedTools: Array.from({ length: 500 }, (_, n) => `${n}`),
    })
    await calls.delete(id)
  }
})
