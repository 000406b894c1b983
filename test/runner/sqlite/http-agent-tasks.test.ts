import { expect, test } from 'vitest'
import { httpRun } from '../../../server/agents/http/http-agent.ts'
import { httpLimits, toHttpService } from '../../../server/agents/http/http-service.ts'
import { runHttpTask } from '../../../server/agents/http/http-task.ts'
import {
  agentAt,
  answerWith,
  startAgentService,
  startTcpService,
  taskRun,
  type AgentService,
  type ServiceAnswer,
} from '../agent-service.ts'

/** Runs a task and returns its value or failure message. */
async function outcomeOf(service: AgentService): Promise<{ value?: unknown; failure?: string }> {
  try {
    return { value: await httpRun(agentAt(service.url), 'count')(taskRun()) }
  } catch (error) {
    return { failure: (error as Error).message }
  } finally {
    await service.stop()
  }
}

const outcomeOfAnswer = async (answer: ServiceAnswer) => outcomeOf(await startAgentService(answer))

/** Does the same with a response of raw bytes, after which the connection ends. */
const outcomeOfBytes = async (bytes: string) =>
  outcomeOf(
    await startTcpService((socket) => {
      socket.once('data', () => socket.end(bytes))
    }),
  )

test('posts a task with all its data, and the response is its value', async () => {
  const service = await startAgentService(answerWith(200, '{"words":2}'))
  const params = { text: 'Ahoi ☃', at: new Date(0) }
  expect(await httpRun(agentAt(`${service.url}run?v=1`), 'count')(taskRun({ params }))).toEqual({ words: 2 })
  await service.stop()
  expect(service.requests).toHaveLength(1)
  const { body, headers, url } = service.requests[0]!
  expect(url).toBe('/run?v=1')
  expect(body).toEqual({
    type: 'task',
    endpointId: 'remote.count',
    endpoint: 'count',
    taskId: 'task_1',
    userId: 'user_1',
    params: { text: 'Ahoi ☃', at: '1970-01-01T00:00:00.000Z' },
  })
  expect(headers).toMatchObject({
    host: new URL(service.url).host,
    'content-type': 'application/json',
    accept: 'application/json, application/x-ndjson',
    'webhook-id': 'task_1',
  })
  expect(headers.cookie).toBeUndefined()
  expect(headers.authorization).toBeUndefined()
})

test.each(['{"a":[1,{"b":null}]}', '"a text"', '42', 'null', 'true', '[1,2]', ' {"☃":"Grüße"}\r\n'])(
  "the JSON %s becomes the task's value unchanged",
  async (json) => {
    expect(await outcomeOfAnswer(answerWith(200, json))).toEqual({ value: JSON.parse(json) })
    const typed = { 'Content-Type': 'Application/JSON; charset=utf-8' }
    expect(await outcomeOfAnswer(answerWith(200, json, typed))).toEqual({ value: JSON.parse(json) })
  },
)

test('keeps a character split across chunks intact', async () => {
  const bytes = Buffer.from('{"text":"☃"}')
  const outcome = await outcomeOfAnswer(async (response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    for (const byte of bytes) await new Promise((resolve) => response.write(Buffer.of(byte), resolve))
    response.end()
  })
  expect(outcome).toEqual({ value: { text: '☃' } })
})

test.each<[string, ServiceAnswer, string]>([
  ['500', answerWith(500, ''), 'responded with 500.'],
  ['502 in HTML', answerWith(502, '<h1>Bad gateway</h1>', { 'Content-Type': 'text/html' }), 'responded with 502.'],
  ['404 with a message', answerWith(404, '{"message":"No such thing."}'), 'responded with 404: No such thing.'],
  ['400 with an error', answerWith(400, '{"error":"bad text"}'), 'responded with 400: bad text'],
  ['422 with a nested error', answerWith(422, '{"error":{"message":"Too short."}}'), 'responded with 422: Too short.'],
  ['500 with broken JSON', answerWith(500, '{"message":'), 'responded with 500.'],
  ['500 with null', answerWith(500, 'null'), 'responded with 500.'],
  ['500 with a number as message', answerWith(500, '{"message":7}'), 'responded with 500.'],
  ['500 with a huge body', answerWith(500, JSON.stringify({ message: 'x'.repeat(100_000) })), 'responded with 500.'],
  [
    '500 with a long message',
    answerWith(500, JSON.stringify({ message: 'x'.repeat(3000) })),
    `responded with 500: ${'x'.repeat(1000)}…`,
  ],
  ['201', answerWith(201, '{}'), 'responded with 201.'],
  ['204', answerWith(204, ''), 'responded with 204.'],
  ['an empty body', answerWith(200, ''), 'responded with an empty body. Send the result as JSON.'],
  ['invalid JSON', answerWith(200, '{"a":1'), 'responded with a body that is not JSON. Send the result as JSON.'],
  [
    'invalid UTF-8',
    answerWith(200, Buffer.from([0x22, 0xff, 0x22])),
    'responded with a body that is not JSON. Send the result as JSON.',
  ],
  [
    'HTML',
    answerWith(200, '<p>Hello</p>', { 'Content-Type': 'text/html; charset=utf-8' }),
    'responded with the content type text/html. Send the Content-Type application/json or application/x-ndjson.',
  ],
  [
    'no content type',
    (response) => void response.writeHead(200).end('{}'),
    'responded with no content type. Send the Content-Type application/json or application/x-ndjson.',
  ],
  [
    'gzip',
    answerWith(200, '{}', { 'Content-Encoding': 'gzip' }),
    'sent a compressed response. Turn off compression there.',
  ],
  [
    'more than 50 MB according to Content-Length',
    (response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 50 * 1024 * 1024 + 1 })
      response.write('"')
    },
    'responded with more than 50 MB. Return a smaller response.',
  ],
  [
    'a body cut off between chunks',
    (response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' })
      response.write('{}', () => response.socket!.end())
    },
    'closed the connection before its response was complete. Try again.',
  ],
  [
    'a body cut off before the announced length',
    (response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 10 })
      response.write('{}', () => response.socket!.destroy())
    },
    'closed the connection before its response was complete. Try again.',
  ],
  ['no bytes', (response) => void response.socket!.destroy(), 'closed the connection without a response. Try again.'],
])('a response of %s fails the task', async (_, answer, ending) => {
  expect(await outcomeOfAnswer(answer)).toEqual({ failure: `The agent's service ${ending}` })
})

