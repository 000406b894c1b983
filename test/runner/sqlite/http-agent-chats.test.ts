import { expect, test } from 'vitest'
import { httpReply } from '../../../server/agents/http/http-agent.ts'
import { runHttpChat } from '../../../server/agents/http/http-chat.ts'
import { httpLimits, toHttpService } from '../../../server/agents/http/http-service.ts'
import {
  agentAt,
  answerWith,
  chatRun,
  readReply,
  replyWith,
  startAgentService,
  startTcpService,
  type AgentService,
  type ServiceAnswer,
} from '../agent-service.ts'

async function outcomeOf(service: AgentService) {
  const outcome = await readReply(httpReply(agentAt(service.url))(chatRun()))
  await service.stop()
  return outcome
}

const outcomeOfAnswer = async (answer: ServiceAnswer) => outcomeOf(await startAgentService(answer))

const hello = '{"type":"text","delta":"Grüße ☃"}'
const helloPart = { type: 'text', delta: 'Grüße ☃' }

test('posts a chat with all its data, and each response line is a part', async () => {
  const parts = [
    { type: 'reasoning', delta: 'Hm.' },
    { type: 'tool-call', id: 'c1', name: 'look', arguments: { at: '☃' } },
    { type: 'tool-result', id: 'c1', output: [1, 2] },
    { type: 'text', delta: 'Two.' },
    { type: 'usage', promptTokens: 5, completionTokens: 7, reasoningTokens: 1 },
  ]
  const service = await startAgentService(replyWith(...parts.map((part) => `${JSON.stringify(part)}\n`)))
  const history = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Ho' },
  ] as const
  const run = chatRun({ history, params: { temperature: 0.5, maxTokens: 9 } })
  expect(await readReply(httpReply(agentAt(service.url))(run))).toEqual({ parts, failure: '' })
  await service.stop()
  expect(service.requests).toHaveLength(1)
  const { body, headers } = service.requests[0]!
  expect(body).toEqual({
    type: 'chat',
    sessionId: 'session_1',
    turnId: 'turn_1',
    userId: 'user_1',
    message: 'Hello?',
    history,
    params: { temperature: 0.5, maxTokens: 9 },
  })
  expect(headers).toMatchObject({ accept: 'application/x-ndjson', 'webhook-id': 'turn_1' })
})

test.each<[string, (string | Buffer)[]]>([
  ['in one chunk', [`${hello}\n${hello}\n`]],
  ['byte by byte', [...Buffer.from(`${hello}\n${hello}\n`)].map((byte) => Buffer.of(byte))],
  ['with CRLF', [`${hello}\r\n${hello}\r\n`]],
  ['without a final newline', [`${hello}\n`, hello]],
  ['with blank lines', [`\n\n${hello}\n`, '\n', `\r\n${hello}\n\n`]],
])('reads a reply %s completely', async (_, pieces) => {
  expect(await outcomeOfAnswer(replyWith(...pieces))).toEqual({ parts: [helloPart, helloPart], failure: '' })
})

test('accepts an empty reply, and a reply with Content-Length', async () => {
  expect(await outcomeOfAnswer(replyWith())).toEqual({ parts: [], failure: '' })
  const fixed = answerWith(200, hello, { 'Content-Type': 'application/x-ndjson; charset=utf-8' })
  expect(await outcomeOfAnswer(fixed)).toEqual({ parts: [helloPart], failure: '' })
})

test.each<[string, string, string]>([
  ['is not JSON', 'data: {}', "The agent's service sent a line that is not JSON. Send one JSON object per line."],
  [
    'is truncated',
    hello.slice(0, -5),
    "The agent's service sent a line that is not JSON. Send one JSON object per line.",
  ],
  ['is a number', '7', "The agent's service sent a line that is not a JSON object. Send one JSON object per line."],
  ['is an array', '[]', "The agent's service sent a line that is not a JSON object. Send one JSON object per line."],
  ['is null', 'null', "The agent's service sent a line that is not a JSON object. Send one JSON object per line."],
  ['is an error', '{"type":"error","message":"The model is away."}', 'The model is away.'],
  [
    'is an error without a message',
    '{"type":"error"}',
    "The agent's service reported an error without a message. Check that service's log.",
  ],
  [
    'is an error with a number',
    '{"type":"error","message":5}',
    "The agent's service reported an error without a message. Check that service's log.",
  ],
])('a line that %s fails the turn after the earlier parts, ignoring the rest', async (_, line, failure) => {
  expect(await outcomeOfAnswer(replyWith(`${hello}\n`, `${line}\n`, `${hello}\n`))).toEqual({
    parts: [helloPart],
    failure,
  })
  expect(await outcomeOfAnswer(replyWith(`${hello}\n${line}`))).toEqual({ parts: [helloPart], failure })
})

const streaming = { 'Content-Type': 'application/x-ndjson' }

