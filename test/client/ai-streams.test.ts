import { expect, test } from 'vitest'
import {
  ErrandChatTransport,
  toUIMessages,
  toUIMessageStream,
  toUIMessageStreamResponse,
  type ChatEnd,
} from '../../client/ai-sdk/ai-sdk.ts'
import { createClient, type ChatEvent } from '../../client/client.ts'
import {
  delta,
  done,
  failed,
  hello,
  reasoning,
  startChatStub,
  startStream,
  streamRefusal,
  toLine,
  toolCall,
  toolResult,
  usage,
} from './chat-answers.ts'
import { answer, result, startStub, type StubAnswer } from './stub-server.ts'

// Conversion of a reply for a `useChat` page, as a stream and as a route's response.

const turnId = 'turn_1'

function reply(...events: ChatEvent[]): StubAnswer {
  const lines = events.map((event, index) => toLine({ ...event, seq: index + 1 }))
  return (response) => void startStream(response, { 'Errand-Turn-Id': turnId }).end(lines.join(''))
}

/** Returns the response's events as the page parses them. */
async function chunksOf(response: Response): Promise<unknown[]> {
  const messages = (await response.text()).split('\n\n')
  expect(messages.splice(-2)).toEqual(['data: [DONE]', ''])
  return messages.map((message) => JSON.parse(message.slice('data: '.length)))
}

