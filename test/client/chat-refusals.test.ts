import { expect, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import { errorBody, errorCatalogue, ErrandError, type ErrorCode } from '../../server/kernel/errors.ts'
import { collect, done, failed, hello as anyHello, startChatStub, streamRefusal, toLine } from './chat-answers.ts'
import { rejection } from './rejection.ts'
import { answer, type StubAnswer } from './stub-server.ts'

/** A session that no other test leaves early, because after that the client would retry for some seconds. */
const hello = { ...anyHello, sessionId: 'ses_refused' }

const refusals: [status: number, code: string][] = [
  [403, 'INSUFFICIENT_BALANCE'],
  [404, 'SESSION_NOT_FOUND'],
  [404, 'CONNECTOR_NOT_FOUND'],
  [409, 'SESSION_BUSY'],
  [409, 'SESSION_COMPLETED'],
  [410, 'SESSION_EXPIRED'],
  [410, 'SESSION_NOT_FOUND'],
  [429, 'RATE_LIMIT_EXCEEDED'],
  [418, 'A_CODE_OF_TOMORROW'],
]

for (const [status, code] of refusals) {
  test(`throws ${code} for ${status} with a single stream line, after one request`, async () => {
    const { client, stub } = await startChatStub(streamRefusal(status, code, { 'Retry-After': '7' }))
    for (const call of [collect(client.chat.stream(hello)), client.chat.text(hello)]) {
      expect(await rejection(call)).toMatchObject({
        code,
        status,
        message: 'No.',
        details: [],
        retryAfterSeconds: 7,
        requestId: 'req_1',
        costUsd: undefined,
      })
    }
    expect(stub.requests).toHaveLength(2)
    await stub.stop()
  })
}

/**
 * Returns the code that the client derives from a body without a code. Codes with the same status and text cannot be
 * told apart.
 */
function codeFromBody(code: ErrorCode): ErrorCode {
  if (code === 'ACCOUNT_BLOCKED') return 'FORBIDDEN'
  if (code === 'CONNECTOR_NOT_FOUND') return 'NOT_FOUND'
  return code === 'SESSION_BUSY' || code === 'SESSION_COMPLETED' ? 'CONFLICT' : code
}

test("throws REST errors with their code, or a code derived from an older service's body", async () => {
  for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
    const details = [{ path: 'message', message: 'Is missing' }]
    const body = errorBody(new ErrandError(code, 'Why.', { details }))
    const older = { ...body, code: undefined }
    const answers = [body, older].map((one) => answer(one.statusCode, JSON.stringify(one), { 'Retry-After': '3' }))
    const { client, stub } = await startChatStub(answers[0]!, answers[1]!)
    for (const expected of [code, codeFromBody(code)]) {
      expect(await rejection(client.chat.stream(hello).next()), code).toMatchObject({
        code: expected,
        status: body.statusCode,
        message: 'Why.',
        details,
        retryAfterSeconds: 3,
      })
    }
    await stub.stop()
  }
})

const html = { 'Content-Type': 'text/html' }
const ndjson = { 'Content-Type': 'application/x-ndjson' }

const odd: [name: string, answer: StubAnswer, status: number, message: RegExp][] = [
  ['the error page of a proxy', answer(502, '<h1>Bad gateway</h1>', html), 502, /status 502 and text\/html/],
  ['a web page with status 200', answer(200, '<h1>Welcome</h1>', html), 200, /Check baseUrl/],
  ['a response that is not a stream', answer(200, toLine(done)), 200, /application\/json/],
  ['no content', (response) => void response.writeHead(204).end(), 204, /no content type/],
  ['a stream with another status', answer(206, toLine(done), ndjson), 206, /status 206/],
  [
    'a non-error event with an error status',
    answer(404, toLine({ ...failed, type: 'failed' }), ndjson),
    404,
    /status 404/,
  ],
  ['a rejection with a success status', streamRefusal(202, 'SESSION_BUSY'), 202, /status 202/],
  ['an error event without a code', answer(404, toLine({ type: 'error', error: {} }), ndjson), 404, /status 404/],
  ['an error of another API', answer(404, '{"error":{"code":5,"message":"Nope"}}'), 404, /status 404/],
  ['JSON from a gateway', answer(502, '{"error":"x","message":"No upstream."}'), 502, /No upstream\.$/],
  ['a redirect', answer(307, '', { Location: 'https://elsewhere.example.com/' }), 307, /redirect\. Set baseUrl/],
  ['an error body with status 200', answer(200, '{"error":"Forbidden","message":"x"}'), 200, /status 200/],
]

for (const [name, given, status, message] of odd) {
  test(`throws BAD_RESPONSE with the status for ${name}`, async () => {
    const { client, stub } = await startChatStub(given)
    const error = await rejection(client.chat.stream(hello).next())
    expect(error).toMatchObject({ code: 'BAD_RESPONSE', status, details: [] })
    expect(error.message).toMatch(message)
    expect(stub.requests).toHaveLength(1)
    await stub.stop()
  })
}

test('BAD_RESPONSE carries the Retry-After and request id of the response', async () => {
  const headers = { 'Retry-After': '7', 'X-Request-Id': 'edge-1' }
  const { client, stub } = await startChatStub(answer(502, 'busy', headers))
  expect(await rejection(client.chat.text(hello))).toMatchObject({ retryAfterSeconds: 7, requestId: 'edge-1' })
  await stub.stop()
})

test('rejects unserializable input with INVALID_ARGUMENT before sending', async () => {
  let requests = 0
  const fetch = () => (requests++, Promise.reject(new Error('offline')))
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'key', fetch })
  const call = client.chat.text({ ...hello, message: 1n as unknown as string })
  expect(await rejection(call)).toMatchObject({ code: 'INVALID_ARGUMENT', status: undefined })
  expect(requests).toBe(0)
})
