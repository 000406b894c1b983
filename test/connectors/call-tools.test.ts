import { expect, test } from 'vitest'
import { checkArguments } from '../../server/connectors/thread/check-arguments.ts'
import { ConnectorCalls, connectorConfig } from '../api/connector-calls.ts'
import { closedUrl } from '../api/stub-mcp-server.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { stopAll } from './guarded-server.ts'
import { result, startEverything, startMcpServer } from './run-http-server.ts'

function start(privateHosts = ['127.0.0.1']): Promise<TestService> {
  return startService({ config: connectorConfig, privateHosts })
}

const secret = 'hunter2-of-the-user'
const text = (said: string) => [{ type: 'text', text: said }]

test('an owner calls the tools of a real server for free', async () => {
  const [service, everything] = [await start(), await startEverything()]
  const { key } = await service.createPerson()
  const calls = new ConnectorCalls(service, key)
  const { id } = await calls.add({ url: everything.url })
  const sum = await calls.callTool(id, { tool: 'get-sum', arguments: { a: 2, b: 40 } })
  expect(sum.body).toEqual({ content: text('The sum of 2 and 40 is 42.'), isError: false })
  const { body: picture } = await calls.callTool(id, { tool: 'get-tiny-image' })
  expect(picture.content).toContainEqual({
    type: 'image',
    mimeType: 'image/png',
    data: expect.stringMatching(/^iVBOR/),
  })
  const { body: weather } = await calls.callTool(id, {
    tool: 'get-structured-content',
    arguments: { location: 'Chicago' },
  })
  expect(weather.structuredContent).toMatchObject({ temperature: expect.any(Number) })

  const wrong = await calls.callTool(id, { tool: 'get-sum', arguments: { a: 'two' } })
  expect(wrong.status).toBe(400)
  expect(wrong.body).toMatchObject({
    code: 'BAD_REQUEST',
    message: 'arguments.b: Must be set',
    details: [
      { path: 'arguments.b', message: 'Must be set' },
      { path: 'arguments.a', message: 'Must be a number' },
    ],
  })
  expect((await calls.callTool(id, { tool: 'gone' })).body).toMatchObject({
    statusCode: 400,
    details: [{ path: 'tool', message: expect.stringContaining('Must be a tool of the server.') }],
  })
  expect((await service.get('/api/account', key)).body).toMatchObject({ balanceUsd: '10.0000', heldUsd: '0.0000' })
  expect((await service.get('/api/tasks', key)).body.total).toBe(0)
  await service.stop()
  await everything.stop()
})

test("a call redacts the connector's secret and returns the error of a tool", async () => {
  const service = await start()
  const server = await startMcpServer({
    'tools/call': (response, message) =>
      result(response, message, { content: text(`No file for ${secret}.`), isError: true }),
  })
  const { key } = await service.createPerson()
  const calls = new ConnectorCalls(service, key)
  const { id } = await calls.add({ url: `${server.origin}/`, auth: { type: 'bearer', token: secret } })
  const { body, status } = await calls.callTool(id, { tool: 'use' })
  expect([status, body]).toEqual([200, { content: text('No file for ….'), isError: true }])
  await service.stop()
  await stopAll()
})

test('a call rejects forbidden tools, other owners and keys without the scope execute, and contacts no server', async () => {
  const service = await start()
  const server = await startMcpServer()
  const { key, userId } = await service.createPerson()
  const calls = new ConnectorCalls(service, key)
  const { id } = await calls.add({ url: `${server.origin}/`, allowedTools: ['get-sum'] })
  expect((await calls.callTool(id, { tool: 'use' })).body).toMatchObject({
    statusCode: 400,
    details: [{ path: 'tool', message: "Must be one of the connector's allowed tools" }],
  })
  const other = new ConnectorCalls(service, (await service.createPerson()).key)
  expect((await other.callTool(id, { tool: 'get-sum' })).status).toBe(404)
  const reader = new ConnectorCalls(service, await service.createKey(userId, ['read']))
  expect((await reader.callTool(id, { tool: 'get-sum' })).status).toBe(403)
  expect((await calls.callTool(id, { tool: 'get-sum', arguments: [] })).body).toMatchObject({
    details: [{ path: 'arguments' }],
  })
  expect(server.requests).toEqual([])
  await service.stop()
  await stopAll()
})

test('a call reaches no private address, and fails with the reason if the server is unreachable', async () => {
  const [open, fenced, server] = [await start(), await start([]), await startMcpServer()]
  const at = async (service: TestService, url: string) => {
    const calls = new ConnectorCalls(service, (await service.createPerson()).key)
    const { id } = await calls.add({ url })
    return (await calls.callTool(id, { tool: 'use' })).body
  }
  expect(await at(fenced, `https://localhost:${server.port}/`)).toMatchObject({
    code: 'CONNECTOR_FAILED',
    message: expect.stringContaining('has a host that is private'),
  })
  expect(server.requests).toEqual([])
  expect(await at(open, await closedUrl())).toMatchObject({
    statusCode: 424,
    message: expect.stringContaining('refused the connection'),
  })
  await open.stop()
  await fenced.stop()
  await stopAll()
})

test("the check of arguments names each field that does not match the tool's schema", () => {
  const schema = {
    type: 'object',
    properties: {
      unit: { enum: ['C', 'F'] },
      days: { type: 'integer', minimum: 1, maximum: 7 },
      tags: { type: 'array', maxItems: 2, items: { type: 'string', minLength: 2 } },
      place: { type: ['object', 'null'], properties: { city: { const: 'Rome' } }, additionalProperties: false },
      link: { $ref: '#/$defs/link', anyOf: [{ type: 'number' }], pattern: '^(a+)+$' },
    },
    required: ['unit', 'days'],
  }
  const of = (args: object) => checkArguments(schema, args).map(({ message, path }) => `${path}: ${message}`)
  expect(of({ unit: 'C', days: 7, tags: ['ab'], place: { city: 'Rome' }, link: 'x', more: 1 })).toEqual([])
  expect(of({ unit: 'C', days: 1, place: null })).toEqual([])
  expect(of({ unit: 'K', days: 1.5, tags: ['a', 7], place: { city: 'Oslo', zip: 1 } })).toEqual([
    'arguments.unit: Must be one of C, F',
    'arguments.days: Must be a whole number',
    'arguments.tags[0]: Must have at least 2 characters',
    'arguments.tags[1]: Must be a string',
    'arguments.place.city: Must be Rome',
    'arguments.place.zip: Unknown field. Remove it',
  ])
  expect(of({ days: 8, tags: ['aa', 'bb', 'cc'], place: [] })).toEqual([
    'arguments.unit: Must be set',
    'arguments.days: Must be at most 7',
    'arguments.tags: Must have at most 2 items',
    'arguments.place: Must be an object or null',
  ])
})

test('the check of arguments stays short, whatever schema the server chooses', () => {
  const choices = Array.from({ length: 50_000 }, (_, n) => `${n}`)
  const schema = { type: 'object', properties: { all: { type: 'array', items: { enum: choices } } } }
  const all = Array.from({ length: 50_000 }, () => '49999')
  const before = process.threadCpuUsage()
  checkArguments(schema, { all })
  const { system, user } = process.threadCpuUsage(before)
  expect((system + user) / 1000).toBeLessThan(500)
})
