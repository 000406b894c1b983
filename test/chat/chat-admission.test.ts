import { expect, test } from 'vitest'
import { say } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { FakeClock } from '../support/fake-clock.ts'
import type { TestService } from '../support/test-service.ts'
import { expectOneEnd, isoMs, startTalk, Talker, textOf } from './chat-checks.ts'

type Expected = { status: number; code: string; error: string; message?: RegExp }

/** Expects a rejection over both protocols, without changes to account, session and rate window. */
async function expectRefused(
  talker: Talker,
  { sessionId = talker.sessionId, ...expected }: Expected & { sessionId?: string },
) {
  const { service, key } = talker
  const state = async () => ({
    // Omit `limits`: its count of queued tasks changes as tasks start.
    account: { ...(await service.get('/api/account', key)).body, limits: null },
    slots: (await service.get('/api/account', key)).headers.get('x-ratelimit-remaining'),
    sessions: (await service.get('/api/sessions', key)).body,
    transactions: (await service.get('/api/transactions', key)).body,
  })
  const before = await state()
  const open = (headers: Record<string, string>) =>
    ChatReader.open({ url: service.url, key, body: { sessionId, message: 'Hello' }, headers })
  const { code, error, message = /\S/, status } = expected
  const ofBody = status === 404 ? 'NOT_FOUND' : status === 410 ? 'SESSION_EXPIRED' : code
  for (const accept of ['*/*', 'application/x-ndjson', 'application/x-ndjson, application/json']) {
    const reader = await open({ accept })
    const [event, ...more] = await reader.all()
    expect([reader.status, reader.headers['content-type']]).toEqual([status, 'application/x-ndjson'])
    expect(more).toEqual([])
    expect(event).toEqual({
      type: 'error',
      timestamp: expect.stringMatching(isoMs),
      error: { code, message: expect.stringMatching(message) },
      message: event.error.message,
      statusCode: status,
      code: ofBody,
    })
    expect(reader.text).toMatch(/^\{.*\}\n$/)
    expect(reader.headers['x-request-id']).toMatch(/^req_/)
    expect(reader.headers['x-ratelimit-limit']).toBeDefined()
  }
  const plain = await open({ accept: 'application/json' })
  await plain.all()
  expect([plain.status, plain.headers['content-type']]).toEqual([status, 'application/json; charset=utf-8'])
  const told = { error, message: expect.stringMatching(message), statusCode: status, code: ofBody }
  expect(JSON.parse(plain.text)).toEqual(told)
  expect(await state()).toEqual(before)
  return plain
}

const notFound = {
  status: 404,
  code: 'SESSION_NOT_FOUND',
  error: 'Not found',
  message: /^Session not found\. Check the id\.$/,
}

const onClock = async (limits: Record<string, number> = {}) => {
  const clock = new FakeClock()
  const service = await startTalk({ clock, limits: { executionsPerMinute: 10, ...limits } })
  return { clock, service, talker: await Talker.create(service) }
}

test("unknown, deleted and other users' sessions get the same 404 SESSION_NOT_FOUND", async () => {
  const { service, talker } = await onClock()
  const [deleted, others] = [await talker.another(), await Talker.create(service)]
  await service.request('DELETE', `/api/sessions/${deleted.sessionId}`, { key: talker.key })
  for (const sessionId of ['ses_unknown', `${talker.sessionId}x`, deleted.sessionId, others.sessionId]) {
    await expectRefused(talker, { ...notFound, sessionId })
  }
  expect(await others.session()).toMatchObject({ messageCount: 0 })
  await service.stop()
})

test('a chat in a session idle for 24 hours gets 410 with the stream code SESSION_NOT_FOUND', async () => {
  const { clock, service, talker } = await onClock()
  expectOneEnd(await talker.chat('Hello'), 'done')
  clock.advance(86_400_000 - 1)
  expectOneEnd(await talker.chat('Still active, and a chat is activity'), 'done')
  clock.advance(86_400_000)
  await expectRefused(talker, { status: 410, code: 'SESSION_NOT_FOUND', error: 'Session expired' })
  await service.stop()
})

