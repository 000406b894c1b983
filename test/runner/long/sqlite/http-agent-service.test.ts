import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ChatReader } from '../../../support/chat-reader.ts'
import { startService, type Person, type TestService } from '../../../support/test-service.ts'
import { answerWith, replyWith, startAgentService, type AgentService, type ServiceAnswer } from '../../agent-service.ts'
import remoteAgents, { remoteUrlVariable } from '../../remote-agents.ts'

const configFile = fileURLToPath(new URL('../../remote-agents.ts', import.meta.url))

type World = { remote: AgentService; service: TestService; person: Person; stop: () => Promise<void> }

/** Starts the complete service with agents in threads, and an HTTP agent that sends this response. */
async function startWorld(answer: ServiceAnswer): Promise<World> {
  const remote = await startAgentService(answer)
  process.env[remoteUrlVariable] = remote.url
  // The threads read the URL from their environment; the catalog does not need it.
  const service = await startService({ config: remoteAgents, configFile, limits: { executionsPerMinute: 0 } })
  const person = await service.createPerson({ balanceUsd: '1.0000' })
  const stop = async () => {
    await service.stop()
    await remote.stop()
    delete process.env[remoteUrlVariable]
  }
  return { remote, service, person, stop }
}

async function openSession({ person, service }: World): Promise<string> {
  const { body } = await service.post('/api/sessions', { agentId: 'remote' }, { key: person.key })
  return body.sessionId
}

const openChat = ({ person, service }: World, sessionId: string) =>
  ChatReader.open({ url: service.url, key: person.key, body: { sessionId, message: 'Hello?' } })

async function balance({ person, service }: World): Promise<{ balanceUsd: string; heldUsd: string }> {
  const { balanceUsd, heldUsd } = (await service.get('/api/account', person.key)).body
  return { balanceUsd, heldUsd }
}

test("the remote service receives the task's id; results other than objects and strings are wrapped", async () => {
  const world = await startWorld((response, request) =>
    answerWith(200, JSON.stringify(request.body.params.value))(response, request),
  )
  const { person, remote, service, stop } = world
  for (const [value, response] of [
    [{ words: 2 }, { words: 2 }],
    ['a text', 'a text'],
    [[1, 2], { result: [1, 2] }],
    [null, { result: null }],
  ]) {
    const task = await service.runTask(person.key, 'remote.run', { value })
    expect(task).toMatchObject({ status: 'completed', response })
    const { body, headers } = remote.requests.at(-1)!
    expect(headers['webhook-id']).toBe(task.id)
    expect(body).toMatchObject({
      taskId: task.id,
      userId: person.userId,
      endpointId: 'remote.run',
      endpoint: 'run',
    })
  }
  expect(await balance(world)).toEqual({ balanceUsd: '0.9600', heldUsd: '0.0000' })
  await stop()
})

test('a task that the remote service rejects fails with its message and is refunded', async () => {
  const world = await startWorld(answerWith(422, '{"message":"That is no text."}'))
  expect(await world.service.runTask(world.person.key, 'remote.run')).toMatchObject({
    status: 'failed',
    error: { code: 'AGENT_ERROR', message: "The agent's service responded with 422: That is no text." },
  })
  expect(world.remote.requests).toHaveLength(1)
  expect(await balance(world)).toEqual({ balanceUsd: '1.0000', heldUsd: '0.0000' })
  await world.stop()
})

const floods: [what: string, answer: ServiceAnswer, message: string][] = [
  [
    'an endless body',
    async (response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' })
      while (!response.destroyed) await new Promise((resolve) => response.write(' '.repeat(1_048_576), resolve))
    },
    'more than 50 MB. Return a smaller response.',
  ],
  [
    'too many values',
    answerWith(200, `[${'0,'.repeat(3_000_000)}0]`),
    'more than 3000000 values. Return a smaller result.',
  ],
]

test.each(floods)('a remote service sending %s fails its task with AGENT_OUTPUT_TOO_LARGE', async (...of) => {
  const [, answer, more] = of
  const world = await startWorld(answer)
  const message = `The agent's service responded with ${more}`
  expect(await world.service.runTask(world.person.key, 'remote.run')).toMatchObject({
    status: 'failed',
    error: { code: 'AGENT_OUTPUT_TOO_LARGE', message, details: '' },
  })
  expect(await balance(world)).toEqual({ balanceUsd: '1.0000', heldUsd: '0.0000' })
  await world.stop()
})

