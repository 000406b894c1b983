import { expect, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import { rejection, rejections } from './rejection.ts'
import { scriptedFetch } from './scripted-fetch.ts'
import { answer, cut, result, silence, startStub, type StubAnswer } from './stub-server.ts'

const html = { 'Content-Type': 'text/html' }

const odd: [name: string, answer: StubAnswer, status: number, message: RegExp][] = [
  ['the error page of a proxy', answer(502, '<h1>Bad gateway</h1>', html), 502, /status 502 and text\/html/],
  ['a web page with status 200', answer(200, '<h1>Welcome</h1>', html), 200, /Check baseUrl/],
  ['an empty response', answer(200, ''), 200, /status 200/],
  ['no content', (response) => void response.writeHead(204).end(), 204, /no content type/],
  ['truncated JSON', answer(200, '[{"result":{"data":{"js'), 200, /status 200/],
  ['null', answer(200, 'null'), 200, /status 200/],
  ['a number', answer(200, '7'), 200, /status 200/],
  ['an empty result', answer(200, '{"result":{}}'), 200, /status 200/],
  ['the JSON of another API', answer(200, '{"status":"ok"}'), 200, /status 200/],
  ['the error of another API', answer(404, '{"error":{"code":5,"message":"Nope"}}'), 404, /status 404/],
  [
    'the body of a REST error',
    answer(431, '{"error":"x","message":"Too large.","statusCode":431}'),
    431,
    /Too large\.$/,
  ],
  ['a redirect', answer(308, '', { Location: 'https://elsewhere.example.com/' }), 308, /redirect\. Set baseUrl/],
]

for (const [name, given, status, message] of odd) {
  test(`throws BAD_RESPONSE with the status for ${name}`, async () => {
    const stub = await startStub(given)
    const client = createClient({ baseUrl: stub.url, apiKey: 'key', maxRetries: 0 })
    // Sends one call in a batch and one on its own.
    for (const error of await rejections([client.account.get(), client.keys.create({ name: 'x' })])) {
      expect(error).toMatchObject({ code: 'BAD_RESPONSE', status, details: [] })
      expect(error.message).toMatch(message)
    }
    expect(stub.requests).toHaveLength(2)
    await stub.stop()
  })
}

test('BAD_RESPONSE carries the Retry-After and request id of the response', async () => {
  const at = new Date(Date.now() + 90_000).toUTCString()
  const stub = await startStub(
    answer(503, 'busy', { 'Retry-After': '7', 'X-Request-Id': 'edge-1' }),
    answer(503, 'busy', { 'Retry-After': at }),
    answer(503, 'busy', { 'Retry-After': 'soon' }),
  )
  const client = createClient({ baseUrl: stub.url, apiKey: 'key', maxRetries: 0 })
  expect(await rejection(client.account.get())).toMatchObject({ retryAfterSeconds: 7, requestId: 'edge-1' })
  const dated = (await rejection(client.account.get())).retryAfterSeconds
  expect(dated).toBeGreaterThan(60)
  expect(dated).toBeLessThanOrEqual(90)
  expect((await rejection(client.account.get())).retryAfterSeconds).toBeUndefined()
  await stub.stop()
})

test('throws BAD_RESPONSE only for calls missing from a batch response', async () => {
  const stub = await startStub(answer(200, '[{"result":{"data":{"json":{"userId":"u"}}}}]'))
  const client = createClient({ baseUrl: stub.url, apiKey: 'key', maxRetries: 0 })
  const [first, second] = await Promise.allSettled([client.account.get(), client.account.get()])
  expect(first).toMatchObject({ status: 'fulfilled', value: { userId: 'u' } })
  expect(second).toMatchObject({ status: 'rejected', reason: { code: 'BAD_RESPONSE' } })
  expect(stub.requests).toHaveLength(1)
  await stub.stop()
})

test('throws NETWORK_ERROR with the reason if the connection is refused', async () => {
  const stub = await startStub(silence)
  await stub.stop()
  const client = createClient({ baseUrl: stub.url, apiKey: 'key', maxRetries: 0 })
  const error = await rejection(client.account.get())
  expect(error).toMatchObject({ code: 'NETWORK_ERROR', status: undefined, cause: expect.any(TypeError) })
  expect(error.message).toContain('ECONNREFUSED')
})

test('throws NETWORK_ERROR if the connection breaks before or during the response', async () => {
  const halfThenCut: StubAnswer = (response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '1000' })
    response.write('[{"result":', () => response.socket?.destroy())
  }
  const stub = await startStub(cut, halfThenCut)
  const client = createClient({ baseUrl: stub.url, apiKey: 'key', maxRetries: 0 })
  expect(await rejection(client.account.get())).toMatchObject({ code: 'NETWORK_ERROR', status: undefined })
  expect(await rejection(client.account.get())).toMatchObject({ code: 'NETWORK_ERROR', status: undefined })
  await stub.stop()
})

test("throws NETWORK_ERROR for anything the caller's fetch throws", async () => {
  const client = createClient({
    baseUrl: 'http://127.0.0.1',
    apiKey: 'key',
    maxRetries: 0,
    fetch: () => Promise.reject('offline'),
  })
  expect(await rejection(client.account.get())).toMatchObject({ code: 'NETWORK_ERROR', cause: 'offline' })
})

test('throws TIMEOUT and ends the request if no response arrives', async () => {
  const { ended, fetch } = scriptedFetch()
  const client = createClient({
    baseUrl: 'http://127.0.0.1',
    apiKey: 'key',
    maxRetries: 0,
    requestTimeoutMs: 100,
    fetch,
  })
  const error = await rejection(client.account.get())
  expect(error).toMatchObject({ code: 'TIMEOUT', status: undefined })
  expect(error.message).toContain('100 ms')
  await ended
})

test('passes on an unknown error code', async () => {
  const data = { code: 'BAD_REQUEST', httpStatus: 418, errorCode: 'TEAPOT' }
  const stub = await startStub(
    answer(418, JSON.stringify([{ error: { json: { code: -32600, message: 'Tea only.', data } } }])),
    answer(400, JSON.stringify([{ error: { json: { code: -32600, message: 'Another RPC.', data: {} } } }])),
    result({ userId: 'u' }),
  )
  const client = createClient({ baseUrl: stub.url, apiKey: 'key', maxRetries: 0 })
  expect(await rejection(client.account.get())).toMatchObject({ code: 'TEAPOT', status: 418, message: 'Tea only.' })
  expect(await rejection(client.account.get())).toMatchObject({ code: 'BAD_RESPONSE' })
  expect(await client.account.get()).toEqual({ userId: 'u' })
  await stub.stop()
})