test('a chat in a completed session gets 409 SESSION_COMPLETED', async () => {
  const { service, talker } = await onClock()
  await service.request('PATCH', `/api/sessions/${talker.sessionId}`, {
    key: talker.key,
    body: { status: 'completed' },
  })
  await expectRefused(talker, { status: 409, code: 'SESSION_COMPLETED', error: 'Conflict' })
  await service.stop()
})

async function stop({ key, service }: Talker, { headers }: ChatReader): Promise<void> {
  const { status } = await service.post(`/api/chat/${headers['errand-turn-id']}/stop`, {}, { key })
  expect(status).toBe(200)
}

test('a second concurrent message gets 409 SESSION_BUSY until the terminal event of the first', async () => {
  const { service, talker } = await onClock()
  const reader = await talker.do({ do: 'text', delta: 'x' }, { do: 'await-abort' })
  await reader.until('assistant_delta')
  await expectRefused(talker, { status: 409, code: 'SESSION_BUSY', error: 'Conflict' })
  await stop(talker, reader)
  await reader.until('error')
  expectOneEnd(await talker.chat('Hello'), 'done')
  await service.stop()
})

test('exactly one of twenty concurrent messages to a session is answered and uses a slot', async () => {
  const { service, talker } = await onClock({ executionsPerMinute: 100 })
  const readers = await Promise.all(
    Array.from({ length: 20 }, () => talker.do({ do: 'text', delta: 'x' }, { do: 'await-abort' })),
  )
  expect(readers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(409)])
  const answered = readers.find(({ status }) => status === 200)!
  await answered.until('assistant_delta')
  await stop(talker, answered)
  await Promise.all(readers.map((reader) => reader.all()))
  expect(await talker.session()).toMatchObject({ messageCount: 2 })
  expect(await talker.charges()).toHaveLength(1)
  expect((await service.get('/api/account', talker.key)).headers.get('x-ratelimit-remaining')).toBe('99')
  await service.stop()
})