test.each([
  ['a chunked body', {}],
  ['a body with Content-Length', { 'Content-Length': 100 }],
])('a task whose response is cut off within %s fails with AGENT_ERROR and is refunded', async (_, headers) => {
  const world = await startWorld((response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', ...headers })
    response.write('{"words":', () => response.socket!.destroy())
  })
  const { person, service, stop } = world
  expect(await service.runTask(person.key, 'remote.run', {})).toMatchObject({
    status: 'failed',
    error: { code: 'AGENT_ERROR', message: expect.stringContaining('closed the connection before its response') },
  })
  expect(await balance(world)).toEqual({ balanceUsd: '1.0000', heldUsd: '0.0000' })
  await stop()
})

test('a timed-out task fails, is refunded and closes its connection', async () => {
  const left = Promise.withResolvers<void>()
  const world = await startWorld((response) => void response.once('close', left.resolve))
  expect(await world.service.runTask(world.person.key, 'remote.brief')).toMatchObject({
    status: 'failed',
    error: { code: 'AGENT_TIMEOUT' },
  })
  await left.promise
  expect(await balance(world)).toEqual({ balanceUsd: '1.0000', heldUsd: '0.0000' })
  await world.stop()
})

test("a remote reply is streamed, charged and part of the next turn's history", async () => {
  const parts = [
    { type: 'tool-call', id: 'c1', name: 'look', arguments: {} },
    { type: 'tool-result', id: 'c1', output: 7 },
    { type: 'text', delta: 'Grüße ☃' },
    { type: 'usage', promptTokens: 1000, completionTokens: 500 },
  ]
  const world = await startWorld(replyWith(...parts.map((part) => `${JSON.stringify(part)}\r\n`)))
  const sessionId = await openSession(world)
  const events = await (await openChat(world, sessionId)).all()
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['tool_call', 'tool_result', 'assistant_delta']),
  )
  expect(events.find(({ type }) => type === 'tool_result').toolResult).toEqual({ id: 'c1', output: { result: 7 } })
  expect(events.at(-1)).toMatchObject({ type: 'done', costUsd: '0.2500' })
  expect(await balance(world)).toEqual({ balanceUsd: '0.7500', heldUsd: '0.0000' })
  await (await openChat(world, sessionId)).all()
  expect(world.remote.requests.map(({ body }) => body.history)).toEqual([
    [],
    [
      { role: 'user', content: 'Hello?' },
      { role: 'assistant', content: 'Grüße ☃' },
    ],
  ])
  await world.stop()
})

test.each<[string, ServiceAnswer, string]>([
  [
    'is cut off in the middle',
    (response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
      response.write('{"type":"text","delta":"Half a"}\n', () => response.socket!.end())
    },
    "The agent's service closed the connection before its response was complete. Try again.",
  ],
  [
    'ends with an error',
    replyWith('{"type":"text","delta":"Half a"}\n', '{"type":"error","message":"The model is away."}\n'),
    'The model is away.',
  ],
  [
    'has a line of an unknown type',
    replyWith('{"type":"text","delta":"Half a"}\n', '{"type":"image"}\n'),
    'The agent yielded a part of unknown type "image". Use text, reasoning, tool-call, tool-result or usage.',
  ],
])('a reply that %s fails the turn and leaves the session unchanged', async (_, answer, message) => {
  const world = await startWorld(answer)
  const sessionId = await openSession(world)
  const events = await (await openChat(world, sessionId)).all()
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'AGENT_ERROR', message } })
  const { body } = await world.service.get(`/api/sessions/${sessionId}`, world.person.key)
  expect(body.messageCount).toBe(0)
  expect((await balance(world)).heldUsd).toBe('0.0000')
  await world.stop()
})

test('a client that leaves closes the remote connection and pays for the received part', async () => {
  const left = Promise.withResolvers<void>()
  const world = await startWorld((response) => {
    response.once('close', left.resolve)
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    response.write(`${JSON.stringify({ type: 'text', delta: 'word '.repeat(200) })}\n`)
  })
  const reader = await openChat(world, await openSession(world))
  await reader.until('assistant_delta')
  reader.leave()
  await left.promise
  await expect.poll(async () => (await balance(world)).heldUsd, { timeout: 20_000 }).toBe('0.0000')
  expect(Number((await balance(world)).balanceUsd)).toBeLessThan(1)
  await world.stop()
})
