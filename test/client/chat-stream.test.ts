import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { createClient, type ChatEvent } from '../../client/client.ts'
import {
  collect,
  delta,
  done,
  failed,
  hello,
  startChatStub,
  startStream,
  streamOf,
  toLine,
  toolCall,
  toolResult,
} from './chat-answers.ts'
import { rejection } from './rejection.ts'
import { scriptedFetch, unfinished } from './scripted-fetch.ts'
import { answer, cut, startStub, type StubAnswer } from './stub-server.ts'

const whole = [delta('Grüß '), toolCall('1', { q: 'x' }), toolResult('1', { hits: 2 }), delta('dich 👋'), done]

test('posts the message as JSON with the key and yields each event once, in order', async () => {
  const { client, stub } = await startChatStub(streamOf(...whole))
  const input = { ...hello, params: { temperature: 0.5, maxTokens: 100 } }
  const stream = client.chat.stream(input)
  expect(stream.requestId).toBeUndefined()
  expect(await collect(stream)).toEqual(whole)
  expect(stream.requestId).toBe('req_1')
  expect(await collect(stream)).toEqual([])
  expect(stub.requests).toHaveLength(1)
  const { body, headers, method, url } = stub.requests[0]!
  const sent = { ...input, onDisconnect: 'continue' }
  expect({ method, url, body: JSON.parse(body) }).toEqual({ method: 'POST', url: '/api/chat', body: sent })
  expect(headers).toMatchObject({
    authorization: 'Bearer key',
    accept: 'application/x-ndjson',
    'content-type': 'application/json',
  })
  await stub.stop()
})

test('sends nothing until the first event is requested', async () => {
  const { client, stub } = await startChatStub(streamOf(done))
  const left = client.chat.stream(hello)
  expect(await left.return()).toEqual({ done: true, value: undefined })
  expect(await left.next()).toEqual({ done: true, value: undefined })
  expect(await collect(client.chat.stream(hello))).toEqual([done])
  expect(stub.requests).toHaveLength(1)
  await stub.stop()
})

test('yields each event before the next is sent, regardless of how bytes and lines are split', async () => {
  const { client, stub } = await startChatStub(async (response) => {
    startStream(response)
    for (const [index, event] of whole.entries()) {
      // The next event is sent only after this one was received.
      const bytes = Buffer.from(`\r\n${JSON.stringify(event)}${event === done ? '' : '\r\n'}`)
      for (const byte of bytes) await write(response, Uint8Array.of(byte))
      if (event === done) response.end()
      await received[index]!.promise
    }
  })
  const received = whole.map(() => Promise.withResolvers<void>())
  const events: ChatEvent[] = []
  for await (const event of client.chat.stream(hello)) received[events.push(event) - 1]!.resolve()
  expect(events).toEqual(whole)
  await stub.stop()
})

test('a reply may last longer than the request timeout', async () => {
  const stub = await startStub((response) => {
    startStream(response).write(toLine(delta('slow')))
    setTimeout(() => response.end(toLine(done)), 2500)
  })
  const client = createClient({ baseUrl: stub.url, apiKey: 'key', requestTimeoutMs: 2000 })
  expect(await collect(client.chat.stream(hello))).toEqual([delta('slow'), done])
  await stub.stop()
})

test('throws TIMEOUT and ends the request if no reply or complete error arrives in time', async () => {
  for (const answers of [[], [unfinished(404, '{"error":')]]) {
    const { ended, fetch, sent } = scriptedFetch(...answers)
    const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'key', requestTimeoutMs: 200, fetch })
    const error = await rejection(collect(client.chat.stream(hello)))
    expect(error).toMatchObject({ code: 'TIMEOUT', status: undefined })
    expect(error.message).toContain('200 ms')
    await ended
    expect(sent).toHaveLength(1)
  }
})

test('an error after the start is the last event and is not thrown', async () => {
  const { client, stub } = await startChatStub(streamOf(delta('Well'), failed))
  expect(await collect(client.chat.stream(hello))).toEqual([delta('Well'), failed])
  await stub.stop()
})

test('passes on events of unknown types', async () => {
  const { client, stub } = await startChatStub(streamOf({ type: 'image', url: 'x' }, done))
  expect(await collect(client.chat.stream(hello))).toEqual([{ type: 'image', url: 'x' }, done])
  await stub.stop()
})

test('the terminal event ends the stream and its request, even if the response continues', async () => {
  const endsBefore = async (rest: string) => {
    const ended = Promise.withResolvers<void>()
    const { client, stub } = await startChatStub((response) => {
      response.once('close', () => ended.resolve())
      startStream(response).write(toLine(delta('a')) + toLine(done) + rest)
    })
    expect(await collect(client.chat.stream(hello))).toEqual([delta('a'), done])
    await ended.promise
    await stub.stop()
  }
  await Promise.all(['', toLine(delta('more')), '<html>'].map(endsBefore))
})