test('chats and tasks share ten executions a minute, then get 429 with Retry-After', async () => {
  const { clock, service, talker } = await onClock()
  for (let n = 0; n < 5; n++) {
    const reader = await talker.open(`Message ${n}`)
    expect(reader.headers).toMatchObject({ 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': String(9 - 2 * n) })
    expectOneEnd(await reader.all(), 'done')
    expect((await service.createTask(talker.key, 'work.echo')).status).toBe(200)
    clock.advance(1000)
  }
  const refused = { status: 429, code: 'RATE_LIMIT_EXCEEDED', error: 'Rate limit exceeded', message: /10/ }
  const plain = await expectRefused(talker, refused)
  expect(plain.headers).toMatchObject({ 'retry-after': '55', 'x-ratelimit-remaining': '0' })
  expect((await talker.open('Hello')).headers['retry-after']).toBe('55')
  expect((await service.createTask(talker.key, 'work.echo')).status).toBe(429)
  clock.advance(55_000)
  expectOneEnd(await talker.chat('Again'), 'done')
  await service.stop()
})

test('a failed chat keeps its slot in the rate window', async () => {
  const { service, talker } = await onClock({ executionsPerMinute: 2 })
  for (let n = 0; n < 2; n++) expectOneEnd(await talker.chat(say({ do: 'throw', message: 'No.' })), 'error')
  expect((await talker.open('Hello')).status).toBe(429)
  await service.stop()
})

test('a chat with a low balance gets 403 INSUFFICIENT_BALANCE with the balance and the required cost', async () => {
  const service = await startTalk({ limits: { executionsPerMinute: 10 } })
  const talker = await Talker.create(service, { balanceUsd: '0.0001' })
  // Two prompt tokens and one output token, 0.00030001 + 0.0006, rounded up.
  await expectRefused(talker, {
    status: 403,
    code: 'INSUFFICIENT_BALANCE',
    error: 'Insufficient balance',
    message: /^The balance of 0\.0001 USD is lower than the required 0\.0010 USD\. Add credit\.$/,
  })
  await service.stop()
})

test('an insufficient balance error names the amount that another chat holds', async () => {
  const service = await startTalk({ limits: { executionsPerMinute: 10 } })
  const talker = await Talker.create(service, { balanceUsd: '1.0000' })
  const reader = await talker.do({ do: 'text', delta: 'x' }, { do: 'await-abort' })
  await reader.until('assistant_delta')
  const { heldUsd } = await talker.account()
  expect(Number(heldUsd)).toBeGreaterThan(0.3)
  const other = await talker.another()
  const refused = await other.open('x'.repeat(40_000))
  expect([refused.status, refused.headers['retry-after']]).toEqual([403, undefined])
  const { error } = await refused.end()
  expect(error).toEqual({
    code: 'INSUFFICIENT_BALANCE',
    message: `The balance of 1.0000 USD (of which ${heldUsd} USD is held) is lower than the required 1.5007 USD. Add credit.`,
  })
  expect(await talker.account()).toEqual({ balanceUsd: '1.0000', heldUsd })
  reader.leave()
  await talker.settled()
  await service.stop()
})

test('a key without the scope execute gets a plain 403 for any session', async () => {
  const { service, talker } = await onClock()
  const key = await service.createKey(talker.person.userId, ['read', 'manage'])
  const before = await talker.state()
  for (const sessionId of [talker.sessionId, 'ses_unknown']) {
    const answer = await service.post('/api/chat', { sessionId, message: 'Hello' }, { key })
    expect(answer).toMatchObject({ status: 403, body: { error: 'Forbidden', statusCode: 403, code: 'FORBIDDEN' } })
  }
  expect(await talker.state()).toEqual(before)
  await service.stop()
})

test('an agent hidden from the user after the session began answers as if removed', async () => {
  const { service } = await onClock()
  const friend = await Talker.create(service, { agentId: 'secret', email: 'friend@example.com' })
  expectOneEnd(await friend.chat('Hello'), 'done')
  const stranger = await service.createPerson()
  const session = await service.app.store.createSession({
    sessionId: 'ses_stranger',
    userId: stranger.userId,
    agentId: 'secret',
    metadata: {},
    idempotency: null,
  })
  expect(session.outcome).toBe('created')
  const headers = { Accept: 'application/json' }
  const body = { sessionId: 'ses_stranger', message: 'Hello' }
  expect(await service.post('/api/chat', body, { key: stranger.key, headers })).toMatchObject({
    status: 404,
    body: {
      error: 'Not found',
      message: 'The agent secret is no longer available. Create a session with another agent.',
    },
  })
  await service.stop()
})

test('a chat with an agent removed from the configuration gets 404 as a stream error', async () => {
  const { service, talker } = await onClock()
  const { userId } = talker.person
  for (const [sessionId, agentId] of [
    ['ses_gone', 'gone'],
    ['ses_work', 'work'],
  ] as const) {
    await service.app.store.createSession({ sessionId, userId, agentId, metadata: {}, idempotency: null })
    await expectRefused(talker, { ...notFound, message: /agent/, sessionId })
  }
  await service.stop()
})

async function expectPlain(service: TestService, status: number, send: () => Promise<any>, field?: string) {
  const answer = await send()
  expect(answer.status, JSON.stringify(answer.body)).toBe(status)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  if (status !== 401) expect(answer.body).toMatchObject({ message: expect.any(String), statusCode: status })
  if (field !== undefined) expect(answer.body.details.map(({ path }: any) => path)).toContain(field)
  return answer
}

test('rejections before the session lookup are plain errors with their own status', async () => {
  const { service, talker } = await onClock({ maxBodyBytes: 10_000 })
  const { key, sessionId } = talker
  const body = { sessionId, message: 'Hello' }
  const before = await talker.state()
  const post =
    (sent: unknown, options = {}) =>
    () =>
      service.post('/api/chat', sent, { key, ...options })
  await expectPlain(service, 401, post(body, { key: null }))
  await expectPlain(service, 401, post(body, { key: 'wrong' }))
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await service.request(method, '/api/chat', { key })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
  }
  const options = await service.request('OPTIONS', '/api/chat')
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'POST, OPTIONS'])
  await expectPlain(service, 415, post('Hello', { headers: { 'Content-Type': 'text/plain' } }))
  await expectPlain(service, 413, post({ ...body, message: 'x'.repeat(10_001) }))
  for (const text of ['', '{', 'null', '[]', '"text"', '1', '{"sessionId":', '\u0000']) {
    await expectPlain(service, 400, post(text))
  }
  expect(await talker.state()).toEqual(before)
  await service.stop()
})