async function listOf(stream: ReadableStream<unknown>): Promise<unknown[]> {
  const chunks: unknown[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

const events = [
  reasoning('Let me '),
  reasoning('see.'),
  delta('One '),
  toolCall('a', { at: 1 }),
  toolCall('b', { at: 2 }),
  toolResult('b', { seen: 2 }),
  delta('two'),
  delta(' three.'),
]
const call = { dynamic: true, providerExecuted: true }
const chunks = [
  { type: 'start', messageId: turnId, messageMetadata: { turnId } },
  { type: 'reasoning-start', id: '1' },
  { type: 'reasoning-delta', id: '1', delta: 'Let me ' },
  { type: 'reasoning-delta', id: '1', delta: 'see.' },
  { type: 'reasoning-end', id: '1' },
  { type: 'text-start', id: '2' },
  { type: 'text-delta', id: '2', delta: 'One ' },
  { type: 'text-end', id: '2' },
  { type: 'tool-input-available', toolCallId: 'a', toolName: 'search', input: { at: 1 }, ...call },
  { type: 'tool-input-available', toolCallId: 'b', toolName: 'search', input: { at: 2 }, ...call },
  { type: 'tool-output-available', toolCallId: 'b', output: { seen: 2 }, ...call },
  { type: 'text-start', id: '3' },
  { type: 'text-delta', id: '3', delta: 'two' },
  { type: 'text-delta', id: '3', delta: ' three.' },
  { type: 'text-end', id: '3' },
]

test('converts a reply to UI parts, ending with usage and cost', async () => {
  const { client, stub } = await startChatStub(reply(...events, done))
  const end = { type: 'finish', finishReason: 'stop', messageMetadata: { turnId, usage, costUsd: '0.0123' } }
  expect(await listOf(toUIMessageStream(client.chat.stream(hello)))).toEqual([...chunks, end])
  const response = await toUIMessageStreamResponse(client.chat.stream(hello), { headers: { 'x-own': '1' } })
  expect(response.status).toBe(200)
  expect(Object.fromEntries(response.headers)).toEqual({
    'cache-control': 'no-store',
    'content-type': 'text/event-stream',
    'x-accel-buffering': 'no',
    'x-own': '1',
    'x-vercel-ai-ui-message-stream': 'v1',
  })
  expect(await chunksOf(response)).toEqual([...chunks, end])
  await stub.stop()
})

test('a failed reply reports its cost, and onError chooses the error text', async () => {
  const { client, stub } = await startChatStub(reply(...events, failed))
  const metadata = {
    type: 'message-metadata',
    messageMetadata: { turnId, costUsd: '0.0007', errorCode: 'AGENT_ERROR' },
  }
  const plain = await listOf(toUIMessageStream(client.chat.stream(hello)))
  expect(plain).toEqual([...chunks, metadata, { type: 'error', errorText: 'The agent failed.' }])
  const onError = (error: object) => JSON.stringify(error)
  const told = await chunksOf(await toUIMessageStreamResponse(client.chat.stream(hello), { onError }))
  const errorText = '{"code":"AGENT_ERROR","message":"The agent failed.","costUsd":"0.0007"}'
  expect(told.slice(-2)).toEqual([metadata, { type: 'error', errorText }])
  await stub.stop()
})

test('a rejection keeps its status and message in a route, and is the only chunk of a stream', async () => {
  const { client, stub } = await startChatStub(streamRefusal(429, 'RATE_LIMIT_EXCEEDED', { 'Retry-After': '7' }))
  const response = await toUIMessageStreamResponse(client.chat.stream(hello))
  expect([response.status, response.headers.get('retry-after'), await response.text()]).toEqual([429, '7', 'No.'])
  const onError = ({ code }: { code: string }) => code
  const other = await toUIMessageStreamResponse(client.chat.stream(hello), { onError })
  expect(await other.text()).toBe('RATE_LIMIT_EXCEEDED')
  const only = await listOf(toUIMessageStream(client.chat.stream(hello)))
  expect(only).toEqual([{ type: 'error', errorText: 'No.' }])
  await stub.stop()
  const away = createClient({ baseUrl: stub.url, apiKey: 'key', maxRetries: 0 })
  expect((await toUIMessageStreamResponse(away.chat.stream(hello))).status).toBe(502)
})

test('a session without a reply in progress gives 204 and no chunks', async () => {
  const { client, stub } = await startChatStub(answer(204, ''))
  const response = await toUIMessageStreamResponse(client.chat.resumeSession(hello))
  expect([response.status, await response.text()]).toEqual([204, ''])
  expect(await listOf(toUIMessageStream(client.chat.resumeSession(hello)))).toEqual([])
  await stub.stop()
})

test('a route responds before the first event; a reader that leaves cancels the request for the reply', async () => {
  const left = Promise.withResolvers<void>()
  const stub = await startStub((response) => {
    response.once('close', () => left.resolve())
    startStream(response, { 'Errand-Turn-Id': turnId }).flushHeaders()
  })
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  const response = await toUIMessageStreamResponse(client.chat.stream(hello))
  const reader = response.body!.getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toContain('"type":"start"')
  await reader.cancel()
  await left.promise
  await stub.stop()
})

test('sends the files of a message from their data URLs', async () => {
  const { client, stub } = await startChatStub(reply(done))
  const transport = new ErrandChatTransport({ client, onDisconnect: 'stop' })
  const file = {
    type: 'file',
    mediaType: 'text/plain',
    filename: 'a.txt',
    url: 'data:text/plain;charset=utf-8;base64,SGk=',
  }
  const parts = [{ type: 'text', text: 'Read this.' }, file, { ...file, filename: undefined }]
  const messages = [{ role: 'user', parts }]
  const trigger = 'submit-message'
  const stream = await transport.sendMessages({ chatId: 'sess_1', messageId: undefined, messages, trigger })
  await listOf(stream)
  const sent = { type: 'file', mediaType: 'text/plain', data: 'SGk=' }
  expect(JSON.parse(stub.requests[0]!.body)).toEqual({
    sessionId: 'sess_1',
    message: [{ type: 'text', text: 'Read this.' }, { ...sent, filename: 'a.txt' }, sent],
    onDisconnect: 'stop',
  })
  await stub.stop()
})

test('files in the history become parts of their messages', () => {
  const text = { type: 'text', text: 'Read this.' } as const
  const file = { type: 'file', mediaType: 'text/plain', filename: 'a.txt', url: 'https://errand/a' } as const
  const createdAt = '2026-01-01T00:00:00.000Z'
  const parts = [text, { ...file, payloadId: 'pay_1', bytes: 2 }]
  expect(toUIMessages([{ id: 'msg_1', role: 'user', content: 'Read this.', parts, turnId, createdAt }])).toEqual([
    { id: 'msg_1', role: 'user', metadata: { turnId }, parts: [{ ...text, state: 'done' }, file] },
  ])
})

test('a stop ends the stream immediately, stops the turn and reports its cost', async () => {
  const stopped = Promise.withResolvers<void>()
  const stub = await startStub(
    async (response) => {
      startStream(response, { 'Errand-Turn-Id': turnId }).write(toLine({ ...delta('One '), seq: 1 }))
      await stopped.promise
      response.end([delta('two'), failed].map((event, index) => toLine({ ...event, seq: index + 2 })).join(''))
    },
    (response, request) => {
      stopped.resolve()
      return result({ turnId, stopped: true })(response, request)
    },
  )
  const ended = Promise.withResolvers<ChatEnd>()
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  const transport = new ErrandChatTransport({ client, onEnd: ended.resolve })
  const controller = new AbortController()
  const stream = await transport.sendMessages({
    chatId: 'sess_1',
    trigger: 'submit-message',
    messageId: undefined,
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
    abortSignal: controller.signal,
  })
  const reader = stream.getReader()
  const read: unknown[] = []
  for (let count = 0; count < 3; count++) read.push((await reader.read()).value)
  expect(read).toMatchObject([{ type: 'start' }, { type: 'text-start' }, { type: 'text-delta', delta: 'One ' }])
  const next = reader.read()
  controller.abort()
  await expect(next).rejects.toBe(controller.signal.reason)
  const { error, ...rest } = await ended.promise
  expect([rest, error?.code]).toEqual([{ chatId: 'sess_1', turnId, costUsd: '0.0007' }, 'AGENT_ERROR'])
  await expect(reader.read()).rejects.toBe(controller.signal.reason)
  expect(JSON.parse(stub.requests[0]!.body)).toEqual({ ...hello, onDisconnect: 'continue' })
  expect(stub.requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /api/chat', 'POST /trpc/chat.stop'])
  await stub.stop()
})
