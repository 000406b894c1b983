import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { ConnectorCalls, connectorConfig } from './connector-calls.ts'
import { vias } from './session-calls.ts'
import { closedUrl, startStubMcpServer } from './stub-mcp-server.ts'

const token = 'hunter2-of-the-user'
const bearer = { type: 'bearer', token }
const schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }
const tools = [
  { name: 'look', title: 'Look', description: 'Looks.', inputSchema: schema },
  { name: 'touch', inputSchema: { type: 'object' }, annotations: { destructiveHint: true } },
  { name: 'read', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true, destructiveHint: true } },
]

function start(): Promise<TestService> {
  return startService({ config: connectorConfig, privateHosts: ['127.0.0.1'] })
}

test.each(vias)('a connector with a working server has status ok and lists its tools, over %s', async (via) => {
  const [service, server] = [await start(), await startStubMcpServer({ tools })]
  const { key } = await service.createPerson()
  const calls = new ConnectorCalls(service, key, via)
  const connector = await calls.add({ url: server.url, auth: bearer })
  const { body: tested } = await calls.test(connector.id)
  expect(tested).toEqual({ ...connector, status: 'ok', checkedAt: expect.stringMatching(/Z$/) })
  expect((await calls.get(connector.id)).body).toEqual(tested)
  for (const headers of server.seen) expect(headers.authorization).toBe(`Bearer ${token}`)

  const anything = { type: 'object', properties: {} }
  const listed = [
    { ...tools[0], isAllowed: true },
    { name: 'touch', description: '', effect: 'destructive', inputSchema: anything, isAllowed: true },
    { name: 'read', description: '', effect: 'readOnly', inputSchema: anything, isAllowed: true },
  ]
  expect((await calls.tools(connector.id)).body).toEqual({ tools: listed, total: 3 })
  await calls.update(connector.id, { allowedTools: ['touch', 'gone'] })
  const { body: restricted } = await calls.tools(connector.id)
  expect(restricted.tools.map(({ isAllowed }: any) => isAllowed)).toEqual([false, true, false])
  await service.stop()
  await server.stop()
})

test("sends each user's own headers to the server, never another user's", async () => {
  const [service, server] = [await start(), await startStubMcpServer({ tools })]
  for (const [name, given] of [
    ['one', { 'X-Api-Key': 'of one', Authorization: 'Basic b25lOm9uZQ==' }],
    ['two', { 'X-Api-Key': 'of two' }],
  ] as const) {
    const { key } = await service.createPerson()
    const calls = new ConnectorCalls(service, key)
    const { id } = await calls.add({ name, url: server.url, auth: { type: 'headers', headers: given } })
    server.seen.length = 0
    expect((await calls.test(id)).body.status).toBe('ok')
    expect(server.seen.length).toBeGreaterThan(1)
    for (const headers of server.seen) {
      expect(headers['x-api-key']).toBe(given['X-Api-Key'])
      expect(headers.authorization).toBe(name === 'one' ? given.Authorization : undefined)
    }
  }
  await service.stop()
  await server.stop()
})

const failing: [name: string, refuse: (token: string) => [status: number, type: string, body: string], RegExp][] = [
  ['rejects the credentials', () => [401, 'text/plain', 'no'], /rejected the credentials \(HTTP 401\)/],
  ['does not speak MCP', () => [404, 'text/html', '<h1>No</h1>'], /no MCP server at this URL \(HTTP 404\)/],
  ['returns HTTP 500 and repeats the secret', (said) => [500, 'text/plain', said], /responded with HTTP 500/],
  ['returns a page with the secret', (said) => [200, 'text/html', said], /\S/],
  ['returns invalid JSON with the secret', (said) => [200, 'application/json', `{"${said}`], /\S/],
  [
    'returns an error with the secret',
    (said) => [200, 'application/json', JSON.stringify({ jsonrpc: '2.0', id: 0, error: { code: 1, message: said } })],
    /\S/,
  ],
]