test('rejects missing or invalid fields with 400, names them and writes nothing', async () => {
  const { service, talker } = await onClock()
  const { key, sessionId } = talker
  const before = await talker.state()
  const good = { sessionId, message: 'Hello' }
  const wrong: [unknown, string][] = [
    [{ message: 'Hello' }, 'sessionId'],
    [{ sessionId }, 'message'],
    [{ ...good, sessionId: 1 }, 'sessionId'],
    [{ ...good, sessionId: '' }, 'sessionId'],
    [{ ...good, message: '' }, 'message'],
    [{ ...good, message: null }, 'message'],
    [{ ...good, message: 1 }, 'message'],
    [{ ...good, message: ['Hello'] }, 'message[0]'],
    [{ ...good, message: { text: 'Hello' } }, 'message'],
    [{ ...good, params: null }, 'params'],
    [{ ...good, params: [] }, 'params'],
    [{ ...good, params: { temperature: -0.1 } }, 'params.temperature'],
    [{ ...good, params: { temperature: 2.1 } }, 'params.temperature'],
    [{ ...good, params: { temperature: '1' } }, 'params.temperature'],
    [{ ...good, params: { maxTokens: 0 } }, 'params.maxTokens'],
    [{ ...good, params: { maxTokens: -1 } }, 'params.maxTokens'],
    [{ ...good, params: { maxTokens: 1.5 } }, 'params.maxTokens'],
    [{ ...good, params: { maxTokens: 1001 } }, 'params.maxTokens'],
    [{ ...good, params: { maxTokens: '1' } }, 'params.maxTokens'],
    [{ ...good, params: { maxTokens: null } }, 'params.maxTokens'],
    ['{"sessionId":"x","message":"half \\ud83d"}', 'message'],
    ['{"sessionId":"x","message":"\\udc4b half"}', 'message'],
  ]
  for (const [body, field] of wrong) {
    const answer = await expectPlain(service, 400, () => service.post('/api/chat', body, { key }), field)
    expect(answer.body.error).toBe('Bad request')
  }
  expect(await talker.state()).toEqual(before)
  expect((await service.get('/api/account', key)).headers.get('x-ratelimit-remaining')).toBe('10')
  await service.stop()
})

test('stores and forwards messages unchanged, including line ends, control characters and all of Unicode', async () => {
  const { service, talker } = await onClock({ executionsPerMinute: 0 })
  const messages = [
    '\n',
    ' ',
    '\0',
    '\u0001\u001f\u007f',
    'a\r\nb\u2028c\u2029',
    '👩‍👩‍👧 🏴‍☠️ \ufeff\uffff',
    '"\\/{}[]',
    '__proto__',
  ]
  for (const message of messages) {
    const talk = await talker.another()
    expect(textOf(await talk.chat(message))).toBe(`You said: ${message}`)
    expect((await talk.messages()).map(({ content }) => content)).toEqual([message, `You said: ${message}`])
  }
  await service.stop()
})
