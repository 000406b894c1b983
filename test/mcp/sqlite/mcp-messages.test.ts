import { expect, test } from 'vitest'
import { expectUnchanged, shareService } from '../../support/raw-http.ts'
import config from '../mcp-agents.ts'
import { callTool, currentRevision, send, sendCurrent, sendText } from '../mcp-calls.ts'

// Invalid messages, and messages of other revisions: the response follows the protocol, and nothing is charged.

const guarded = shareService({ config })
const key = () => guarded.person.key

const initialize = (protocolVersion: unknown, headers = {}) =>
  send(
    guarded.service,
    'initialize',
    { protocolVersion, capabilities: {}, clientInfo: { name: 'old', version: '1' } },
    { key: key(), headers },
  )

test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
  'a client of revision %s completes the handshake',
  async (revision) => {
    const { body, headers, status } = await initialize(revision)
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { jsonrpc: '2.0', id: 1, result: { protocolVersion: revision, serverInfo: { name: 'errand' } } },
    })
    const next = {
      key: key(),
      headers: { 'MCP-Protocol-Version': revision, 'Mcp-Session-Id': headers.get('mcp-session-id')! },
    }
    expect(await send(guarded.service, 'notifications/initialized', {}, { ...next, id: null })).toMatchObject({
      status: 202,
      messages: [],
    })
    expect((await send(guarded.service, 'ping', {}, next)).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
    const { tools } = (await send(guarded.service, 'tools/list', {}, next)).body.result
    expect(tools).toHaveLength(9)
    const unknown = await send(guarded.service, 'resources/list', {}, next)
    expect(unknown).toMatchObject({ status: 200, body: { error: { code: -32_601 } } })
  },
)

test.each(['2099-01-01', 'latest', 7, undefined])(
  'a client that asks for %j is offered the newest handshake',
  async (asked) => {
    expect((await initialize(asked)).body.result.protocolVersion).toBe('2025-11-25')
  },
)

test('the current revision needs no handshake and can discover the server', async () => {
  const { body, status } = await sendCurrent(guarded.service, 'server/discover', {}, { key: key() })
  expect({ status, result: body.result }).toEqual({
    status: 200,
    result: {
      resultType: 'complete',
      supportedVersions: [currentRevision],
      capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
      instructions: expect.stringContaining('charged'),
      ttlMs: 60_000,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'errand', title: 'Errand', version: expect.any(String) } },
    },
  })
  const listed = await sendCurrent(guarded.service, 'tools/list', {}, { key: key() })
  expect(listed.body.result).toMatchObject({ resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' })
  expect(listed.body.result.tools[0]).not.toHaveProperty('execution')
})

const method = 'tools/list'
const named = 'io.modelcontextprotocol/protocolVersion'
const current: [what: string, params: { _meta?: object }, headers: object, code: number, status: number][] = [
  ['an unknown method', {}, { 'Mcp-Method': 'ping' }, -32_020, 400],
  ['no method header', {}, { 'Mcp-Method': '' }, -32_020, 400],
  ['a version header that differs', {}, { 'MCP-Protocol-Version': '2025-11-25' }, -32_020, 400],
  [
    'an unsupported version',
    { _meta: { [named]: '2099-01-01' } },
    { 'MCP-Protocol-Version': '2099-01-01' },
    -32_022,
    400,
  ],
  ['a version that is not a string', { _meta: { [named]: 7 } }, {}, -32_602, 400],
  ['no capabilities', { _meta: { 'io.modelcontextprotocol/clientCapabilities': 7 } }, {}, -32_602, 400],
]

test.each(current)('rejects a message of the current revision with %s', async (_, params, headers, code, status) => {
  const answer = await sendCurrent(guarded.service, method, params, { key: key(), headers: headers as never })
  expect({ status: answer.status, code: answer.body.error.code }).toEqual({ status, code })
})