test.each(failing)('marks a connector as failed, without leaking the secret, if its server %s', async (...given) => {
  const [, refuse, message] = given
  const [service, server] = [
    await start(),
    await startStubMcpServer({
      refuse: ({ headers: { authorization = '' } }, response) => {
        const [status, type, body] = refuse(authorization)
        response.writeHead(status, { 'Content-Type': type }).end(body)
      },
    }),
  ]
  const { key } = await service.createPerson()
  const calls = new ConnectorCalls(service, key)
  const { id } = await calls.add({ url: server.url, auth: bearer })
  const { body: tested, status } = await calls.test(id)
  expect(status).toBe(200)
  expect(tested).toMatchObject({ status: 'failed', statusMessage: expect.stringMatching(message) })
  expect(tested.statusMessage).toMatch(/^Connector "Docs": [A-Z][^\n]*\.$/)
  const asked = await calls.tools(id)
  expect(asked.body).toEqual({
    error: 'Failed dependency',
    message: tested.statusMessage,
    statusCode: 424,
    code: 'CONNECTOR_FAILED',
  })
  for (const body of [tested, asked.body, (await calls.list()).body]) {
    expect(JSON.stringify(body)).not.toMatch(/hunter2/)
  }
  await service.stop()
  await server.stop()
})

test('a connector to a closed port has status failed, and status ok once its URL changes', async () => {
  const [service, server] = [await start(), await startStubMcpServer({ tools })]
  const { key } = await service.createPerson()
  const calls = new ConnectorCalls(service, key)
  const { id } = await calls.add({ url: await closedUrl() })
  const { body: failed } = await calls.test(id)
  expect(failed).toMatchObject({
    status: 'failed',
    statusMessage: expect.stringMatching(/refused the connection\. Check that it is running\.$/),
  })
  expect((await calls.update(id, { name: 'Renamed' })).body).toMatchObject({ status: 'failed' })
  const untested = { status: 'untested', statusMessage: null, checkedAt: null }
  expect((await calls.update(id, { url: server.url })).body).toMatchObject(untested)
  expect((await calls.tools(id)).body.total).toBe(tools.length)
  expect((await calls.get(id)).body).toMatchObject({ status: 'ok', statusMessage: null })
  expect((await calls.update(id, { auth: bearer })).body).toMatchObject(untested)
  await service.stop()
  await server.stop()
})

test('a hostname that resolves to a private address is accepted but fails its test', async () => {
  const service = await startService({ config: connectorConfig })
  const server = await startStubMcpServer({ tools })
  const { key } = await service.createPerson()
  const calls = new ConnectorCalls(service, key)
  const { id } = await calls.add({ url: `https://localhost:${new URL(server.url).port}/mcp`, auth: bearer })
  expect((await calls.test(id)).body).toMatchObject({
    status: 'failed',
    statusMessage: expect.stringMatching(
      /has a host that is private or was not found\. Use a public host, or ask the operator to allow this one\.$/,
    ),
  })
  expect(server.seen).toEqual([])
  await service.stop()
  await server.stop()
})

test("returns 409 for a user's fifth concurrent connector check, without affecting other users", async () => {
  const service = await start()
  const [silent, server] = [await startStubMcpServer({ isSilent: true }), await startStubMcpServer({ tools })]
  const [person, other] = [await service.createPerson(), await service.createPerson()]
  const [calls, theirs] = [person, other].map(({ key }) => new ConnectorCalls(service, key)) as [
    ConnectorCalls,
    ConnectorCalls,
  ]
  const slow = await calls.add({ name: 'slow', url: silent.url })
  const good = await calls.add({ name: 'good', url: server.url })
  const held = [calls.test(slow.id), calls.tools(slow.id), calls.test(slow.id), calls.tools(slow.id)]
  await expect.poll(() => silent.seen.length).toBe(4)
  for (const refused of [await calls.test(good.id), await calls.tools(good.id)]) {
    expect(refused.body).toMatchObject({
      error: 'Conflict',
      statusCode: 409,
      code: 'CONFLICT',
      message: expect.stringMatching(/already has 4 connector checks or calls in progress/),
    })
  }
  expect((await calls.get(good.id)).body).toEqual(good)
  const { id } = await theirs.add({ url: server.url })
  expect((await theirs.test(id)).body.status).toBe('ok')

  await silent.stop()
  const ended = await Promise.all(held)
  expect(ended.map(({ status }) => status)).toEqual([200, 424, 200, 424])
  expect(ended[0]!.body).toMatchObject({
    status: 'failed',
    statusMessage: expect.stringMatching(/^Connector "slow": /),
  })
  const four = await Promise.all(Array.from({ length: 4 }, () => calls.test(good.id)))
  expect(four.map(({ body }) => body.status)).toEqual(['ok', 'ok', 'ok', 'ok'])
  await service.stop()
  await server.stop()
})