test.each<[string, ServiceAnswer, string, number]>([
  [
    'is cut off between two lines',
    (response) => {
      response.writeHead(200, streaming)
      response.write(`${hello}\n`, () => response.socket!.end())
    },
    'closed the connection before its response was complete. Try again.',
    1,
  ],
  [
    'is cut off within a line',
    (response) => {
      response.writeHead(200, streaming)
      response.write(`${hello}\n${hello}`, () => response.socket!.end())
    },
    'closed the connection before its response was complete. Try again.',
    1,
  ],
  [
    'is cut off before the announced length',
    (response) => {
      response.writeHead(200, { ...streaming, 'Content-Length': 1000 })
      response.write(`${hello}\n`, () => response.socket!.end())
    },
    'closed the connection before its response was complete. Try again.',
    1,
  ],
  [
    'is JSON',
    answerWith(200, hello),
    'responded with the content type application/json. Send the Content-Type application/x-ndjson.',
    0,
  ],
  ['is a rejection', answerWith(429, '{"message":"Slowly."}'), 'responded with 429: Slowly.', 0],
  [
    'is a redirect',
    answerWith(307, '', { Location: '/' }),
    "responded with a redirect (307). Set the agent's url to the final URL.",
    0,
  ],
  [
    'is not UTF-8',
    replyWith(`${hello}\n`, Buffer.from('{"type":"text","delta":"\xff"}\n', 'latin1')),
    'sent a line that is not UTF-8. Encode its response in UTF-8.',
    1,
  ],
])('a reply that %s fails the turn', async (_, answer, ending, parts) => {
  expect(await outcomeOfAnswer(answer)).toEqual({
    parts: Array.from({ length: parts }, () => helloPart),
    failure: `The agent's service ${ending}`,
  })
})

test('rejects a reply delimited by connection close, which could be truncated', async () => {
  const service = await startTcpService((socket) => {
    socket.once('data', () => socket.end(`HTTP/1.0 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n${hello}\n`))
  })
  expect(await outcomeOf(service)).toEqual({
    parts: [],
    failure:
      "The agent's service sent a reply without Transfer-Encoding or Content-Length. Send it with Transfer-Encoding: chunked.",
  })
})

test.each([
  ['line', `{"type":"text","delta":"`, 'x'.repeat(65_536), 'a line of more than 10 MB. Split it into shorter lines.'],
  ['sequence of blank lines', '', '\n'.repeat(65_536), 'more than 10 MB of blank lines. Send fewer blank lines.'],
])('an endless %s fails the turn and closes the connection', async (_, start, more, what) => {
  const left = Promise.withResolvers<void>()
  const service = await startAgentService(async (response) => {
    response.once('close', left.resolve)
    response.writeHead(200, streaming)
    response.write(`${hello}\n${start}`)
    while (!response.destroyed) await new Promise((resolve) => response.write(more, resolve))
  })
  const { failure, parts } = await readReply(httpReply(agentAt(service.url))(chatRun()))
  expect(parts).toEqual([helloPart])
  expect(failure).toBe(`The agent's service sent ${what}`)
  await left.promise
  await service.stop()
})

test('a late first response fails the turn; a started reply may take longer', async () => {
  const left = Promise.withResolvers<void>()
  const slow = await startAgentService((response) => void response.once('close', left.resolve))
  const chat = { run: chatRun(), limits: { ...httpLimits, chatHeadMs: 100 } }
  const silent = await readReply(runHttpChat({ service: toHttpService(agentAt(slow.url)), ...chat }))
  expect(silent).toEqual({
    parts: [],
    failure: "The agent's service did not start to respond within 0.1 seconds. Try again later.",
  })
  await left.promise
  await slow.stop()

  const pensive = await startAgentService((response) => {
    response.writeHead(200, streaming).flushHeaders()
    setTimeout(() => response.end(`${hello}\n`), 300)
  })
  const late = await readReply(runHttpChat({ service: toHttpService(agentAt(pensive.url)), ...chat }))
  expect(late).toEqual({ parts: [helloPart], failure: '' })
  await pensive.stop()
})

test('a part reaches the reader when sent, not when the reply ends', async () => {
  const taken = Promise.withResolvers<void>()
  const service = await startAgentService(async (response) => {
    response.writeHead(200, streaming)
    response.write(`${hello}\n`)
    await taken.promise
    response.end(`${hello}\n`)
  })
  const parts = httpReply(agentAt(service.url))(chatRun())[Symbol.asyncIterator]()
  expect((await parts.next()).value).toEqual(helloPart)
  taken.resolve()
  expect((await parts.next()).value).toEqual(helloPart)
  expect((await parts.next()).done).toBe(true)
  await service.stop()
})

test('reads a response no faster than its parts are consumed', async () => {
  const line = `${JSON.stringify({ type: 'text', delta: 'x'.repeat(10_000) })}\n`
  const total = 64 * 1024 * 1024
  let written = 0
  let hasStalled = Promise.withResolvers<void>()
  const service = await startAgentService(async (response) => {
    response.writeHead(200, streaming)
    for (; written < total; written += line.length) {
      if (response.write(line)) continue
      // Nothing has drained for many ticks, so all buffers are full.
      const stall = setTimeout(() => hasStalled.resolve(), 500)
      await new Promise((resolve) => response.once('drain', resolve))
      clearTimeout(stall)
    }
    response.end()
  })
  const parts = httpReply(agentAt(service.url))(chatRun())[Symbol.asyncIterator]()
  await parts.next()
  await hasStalled.promise
  expect(written).toBeLessThan(total / 2)
  const before = written
  hasStalled = Promise.withResolvers()
  for (let read = 0; read < total / 4; read += line.length) await parts.next()
  await hasStalled.promise
  expect(written).toBeGreaterThan(before)
  expect(written).toBeLessThan(total)
  await parts.return?.()
  await service.stop()
})

test('a reader that leaves closes the connection', async () => {
  const left = Promise.withResolvers<void>()
  const service = await startAgentService((response) => {
    response.once('close', left.resolve)
    response.writeHead(200, streaming)
    response.write(`${hello}\n`)
  })
  for await (const part of httpReply(agentAt(service.url))(chatRun())) {
    expect(part).toEqual(helloPart)
    break
  }
  await left.promise
  await service.stop()
})