test('an unknown method gets 404 in the current revision; an unknown version gets the supported versions', async () => {
  expect(await sendCurrent(guarded.service, 'ping', {}, { key: key() })).toMatchObject({
    status: 404,
    body: { id: 1, error: { code: -32_601 } },
  })
  const headers = { 'MCP-Protocol-Version': '2099-01-01' }
  expect(await send(guarded.service, method, {}, { key: key(), headers })).toMatchObject({
    status: 400,
    body: {
      error: { code: -32_022, data: { requested: '2099-01-01', supported: expect.arrayContaining(['2025-11-25']) } },
    },
  })
  expect(
    await send(guarded.service, method, {}, { key: key(), headers: { 'MCP-Protocol-Version': currentRevision } }),
  ).toMatchObject({
    status: 400,
    body: { error: { code: -32_602 } },
  })
})

test('compares the header with the tool name, plain and in Base64', async () => {
  const call = { name: 'desk_none', arguments: {} }
  const sent = (header: string) =>
    sendCurrent(guarded.service, 'tools/call', call, { key: key(), headers: { 'Mcp-Name': header } })
  expect((await sent('desk_fail')).body.error.code).toBe(-32_020)
  // The headers pass, but the tool does not exist.
  expect((await sent(`=?base64?${btoa('desk_none')}?=`)).body.error.code).toBe(-32_602)
})

const texts: [what: string, text: string, code: number, id?: unknown][] = [
  ['a truncated message', '{"jsonrpc":"2.0","id":1,', -32_700],
  ['an empty body', '', -32_700],
  ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32_600],
  ['an empty batch', '[]', -32_600],
  ['a string', '"ping"', -32_600],
  ['null', 'null', -32_600],
  ['another JSON-RPC version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32_600, 1],
  ['no method', '{"jsonrpc":"2.0","id":1}', -32_600, 1],
  ['a method that is not a string', '{"jsonrpc":"2.0","id":1,"method":7}', -32_600, 1],
  ['a null id', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32_600],
  ['an object as id', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32_600],
  ['an id that is too long', `{"jsonrpc":"2.0","id":"${'x'.repeat(1025)}","method":"ping"}`, -32_600],
  ['a fractional id', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32_600],
  ['an array as params', '{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}', -32_600, 'a'],
  ['a string as _meta', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":""}}', -32_602, 1],
  ['the forbidden name __proto__', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{}}}', -32_700],
]

test.each(texts)('%s is rejected with its code', async (_, text, code, id = null) => {
  const answer = await expectUnchanged(guarded, () => sendText(guarded.service, text, { key: key() }))
  expect(answer).toMatchObject({
    status: 400,
    body: { jsonrpc: '2.0', id, error: { code, message: expect.any(String) } },
  })
})

test('accepts client responses, notifications and unknown notifications silently', async () => {
  expect(await sendText(guarded.service, '{"jsonrpc":"2.0","id":1,"result":{}}', { key: key() })).toMatchObject({
    status: 202,
  })
  for (const requestId of [1, 'a', null, {}, undefined]) {
    const params = { requestId, reason: 'none' }
    expect(await send(guarded.service, 'notifications/cancelled', params, { key: key(), id: null })).toMatchObject({
      status: 202,
    })
  }
  expect(await send(guarded.service, 'notifications/nothing', {}, { key: key(), id: null })).toMatchObject({
    status: 202,
  })
})

test('ignores session headers, and has neither a server stream nor sessions to end', async () => {
  const headers = { 'Mcp-Session-Id': 'made-up', 'Last-Event-ID': '7' }
  expect((await send(guarded.service, 'ping', {}, { key: key(), headers })).status).toBe(200)
  for (const method of ['GET', 'DELETE', 'PUT', 'HEAD']) {
    const answer = await guarded.service.request(method, '/mcp', { key: key(), headers })
    expect(answer.status, method).toBe(405)
    expect(answer.headers.get('allow')).toBe('POST, OPTIONS')
  }
})

