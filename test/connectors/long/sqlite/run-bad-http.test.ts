import { afterEach, expect, test } from 'vitest'
import { expectFailedChat } from '../../../models/model-checks.ts'
import { gone, startServer, stopAll } from '../../guarded-server.ts'
import {
  completeTask,
  connect,
  createTask,
  expectOwnFailure,
  expectSound,
  expectTaskFailed,
  expectToldOnly,
  startWorld,
  talkWith,
  type World,
} from '../../run-checks.ts'
import { beginEvents, say, startMcpServer, status, type Handle } from '../../run-http-server.ts'

// HTTP servers that fail their runs, next to a run with a healthy server.

afterEach(stopAll)

type Bad = { url: string; good: string; message: RegExp; token?: string; isAtCall?: boolean }

/** Expects that tasks and chats of both kinds of agents fail. */
async function expectAllFailed(world: World, { good, isAtCall = false, message, token, url }: Bad): Promise<void> {
  const person = await world.service.createPerson()
  const params = { calls: [{ name: 'use' }] }
  const wellIds = [await connect(world, person, { url: good })]
  const beside = completeTask(world, person, { endpointId: 'code.call', params, connectorIds: wellIds })
  const auth = token === undefined ? { type: 'none' } : { type: 'bearer', token }
  const ways = ['code', 'model'].map(async (agentId) => {
    const own = await world.service.createPerson()
    const connectorIds = [await connect(world, own, { name: 'Bad', url, auth })]
    const taskId = await createTask(world, own, { endpointId: `${agentId}.call`, params, connectorIds })
    await (isAtCall ? expectToldOnly : expectTaskFailed)(world, own, { taskId, message })
    const talker = await talkWith(world, { agentId, connectorIds, person: own })
    const expectEnd = isAtCall ? expectOwnFailure : expectFailedChat
    const events = await expectEnd(talker, message, JSON.stringify(params.calls))
    if (token !== undefined) expect(JSON.stringify(events)).not.toContain(token)
  })
  await Promise.all([...ways, beside])
  await expectSound(world)
}

const cut: Handle = (response) => void response.destroy()
const cutJson: Handle = (response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"jsonrpc":"2.0",', () => response.destroy())
}
const cutEvents: Handle = (response) => void beginEvents(response).write(': begun\n\n', () => response.destroy())
const endEvents: Handle = (response) => void beginEvents(response).end(': nothing\n\n')
const echoAuth =
  (code: number): Handle =>
  (response, message) =>
    status(code, `No access with ${String(message.headers['authorization'])}`)(response, message)

const closed = 'The connector closed the connection'
const oddly = 'The server violated the Model Context Protocol\\. Report this to its operator\\.'
const faults: { what: string; method: string; handle: Handle; says: string }[] = [
  {
    what: '401',
    method: '*',
    handle: echoAuth(401),
    says: 'The server rejected the credentials \\(HTTP 401\\)\\. Update them in the connector\\.',
  },
  {
    what: '403',
    method: 'tools/call',
    handle: echoAuth(403),
    says: 'The server rejected the credentials \\(HTTP 403\\)\\. Update them in the connector\\.',
  },
  {
    what: '404',
    method: '*',
    handle: echoAuth(404),
    says: 'There is no MCP server at this URL \\(HTTP 404\\)\\. Correct the URL\\.',
  },
  {
    what: '500',
    method: 'tools/call',
    handle: echoAuth(500),
    says: 'The server responded with HTTP 500\\. Try again later.',
  },
  { what: 'an HTML page', method: '*', handle: status(200, '<html>Hello</html>', 'text/html'), says: oddly },
  { what: 'broken JSON', method: 'tools/call', handle: status(200, '{"jsonrpc"', 'application/json'), says: oddly },
  { what: 'a reset', method: 'tools/call', handle: cut, says: `${closed} without a response\\. Try again\\.` },
  {
    what: 'truncated JSON',
    method: 'tools/call',
    handle: cutJson,
    says: `${closed} before its response was complete\\. Try again\\.`,
  },
  {
    what: 'a truncated stream',
    method: 'tools/call',
    handle: cutEvents,
    says: `${closed} before its response was complete\\. Try again\\.`,
  },
  {
    what: 'a stream without a response',
    method: 'tools/call',
    handle: endEvents,
    says: 'The server ended its response before it was complete\\. Try again\\.',
  },
  {
    what: 'over 10 MB',
    method: 'tools/call',
    handle: (r, m) => say(r, m, 'x'.repeat(11_000_000)),
    says: 'The connector responded with more than 10 MB\\. Return a smaller response.',
  },
]