test.each<[string, string, string]>([
  ['another protocol', 'SSH-2.0-OpenSSH_9.9\r\n', 'sent a response that is not HTTP. Check the URL.'],
  ['truncated headers', 'HTTP/1.1 200 OK\r\nContent-Ty', 'closed the connection without a response. Try again.'],
  [
    'a chunk without a size',
    'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
    'closed the connection before its response was complete. Try again.',
  ],
  [
    'endless headers',
    `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(10_000)}`,
    'sent a response that is not HTTP. Check the URL.',
  ],
  [
    'an upgrade',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
    'responded with 101.',
  ],
])('a response of raw bytes fails the task: %s', async (_, bytes, ending) => {
  expect(await outcomeOfBytes(bytes)).toEqual({ failure: `The agent's service ${ending}` })
})

test('accepts an HTTP/1.0 response that ends when the connection closes, also after a 103', async () => {
  const head = 'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n'
  expect(await outcomeOfBytes(`${head}{"a":1}`)).toEqual({ value: { a: 1 } })
  expect(await outcomeOfBytes(`HTTP/1.1 103 Early Hints\r\n\r\n${head}{"a":1}`)).toEqual({ value: { a: 1 } })
})

test.each([301, 302, 303, 307, 308])(
  'a redirect with %i fails the task without contacting the target',
  async (status) => {
    const target = await startAgentService(answerWith(200, '{}'))
    const outcome = await outcomeOfAnswer(answerWith(status, '', { Location: target.url }))
    expect(outcome.failure).toBe(
      `The agent's service responded with a redirect (${status}). Set the agent's url to the final URL.`,
    )
    expect(target.connections).toHaveLength(0)
    await target.stop()
  },
)

test('aborts an endless body at the size limit and closes the connection', async () => {
  const left = Promise.withResolvers<void>()
  const service = await startAgentService(async (response) => {
    response.once('close', left.resolve)
    response.writeHead(200, { 'Content-Type': 'application/json' })
    while (!response.destroyed) await new Promise((resolve) => response.write('x'.repeat(65_536), resolve))
  })
  const limits = { ...httpLimits, taskBytesMax: 1024 * 1024 }
  const task = { service: toHttpService(agentAt(service.url)), agentId: 'remote', name: 'count', limits }
  await expect(runHttpTask({ ...task, run: taskRun() })).rejects.toThrow(
    "The agent's service responded with more than 1 MB. Return a smaller response.",
  )
  await left.promise
  await service.stop()
})

test('rejects responses with too many values before parsing, but accepts long strings', async () => {
  const failure = "The agent's service responded with more than 3000000 values. Return a smaller result."
  const numbers = `[${'0,'.repeat(3_000_000)}0]`
  const lists = `{"a":[${'[],'.repeat(1_500_000)}0]}`
  expect(await outcomeOfAnswer(answerWith(200, numbers))).toEqual({ failure })
  expect(await outcomeOfAnswer(answerWith(200, lists))).toEqual({ failure })
  const text = '",[{\\'.repeat(1_000_000)
  expect(await outcomeOfAnswer(answerWith(200, JSON.stringify({ text })))).toEqual({ value: { text } })
})

test('does not wait for an error response whose body never ends', async () => {
  const service = await startAgentService((response) => {
    response.writeHead(503, { 'Content-Type': 'application/json' })
    response.write('{"message":"')
  })
  const limits = { ...httpLimits, refusalMs: 50 }
  const task = { service: toHttpService(agentAt(service.url)), agentId: 'remote', name: 'count', limits }
  await expect(runHttpTask({ ...task, run: taskRun() })).rejects.toThrow(/^The agent's service responded with 503\.$/)
  await service.stop()
})

test('each task has its own connection, closed after the response', async () => {
  const service = await startAgentService(answerWith(200, '{}'))
  const run = httpRun(agentAt(service.url), 'count')
  for (let n = 0; n < 3; n++) await run(taskRun())
  await expect.poll(() => service.connections.filter((socket) => !socket.destroyed)).toEqual([])
  expect(service.connections).toHaveLength(3)
  await service.stop()
})