test('rejects wrong content types, unusable Accept headers and oversized messages', async () => {
  const text = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
  expect(
    await sendText(guarded.service, text, { key: key(), headers: { 'Content-Type': 'text/plain' } }),
  ).toMatchObject({
    status: 415,
    body: { jsonrpc: '2.0', id: null, error: { code: 415 } },
  })
  expect(await sendText(guarded.service, text, { key: key(), headers: { Accept: 'text/html' } })).toMatchObject({
    status: 400,
    body: { error: { code: -32_600, message: expect.stringContaining('Accept') } },
  })
  for (const accept of ['application/json', '*/*', 'text/event-stream']) {
    expect((await sendText(guarded.service, text, { key: key(), headers: { Accept: accept } })).status, accept).toBe(
      200,
    )
  }
  const large = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'ping',
    params: { text: 'x'.repeat(11 * 1024 * 1024) },
  })
  expect(await sendText(guarded.service, large, { key: key() })).toMatchObject({
    status: 413,
    body: { error: { code: 413 } },
  })
  const names = `{${Array.from({ length: 60_000 }, (_, at) => `"n${at}":0`).join()}}`
  const many = `{"jsonrpc":"2.0","id":1,"method":"ping","params":${names}}`
  expect(await sendText(guarded.service, many, { key: key() })).toMatchObject({
    status: 400,
    body: { error: { code: -32_700 } },
  })
})

test('a missing key gets 401 with the authentication scheme, and a missing scope gets 403', async () => {
  const text = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
  const stranger = await guarded.service.request('POST', '/mcp', { body: text })
  expect(stranger).toMatchObject({ status: 401, body: { jsonrpc: '2.0', error: { code: 401 } } })
  expect(stranger.headers.get('www-authenticate')).toBe('Bearer')
  const reader = await guarded.service.createKey(guarded.person.userId, ['read'])
  expect(await sendText(guarded.service, text, { key: reader })).toMatchObject({
    status: 403,
    body: { error: { code: 403, message: expect.stringContaining('"execute"') } },
  })
})

test('a page of another origin may call with a key, but not with a cookie', async () => {
  const origin = 'https://elsewhere.example'
  const options = await guarded.service.request('OPTIONS', '/mcp', { headers: { Origin: origin } })
  expect(options.headers.get('access-control-allow-headers')).toContain('Mcp-Protocol-Version')
  const { headers, status } = await send(guarded.service, 'ping', {}, { key: key(), headers: { Origin: origin } })
  expect({ status, origin: headers.get('access-control-allow-origin') }).toEqual({ status: 200, origin: '*' })
})

test('an unknown or hidden tool, or arguments that are not an object, are protocol errors', async () => {
  for (const tool of ['desk_none', 'private_echo', 'desk.wait', '', 'x'.repeat(10_000)]) {
    expect(await callTool(guarded.service, tool, {}, { key: key() })).toMatchObject({
      status: 200,
      body: {
        id: 1,
        error: {
          code: -32_602,
          message: expect.stringMatching(/^Unknown tool .{0,128}\. Call tools\/list for the available tools\.$/),
        },
      },
    })
  }
  for (const params of [
    {},
    { name: 7 },
    { name: 'desk_fail', arguments: [] },
    { name: 'desk_fail', arguments: null },
  ]) {
    expect((await send(guarded.service, 'tools/call', params, { key: key() })).body.error.code).toBe(-32_602)
  }
  for (const cursor of [7, 'x', '-1', '1.5']) {
    expect(
      (await send(guarded.service, 'tools/list', { cursor }, { key: key() })).body.error.code,
      String(cursor),
    ).toBe(-32_602)
  }
})

test('arguments that fail the schema give a tool result that names them', async () => {
  const { body } = await expectUnchanged(guarded, () =>
    callTool(guarded.service, 'desk_wait', { gate: 7 }, { key: key() }),
  )
  expect(body.result).toMatchObject({ isError: true, _meta: { code: 'BAD_REQUEST' } })
  expect(body.result.content[0].text).toMatch(
    /^arguments\.gate: .+ Nothing was charged\. Correct the arguments and call again\.$/,
  )
})