test.for(faults)(
  'a server that answers $method with $what fails only its own runs',
  async ({ handle, method, says }) => {
    const [good, bad] = await Promise.all([startMcpServer(), startMcpServer({ [method]: handle })])
    const world = await startWorld({ privateHosts: [good.host, bad.host] })
    const message = new RegExp(`^Connector "Bad": ${says}$`)
    const isAtCall = method === 'tools/call'
    await expectAllFailed(world, {
      good: good.origin,
      url: bad.origin,
      message,
      token: 'users-token-8a7b6c5d',
      isAtCall,
    })
    await world.stop()
  },
)

test('cannot reach a private address by IP, by name or by redirect', async () => {
  const inside = await startServer((response) => void response.end())
  const good = await startMcpServer()
  const leads = await startMcpServer({
    '*': (response) => void response.writeHead(307, { Location: inside.origin }).end(),
  })
  const world = await startWorld({ privateHosts: [good.host, leads.host] })
  const says = (subject: string) =>
    new RegExp(
      `^Connector "Bad": ${subject} has a host that is private or was not found\\. Use a public host, or ask the operator to allow this one\\.$`,
    )
  const url = `https://localhost:${inside.port}`
  await expectAllFailed(world, { good: good.origin, url, message: says('The URL of this connector') })
  const redirect = {
    good: good.origin,
    url: leads.origin,
    message: /^Connector "Bad": The URL that this connector redirects to/,
  }
  await expectAllFailed(world, redirect)
  expect(inside.connections).toEqual([])
  await world.stop()
})

test('a 3 MB response becomes a tool error', async () => {
  const large = await startMcpServer({
    'tools/call': (response, message) => say(response, message, 'x'.repeat(3_000_000)),
  })
  const world = await startWorld({ privateHosts: [large.host] })
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { url: large.origin })]
  const params = { calls: [{ name: 'use' }] }
  const { answers } = await completeTask(world, person, { endpointId: 'code.call', params, connectorIds })
  expect(answers[0]).toMatchObject({
    isError: true,
    text: 'The tool answered with more than 2097152 characters. Request a shorter result.',
  })
  await expectSound(world)
  await world.stop()
})

test('leaving a chat cancels the call, closes the MCP session and charges once', async () => {
  const ended = Promise.withResolvers<void>()
  const slow = await startMcpServer({ 'tools/call': (response) => void response.on('close', () => ended.resolve()) })
  const world = await startWorld({ privateHosts: [slow.host], inThreads: true })
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { url: slow.origin })]
  const talker = await talkWith(world, { agentId: 'code', connectorIds, person })
  const reader = await talker.open('[{"name":"use"}]')
  await reader.until('tool_call')
  await expect.poll(() => slow.requests.some(({ body }) => body.includes('tools/call'))).toBe(true)
  reader.leave()
  await ended.promise
  await talker.settled()
  expect((await talker.charges()).map(({ breakdown }) => breakdown.toolCalls)).toEqual([1])
  await Promise.all(slow.connections.map(gone))
  expect(slow.requests.filter(({ method }) => method === 'DELETE')).toHaveLength(1)
  await expectSound(world)
  await world.stop()
})
