import { afterEach, expect, test } from 'vitest'
import { stopAll } from '../../guarded-server.ts'
import {
  completeTask,
  connect,
  createTask,
  endOf,
  expectSound,
  expectTaskFailed,
  expectToldOnly,
  startWorld,
  talkWith,
} from '../../run-checks.ts'
import { expectFailedChat } from '../../../models/model-checks.ts'
import { expectOneEnd } from '../../../chat/chat-checks.ts'
import { operatorKey } from '../../run-agents.ts'
import { json, startMcpServer } from '../../run-http-server.ts'

afterEach(stopAll)

test.for(['code', 'model'])(
  "an error when listing tools fails a %s agent's run without leaking secrets",
  async (agentId) => {
    const world = await startWorld()
    const person = await world.service.createPerson()
    const auth = { type: 'bearer', token: 'users-token-8a7b6c5d' }
    const connectorIds = [await connect(world, person, { name: 'Bad', server: 'list-error', auth })]
    const message =
      /^Connector "Bad": The server returned an error instead of a list of its tools\. Report this to its operator\.$/
    const taskId = await createTask(world, person, { endpointId: `${agentId}.call`, params: {}, connectorIds })
    await expectTaskFailed(world, person, { taskId, message })
    const talker = await talkWith(world, { agentId, connectorIds, person })
    const events = await expectFailedChat(talker, message, '[]')
    const tools = await world.service.get(`/api/connectors/${connectorIds[0]}/tools`, person.key)
    expect(tools.status).toBe(424)
    expect(tools.body.message).toMatch(message)
    expect(JSON.stringify([events, tools.body])).not.toMatch(/users-token|operator-key/)
    expect(operatorKey).toMatch(/operator-key/)
    await expectSound(world)
    await world.stop()
  },
)

const oddSecrets = [
  {
    what: 'with quotes, inside a JSON string',
    token: 'quo"ted\\token-123',
    server: 'keyed',
    name: 'get-env',
    left: /ted\\+token-123/,
  },
  { what: 'that is a number', token: '12345678', server: 'leaky', name: 'count', left: /12345678|Unexpected token/ },
]

test.for(oddSecrets)('hides a secret $what without breaking the result', async ({ left, name, server, token }) => {
  const world = await startWorld()
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { server, auth: { type: 'bearer', token } })]
  const { answers } = await completeTask(world, person, {
    endpointId: 'code.call',
    params: { calls: [{ name }] },
    connectorIds,
  })
  expect(answers[0].isError).toBe(false)
  expect(JSON.stringify(answers)).not.toMatch(left)
  expect(JSON.stringify(answers)).toContain('…')
  await expectSound(world)
  await world.stop()
})

test('replaces both of two secrets with the same prefix', async () => {
  const server = await startMcpServer({
    'tools/call': (response, { headers, id }) =>
      json(response, { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: String(headers['x-b']) }] } }),
  })
  const world = await startWorld({ privateHosts: [server.host] })
  const person = await world.service.createPerson()
  const auth = { type: 'headers', headers: { 'X-A': 'secret', 'X-B': 'secret-and-more' } }
  const connectorIds = [await connect(world, person, { url: server.origin, auth })]
  const { answers } = await completeTask(world, person, {
    endpointId: 'code.call',
    params: { calls: [{ name: 'use' }] },
    connectorIds,
  })
  expect(answers[0].text).toBe('…')
  await world.stop()
})

const largeAnswers = [
  { name: 'refuse', args: { chars: 9_000_000 }, text: /^a must be a number!{3000,}$/ },
  { name: 'nest', args: { levels: 501 }, text: /(?:has|have) more than \d+ levels of nesting\. / },
]

test.for(largeAnswers)('a result of $name is limited in size and still passed on', async ({ args, name, text }) => {
  const world = await startWorld()
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { server: 'serve' })]
  const calls = [{ name, args }]
  const { answers } = await completeTask(world, person, { endpointId: 'code.call', params: { calls }, connectorIds })
  expect(answers[0]).toMatchObject({ isError: true, text: expect.stringMatching(text) })
  expect(answers[0].text.length).toBeLessThan(10_000)
  const talker = await talkWith(world, { agentId: 'model', connectorIds, person })
  expectOneEnd(await talker.chat(JSON.stringify(calls)), 'done')
  await expectSound(world)
  await world.stop()
})

const refusals = [
  {
    method: 'initialize',
    code: 401,
    says: 'The server rejected the credentials \\(HTTP 401\\)\\. Update them in the connector\\.',
  },
  {
    method: 'tools/call',
    code: 401,
    says: 'The server rejected the credentials \\(HTTP 401\\)\\. Update them in the connector\\.',
  },
  { method: 'tools/call', code: 404, says: 'There is no MCP server at this URL \\(HTTP 404\\)\\. Correct the URL\\.' },
  { method: 'tools/call', code: 500, says: 'The server responded with HTTP 500\\. Try again later.' },
]

test.for(refusals)('status $code to $method is an error, even with a protocol error in the body', async (refusal) => {
  const { code, method, says } = refusal
  const server = await startMcpServer({
    [method]: (response, { id }) =>
      json(response, { jsonrpc: '2.0', id, error: { code: -32001, message: 'Session not found' } }, code),
  })
  const world = await startWorld({ privateHosts: [server.host] })
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { name: 'Bad', url: server.origin })]
  const task = { endpointId: 'code.call', params: { calls: [{ name: 'use' }] }, connectorIds }
  const taskId = await createTask(world, person, task)
  const expectTask = method === 'tools/call' ? expectToldOnly : expectTaskFailed
  await expectTask(world, person, { taskId, message: new RegExp(`^Connector "Bad": ${says}$`) })
  await expectSound(world)
  await world.stop()
})
void endOf
