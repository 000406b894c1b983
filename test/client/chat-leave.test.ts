import { expect, test } from 'vitest'
import { createClient, type ClientFetch } from '../../client/client.ts'
import { collect, delta, done, hello, startChatStub, startStream, toLine } from './chat-answers.ts'
import { startStub, type StubAnswer } from './stub-server.ts'

// If a caller stops reading, the service must notice immediately, because further output is charged.

/** Streams this many events and then stalls. `ended` resolves when the client has left early. */
function endless(count: number): { given: StubAnswer; ended: Promise<void> } {
  const ended = Promise.withResolvers<void>()
  const given: StubAnswer = (response) => {
    response.once('close', () => ended.resolve())
    startStream(response).flushHeaders()
    for (let index = 0; index < count; index++) response.write(toLine(delta(`${index}`)))
  }
  return { given, ended: ended.promise }
}

test('breaking out of the loop early ends the request', async () => {
  const { ended, given } = endless(3)
  const { client, stub } = await startChatStub(given)
  for await (const event of client.chat.stream(hello)) {
    expect(event).toEqual(delta('0'))
    break
  }
  await ended
  await stub.stop()
})

test('a throw inside the loop ends the request and reaches the caller', async () => {
  const { ended, given } = endless(1)
  const { client, stub } = await startChatStub(given)
  const own = new Error('own')
  const loop = async () => {
    for await (const _ of client.chat.stream(hello)) throw own
  }
  await expect(loop()).rejects.toBe(own)
  await ended
  await stub.stop()
})

test('`return` ends the request and a pending wait for an event', async () => {
  const { ended, given } = endless(1)
  const { client, stub } = await startChatStub(given)
  const stream = client.chat.stream(hello)
  await stream.next()
  const pending = stream.next()
  expect(await stream.return()).toEqual({ done: true, value: undefined })
  expect(await pending).toEqual({ done: true, value: undefined })
  await ended
  await stub.stop()
})

test("`return` with onDisconnect 'stop' ends the request before a response has arrived", async () => {
  const asked = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const { client, stub } = await startChatStub((response) => {
    response.once('close', () => ended.resolve())
    asked.resolve()
  })
  const stream = client.chat.stream({ ...hello, onDisconnect: 'stop' })
  const pending = stream.next()
  await asked.promise
  await stream.return()
  expect(await pending).toEqual({ done: true, value: undefined })
  await ended.promise
  await stub.stop()
})

test('an abort rejects immediately with its reason and ends the request', async () => {
  const reason = { why: 'the user left' }
  const { client, stub } = await startChatStub(endless(0).given)
  await expect(client.chat.stream(hello, { signal: AbortSignal.abort(reason) }).next()).rejects.toBe(reason)
  expect(stub.requests).toEqual([])
  await stub.stop()

  for (const count of [0, 2]) {
    const { ended, given } = endless(count)
    const { client, stub } = await startChatStub(given)
    const controller = new AbortController()
    const stream = client.chat.stream(hello, { signal: controller.signal })
    for (let index = 0; index < count; index++) await stream.next()
    const pending = stream.next()
    while (stub.requests.length === 0) await new Promise(setImmediate)
    controller.abort(reason)
    await expect(pending).rejects.toBe(reason)
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    await ended
    await stub.stop()
  }
})

test('an abort while the caller handles an event ends the request and drops later events', async () => {
  const { ended, given } = endless(3)
  const { client, stub } = await startChatStub(given)
  const controller = new AbortController()
  const stream = client.chat.stream(hello, { signal: controller.signal })
  await stream.next()
  controller.abort('enough')
  await ended
  await expect(stream.next()).rejects.toBe('enough')
  await stub.stop()
})

test('an abort after the last event changes nothing', async () => {
  const { client, stub } = await startChatStub((response) => void startStream(response).end(toLine(done)))
  const controller = new AbortController()
  const stream = client.chat.stream(hello, { signal: controller.signal })
  expect((await stream.next()).value).toEqual(done)
  controller.abort()
  expect(await stream.next()).toEqual({ done: true, value: undefined })
  await stub.stop()
})

test('an abort does not wait for a fetch that ignores its signal', async () => {
  const opened = Promise.withResolvers<void>()
  const cancelled = Promise.withResolvers<unknown>()
  const body = new ReadableStream<Uint8Array>({ start: () => opened.resolve(), cancel: cancelled.resolve })
  const deafFetches: ClientFetch[] = [
    () => new Promise(() => {}),
    () => Promise.resolve(new Response(body, { headers: { 'Content-Type': 'application/x-ndjson' } })),
  ]
  for (const fetch of deafFetches) {
    const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'key', fetch })
    const controller = new AbortController()
    const pending = client.chat.stream(hello, { signal: controller.signal }).next()
    await opened.promise
    await new Promise(setImmediate)
    controller.abort('enough')
    await expect(pending).rejects.toBe('enough')
  }
  expect(await cancelled.promise).toBe('enough')
})

test('cancels a response that arrives after the abort if fetch ignores its signal', async () => {
  const cancelled = Promise.withResolvers<unknown>()
  const response = Promise.withResolvers<Response>()
  const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'key', fetch: () => response.promise })
  const controller = new AbortController()
  const pending = client.chat.stream(hello, { signal: controller.signal }).next()
  controller.abort('enough')
  await expect(pending).rejects.toBe('enough')
  const body = new ReadableStream<Uint8Array>({ cancel: cancelled.resolve })
  response.resolve(new Response(body, { headers: { 'Content-Type': 'application/x-ndjson' } }))
  await cancelled.promise
})

test('reads no events before the caller requests them', async () => {
  let pulled = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        pulled++
        controller.enqueue(new TextEncoder().encode(toLine(pulled === 10 ? done : delta(`${pulled}`))))
        if (pulled === 10) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  const headers = { 'Content-Type': 'application/x-ndjson' }
  const fetch = () => Promise.resolve(new Response(body, { headers }))
  const stream = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'key', fetch }).chat.stream(hello)
  for (let count = 1; count <= 9; count++) {
    expect((await stream.next()).value).toEqual(delta(`${count}`))
    await new Promise(setImmediate)
    expect(pulled).toBe(count)
  }
  expect((await stream.next()).value).toEqual(done)
})

test('a slow caller slows down the service instead of filling its own memory', async () => {
  const lineBytes = 1_000_000
  const lines = 64
  let written = 0
  const stub = await startStub(async (response, { url }) => {
    if (url !== '/api/chat') return void response.end('{}')
    startStream(response)
    for (; written < lines; written++) {
      if (!response.write(toLine(delta('x'.repeat(lineBytes))))) {
        await new Promise((resolve) => response.once('drain', resolve))
      }
    }
    response.end(toLine(done))
  })
  const stream = createClient({ baseUrl: stub.url, apiKey: 'key' }).chat.stream(hello)
  await stream.next()
  // During these requests, a client that reads ahead would reach the end of the stream.
  for (let count = 0; count < 300; count++) await (await fetch(`${stub.url}/other`)).text()
  expect(written).toBeLessThan(lines / 2)
  expect(await collect(stream)).toHaveLength(lines)
  await stub.stop()
})