test('a connection is reused after a reply, even if the caller stops reading at its last event', async () => {
  const ports: (number | undefined)[] = []
  let leave = () => {}
  const { client, stub } = await startChatStub(async (response, { url }) => {
    if (url !== '/api/chat') return void response.end('{}')
    ports.push(response.socket?.remotePort)
    const left = new Promise<void>((resolve) => (leave = resolve))
    startStream(response).write(toLine(delta('a')) + toLine(done))
    await left
    response.end()
  })
  for (let count = 0; count < 5; count++) {
    for await (const event of client.chat.stream(hello)) if (event.type === 'done') break
    leave()
    // The client reads the end of the response during these calls, which therefore need at most a second connection.
    for (let other = 0; other < 5; other++) await rejection(client.account.get())
  }
  expect(ports).toHaveLength(5)
  expect(new Set(ports).size).toBeLessThan(5)
  await stub.stop()
})

const half = `${toLine(delta('a'))}{"type":"do`
const broken: [name: string, text: string, end: StubAnswer][] = [
  ['it ends without a terminal event', toLine(delta('a')), (response) => void response.end()],
  ['it ends inside a line', half, (response) => void response.end()],
  ['its connection is cut', toLine(delta('a')), cut],
  ['its connection is cut inside a line', half, cut],
]

for (const [name, text, end] of broken) {
  test(`throws a NETWORK_ERROR that says to look up the charge if ${name}`, async () => {
    const received = Promise.withResolvers<void>()
    const { client, stub } = await startChatStub(async (response, request) => {
      startStream(response).write(text)
      await received.promise
      await end(response, request)
    })
    const stream = client.chat.stream(hello)
    expect(await stream.next()).toEqual({ done: false, value: delta('a') })
    received.resolve()
    const error = await rejection(stream.next())
    expect(error).toMatchObject({ code: 'NETWORK_ERROR', status: undefined, requestId: 'req_1' })
    expect(error.message).toMatch(
      /^The stream was interrupted before its end.*\. Look up the reply's charge in the transactions/,
    )
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    expect(stub.requests).toHaveLength(1)
    await stub.stop()
  })
}

test('throws NETWORK_ERROR for an empty stream', async () => {
  const { client, stub } = await startChatStub(streamOf())
  expect(await rejection(collect(client.chat.stream(hello)))).toMatchObject({ code: 'NETWORK_ERROR' })
  await stub.stop()
})

test('throws NETWORK_ERROR without a retry if the connection is refused or cut', async () => {
  const { client, stub } = await startChatStub(cut)
  expect(await rejection(collect(client.chat.stream(hello)))).toMatchObject({ code: 'NETWORK_ERROR' })
  expect(stub.requests).toHaveLength(1)
  await stub.stop()
  const error = await rejection(collect(client.chat.stream(hello)))
  expect(error).toMatchObject({ code: 'NETWORK_ERROR', requestId: undefined })
  expect(error.message).toContain('ECONNREFUSED')
})

test('throws BAD_RESPONSE for an invalid line after earlier events, and ends the request', async () => {
  const ended = Promise.withResolvers<void>()
  const { client, stub } = await startChatStub((response) => {
    response.once('close', () => ended.resolve())
    startStream(response).write(`${toLine(delta('a'))}upstream error\n${toLine(done)}`)
  })
  const stream = client.chat.stream(hello)
  expect(await stream.next()).toEqual({ done: false, value: delta('a') })
  expect(await rejection(stream.next())).toMatchObject({ code: 'BAD_RESPONSE', requestId: 'req_1' })
  await ended.promise
  await stub.stop()
})

test('a signal used for many chats accumulates no listeners', async () => {
  const { client, stub } = await startChatStub(
    streamOf(done),
    streamOf(delta('a')),
    answer(502, 'x'),
    streamOf(delta('a'), done),
  )
  const { signal } = new AbortController()
  await collect(client.chat.stream(hello, { signal }))
  await rejection(collect(client.chat.stream(hello, { signal })))
  await rejection(collect(client.chat.stream(hello, { signal })))
  for await (const event of client.chat.stream(hello, { signal })) if (event.type !== 'done') break
  expect(getEventListeners(signal, 'abort')).toEqual([])
  await stub.stop()
})

function write(response: Parameters<StubAnswer>[0], bytes: Uint8Array): Promise<unknown> {
  return new Promise((resolve) => response.write(bytes, resolve))
}