test("returns 429 for a user's 31st connector check per minute, without affecting others", async () => {
  const clock = new FakeClock()
  const service = await startService({ config: connectorConfig, privateHosts: ['127.0.0.1'], clock })
  const server = await startStubMcpServer({ tools })
  const [one, other] = [await service.createPerson(), await service.createPerson()].map(
    ({ key }) => new ConnectorCalls(service, key),
  ) as [ConnectorCalls, ConnectorCalls]
  const { id } = await one.add({ url: server.url })
  for (let pair = 0; pair < 15; pair++) {
    expect((await one.test(id)).status).toBe(200)
    expect((await one.tools(id)).status).toBe(200)
    if (pair === 0) clock.advance(20_000)
  }
  const asked = server.seen.length
  for (const refused of [await one.test(id), await one.tools(id)]) {
    expect(refused.body).toEqual({
      error: 'Rate limit exceeded',
      message: 'At most 30 connector checks and calls per minute are allowed. Wait before you try again.',
      statusCode: 429,
      code: 'RATE_LIMIT_EXCEEDED',
    })
    expect(refused.headers.get('retry-after')).toBe('40')
  }
  expect(server.seen.length).toBe(asked)
  expect((await one.get(id)).body.status).toBe('ok')
  const theirs = await other.add({ url: server.url })
  expect((await other.test(theirs.id)).body.status).toBe('ok')
  clock.advance(40_000)
  expect([await one.test(id), await one.test(id), await one.test(id)].map(({ status }) => status)).toEqual([
    200, 200, 429,
  ])
  await service.stop()
  await server.stop()
})

/** Starts a connector test that stays in progress until `release`, because the server does not respond. */
async function beginTest() {
  const [service, silent] = [await start(), await startStubMcpServer({ isSilent: true })]
  const { key } = await service.createPerson()
  const calls = new ConnectorCalls(service, key)
  const { id } = await calls.add({ url: silent.url })
  const testing = calls.test(id)
  await expect.poll(() => silent.seen.length).toBe(1)
  const release = async () => {
    await silent.stop()
    return await testing
  }
  return { calls, id, release, service }
}

test('a connector updated during its test stays untested', async () => {
  const { calls, id, release, service } = await beginTest()
  await calls.update(id, { url: 'http://127.0.0.1:1/' })
  expect((await release()).body).toMatchObject({ status: 'untested', statusMessage: null })
  await service.stop()
})

test('returns 404 if the connector is deleted during its test', async () => {
  const { calls, id, release, service } = await beginTest()
  await calls.delete(id)
  expect((await release()).status).toBe(404)
  await service.stop()
})

test('a connector has status failed if its tool descriptions exceed a megabyte', async () => {
  const described = { type: 'object', properties: { a: { description: 'x'.repeat(1_100_000) } } }
  const server = await startStubMcpServer({ tools: [{ name: 'much', inputSchema: described }] })
  const service = await start()
  const { key } = await service.createPerson()
  const calls = new ConnectorCalls(service, key)
  const { id } = await calls.add({ url: server.url })
  const { body } = await calls.test(id)
  expect(body).toMatchObject({
    status: 'failed',
    statusMessage: expect.stringMatching(/tool descriptions have more than/),
  })
  await service.stop()
  await server.stop()
})
