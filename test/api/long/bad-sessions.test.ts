import { beforeAll, expect, test } from 'vitest'
import {
  expectRefused,
  expectRpcRefused,
  expectUnchanged,
  rawRequest,
  sendRaw,
  shareService,
  type Refusal,
} from '../../support/raw-http.ts'
import { sessionAgents, SessionCalls } from '../session-calls.ts'

const guarded = shareService({ config: sessionAgents })
let sessionId: string

beforeAll(async () => {
  sessionId = await new SessionCalls(guarded.service, guarded.person.key).open('one', { a: 1 })
})

const json = 'Content-Type: application/json'
const request = (method: string, path: string, body?: unknown) =>
  guarded.service.request(method, path, { key: guarded.person.key, ...(body !== undefined && { body }) })
const send = (target: string, lines: string[] = [], body = '') =>
  sendRaw(guarded.service.url, rawRequest(target, [`Authorization: Bearer ${guarded.person.key}`, ...lines], body))
const long = (count: number) => 'x'.repeat(count)

/** Expects that a creation with these fields (JSON without braces) is rejected over REST and typed RPC. */
async function expectCreateRefused(expected: Refusal, fields: string): Promise<void> {
  await expectRefused(guarded, expected, () => request('POST', '/api/sessions', `{${fields}}`))
  await expectRpcRefused(guarded, expected, () => request('POST', '/trpc/sessions.create', `{"json":{${fields}}}`))
}

async function expectUpdateRefused(expected: Refusal, fields: string): Promise<void> {
  const own = fields === '' ? '' : `,${fields}`
  await expectRefused(guarded, expected, () => request('PATCH', `/api/sessions/${sessionId}`, `{${fields}}`))
  await expectRpcRefused(guarded, expected, () =>
    request('POST', '/trpc/sessions.update', `{"json":{"sessionId":"${sessionId}"${own}}}`),
  )
  const { body } = await request('GET', `/api/sessions/${sessionId}`)
  expect(body).toMatchObject({ status: 'active', metadata: { a: 1 }, updatedAt: body.createdAt })
}

test.each([
  ['missing', '"metadata":{}'],
  ['null', '"agentId":null'],
  ['empty', '"agentId":""'],
  ['a number', '"agentId":1'],
  ['a boolean', '"agentId":true'],
  ['an array', '"agentId":["one"]'],
  ['an object', '"agentId":{"id":"one"}'],
  ['201 characters long', `"agentId":"${long(201)}"`],
  ['a lone surrogate', '"agentId":"\\ud800"'],
])('returns 400 and names agentId if it is %s', async (_title, fields) => {
  await expectCreateRefused({ status: 400, field: 'agentId' }, fields)
})

test.each(['nope', ' one', 'one ', 'ONE', 'one\\u0000', 'one/', '*', 'оne', `' OR 1=1 --`, '../one', long(200)])(
  'returns 404 for the unknown agent %j',
  async (agentId) => {
    await expectCreateRefused(
      { status: 404, message: /^Agent not found\. GET \/api\/agents lists the available agents\.$/ },
      `"agentId":"${agentId}"`,
    )
  },
)

const badMetadata: [title: string, value: string, field: string][] = [
  ['null', 'null', 'metadata'],
  ['a string', '"{}"', 'metadata'],
  ['a number', '0', 'metadata'],
  ['a boolean', 'false', 'metadata'],
  ['an array', '[]', 'metadata'],
  ['an array of objects', '[{"a":1}]', 'metadata'],
  ['17 KB', `{"a":"${long(17_000)}"}`, 'metadata'],
  ['17 KB of keys', `{${Array.from({ length: 2200 }, (_, at) => `"k${at}":0`).join()}}`, 'metadata'],
  ['16 KB of two-byte characters', `{"a":"${'é'.repeat(8200)}"}`, 'metadata'],
  ['escapes that take 17 KB as JSON', `{"a":"${'\\u0001'.repeat(2900)}"}`, 'metadata'],
  ['a lone surrogate', '{"a":"\\ud800"}', 'metadata.a'],
  ['a lone surrogate in a key', '{"a\\udc00":1}', 'metadata.a\ufffd'],
  ['a nested lone surrogate', '{"a":[{"b":"x\\udc00\\ud800"}]}', 'metadata.a[0].b'],
  ['a number too large for a double', '{"a":[0,1e400]}', 'metadata.a[1]'],
  ['__proto__ as a key', '{"__proto__":{"polluted":1}}', 'metadata.__proto__'],
  ['a nested __proto__', '{"a":{"__proto__":null}}', 'metadata.a.__proto__'],
]

test.each(badMetadata)('create and update return 400 and name the invalid path in metadata: %s', async (...bad) => {
  const [, value, field] = bad
  await expectCreateRefused({ status: 400, field }, `"agentId":"one","metadata":${value}`)
  await expectUpdateRefused({ status: 400, field }, `"metadata":${value}`)
  await expectUpdateRefused({ status: 400, field }, `"status":"completed","metadata":${value}`)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test.each(['""', `"${long(121)}"`, '"a\\nb"', '"\\u0000"', '"\\ud800"', '1', '[]', '{}'])(
  'create and update return 400 for the title %s',
  async (title) => {
    await expectCreateRefused({ status: 400, field: 'title' }, `"agentId":"one","title":${title}`)
    await expectUpdateRefused({ status: 400, field: 'title' }, `"title":${title}`)
  },
)

test('a new session cannot continue an active, unknown or invalid session', async () => {
  const create = (continues: string) => `"agentId":"one","continues":${continues}`
  await expectCreateRefused({ status: 400, field: 'continues' }, create(`"${sessionId}"`))
  await expectCreateRefused({ status: 404, message: /^Session not found\. Check the id\.$/ }, create('"ses_unknown"'))
  for (const id of ['""', 'null', '1', `"${long(201)}"`]) {
    await expectCreateRefused({ status: 400, field: 'continues' }, create(id))
  }
})

test.each([
  ['arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
  ['objects', '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000)],
  ['arrays, 101 levels', '['.repeat(99) + ']'.repeat(99)],
])('returns 400 for metadata nested too deeply: %s', async (_title, value) => {
  const expected = { status: 400, message: /nesting/ }
  await expectCreateRefused(expected, `"agentId":"one","metadata":{"a":${value}}`)
  await expectUpdateRefused(expected, `"metadata":{"a":${value}}`)
})

test('accepts metadata at the maximum nesting depth and with NUL characters', async () => {
  const { key } = await guarded.service.createPerson()
  const calls = new SessionCalls(guarded.service, key)
  const metadata = JSON.parse(`{"a":${'['.repeat(98)}${']'.repeat(98)},"\\u0000":"b\\u0000c"}`)
  const id = await calls.open('one', metadata)
  expect((await calls.get(id)).body.metadata).toEqual(metadata)
  expect((await calls.update(id, { metadata: { '\0': null } })).body.metadata).toEqual({ a: metadata.a })
})

test.each([
  ['a date', '2026-01-01T00:00:00.000Z', ['Date']],
  ['a map', [['a', 1]], ['map']],
  ['a set', ['a'], ['set']],
  ['an error', { name: 'Error', message: 'm' }, ['Error']],
])('returns 400 over typed RPC if `meta` declares metadata to be %s', async (_title, metadata, type) => {
  for (const meta of [{ values: { metadata: type } }, { values: { 'metadata.b': type } }]) {
    const given = 'metadata' in meta.values ? metadata : { b: metadata }
    for (const name of ['create', 'update']) {
      const input = { json: { sessionId, agentId: 'one', metadata: given }, meta }
      await expectRpcRefused(guarded, { status: 400 }, () => request('POST', `/trpc/sessions.${name}`, input))
    }
  }
})

test.each([
  '"expired"',
  '"deleted"',
  '"Completed"',
  '"completed "',
  '""',
  '"__proto__"',
  'null',
  '0',
  'true',
  '[]',
  '{}',
])('returns 400 and names status if an update sets it to %s', async (status) => {
  await expectUpdateRefused({ status: 400, field: 'status' }, `"status":${status}`)
  await expectUpdateRefused({ status: 400, field: 'status' }, `"status":${status},"metadata":{"b":2}`)
})

test.each(['', '"unknown":1', '"userId":"user_1","agentId":"two"', '"Status":"completed"', '"messageCount":5'])(
  'returns 400 for an update with nothing to change: {%s}',
  async (fields) => {
    await expectUpdateRefused(
      { status: 400, field: '', message: /status, title, metadata, tags and maxCostUsd/ },
      fields,
    )
  },
)

test('returns 400 and names every invalid field', async () => {
  const paths = ({ body }: { body: any }) => body.details.map(({ path }: { path: string }) => path)
  const create = () => request('POST', '/api/sessions', { metadata: [] })
  expect(paths(await expectRefused(guarded, { status: 400 }, create))).toEqual(['agentId', 'metadata'])
  const update = () => request('PATCH', `/api/sessions/${sessionId}`, { status: 1, metadata: 1 })
  expect(paths(await expectRefused(guarded, { status: 400 }, update))).toEqual(['status', 'metadata'])
})

test.each(['', '{', '[]', 'null', '"x"', '1', `{'status':'completed'}`, '{"metadata":{},}', '{"metadata":NaN}'])(
  'returns 400 for the body %j, which is not a JSON object',
  async (body) => {
    for (const target of ['POST /api/sessions', `PATCH /api/sessions/${sessionId}`]) {
      await expectRefused(guarded, { status: 400, field: '' }, () => send(target, [json], body))
    }
    for (const name of ['create', 'update', 'delete']) {
      await expectRpcRefused(guarded, { status: 400 }, () => send(`POST /trpc/sessions.${name}`, [json], body))
    }
  },
)

test.each([[], ['Content-Type: text/plain'], [`${json}; charset=latin1`], [json, 'Content-Encoding: gzip']])(
  'returns 415 for a request with the headers %j',
  async (...lines) => {
    const body = '{"agentId":"one","status":"completed","metadata":{}}'
    for (const target of ['POST /api/sessions', `PATCH /api/sessions/${sessionId}`]) {
      await expectRefused(guarded, { status: 415 }, () => send(target, lines.flat(), body))
    }
  },
)

test.each([
  ['PUT /api/sessions', 'GET, HEAD, OPTIONS, POST'],
  ['PATCH /api/sessions', 'GET, HEAD, OPTIONS, POST'],
  ['DELETE /api/sessions', 'GET, HEAD, OPTIONS, POST'],
  ['POST /api/sessions/ses_1', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
  ['PUT /api/sessions/ses_1', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
  ['POST /api/sessions/ses_1/messages', 'GET, HEAD, OPTIONS'],
  ['DELETE /api/sessions/ses_1/messages', 'GET, HEAD, OPTIONS'],
  ['PATCH /api/sessions/ses_1/messages', 'GET, HEAD, OPTIONS'],
])('returns 405 and the allowed methods for %s', async (target, allow) => {
  const answer = await expectRefused(guarded, { status: 405 }, () => send(target, [json], '{}'))
  expect(answer.headers.get('allow')!.split(', ').toSorted().join(', ')).toBe(allow)
  const options = await send(target.replace(/^\w+/, 'OPTIONS'))
  expect([options!.status, options!.headers.get('allow')]).toEqual([204, answer.headers.get('allow')])
})

test.each([
  ['GET /trpc/sessions.create', 'POST'],
  ['GET /trpc/sessions.update', 'POST'],
  ['GET /trpc/sessions.delete', 'POST'],
  ['POST /trpc/sessions.get', 'GET'],
  ['POST /trpc/sessions.list', 'GET'],
  ['POST /trpc/sessions.messages', 'GET'],
  ['PATCH /trpc/sessions.update', 'POST'],
  ['DELETE /trpc/sessions.delete', 'POST'],
])('returns 405 for %s over typed RPC', async (target, allow) => {
  const input = { json: { sessionId, agentId: 'one', status: 'completed' } }
  const answer = target.startsWith('GET')
    ? () => send(`${target}?input=${encodeURIComponent(JSON.stringify(input))}`)
    : () => send(target, [json], JSON.stringify(input))
  const { headers } = await expectRpcRefused(guarded, { status: 405 }, answer)
  expect(headers.get('allow')).toContain(allow)
})

test('HEAD responds like GET, without a body', async () => {
  for (const path of ['/api/sessions', `/api/sessions/${sessionId}`, `/api/sessions/${sessionId}/messages`]) {
    const got = await request('GET', path)
    const head = await request('HEAD', path)
    expect([head.status, head.body]).toEqual([200, ''])
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(JSON.stringify(got.body))))
  }
})

test.each([
  ['empty', ['Idempotency-Key:']],
  ['of 256 characters', [`Idempotency-Key: ${long(256)}`]],
  ['with a space', ['Idempotency-Key: a b']],
  ['sent twice', ['Idempotency-Key: a', 'Idempotency-Key: a']],
])('returns 400 for an invalid Idempotency-Key: %s', async (_title, lines) => {
  const expected = { status: 400, field: 'Idempotency-Key' }
  const body = '{"agentId":"one"}'
  await expectRefused(guarded, expected, () => send('POST /api/sessions', [json, ...lines], body))
  await expectRpcRefused(guarded, expected, () =>
    send('POST /trpc/sessions.create', [json, ...lines], `{"json":${body}}`),
  )
})

test('every session operation returns 401 without a valid key and changes nothing', async () => {
  const targets: [method: string, path: string, body?: unknown][] = [
    ['GET', '/api/sessions'],
    ['POST', '/api/sessions', { agentId: 'one' }],
    ['GET', `/api/sessions/${sessionId}`],
    ['GET', `/api/sessions/${sessionId}/messages`],
    ['PATCH', `/api/sessions/${sessionId}`, { status: 'completed' }],
    ['DELETE', `/api/sessions/${sessionId}`],
  ]
  for (const [method, path, body] of targets) {
    for (const key of [null, 'wrong']) {
      const options = { key, ...(body !== undefined && { body }) }
      const answer = await expectUnchanged(guarded, () => guarded.service.request(method, path, options))
      expect([answer.status, answer.body.error], `${method} ${path}`).toEqual([401, 'Unauthorized'])
    }
  }
})

test('creation ignores fields that clients may not set', async () => {
  const { service } = guarded
  const [owner, victim] = [await service.createPerson(), await service.createPerson()]
  const wished = {
    sessionId,
    id: sessionId,
    userId: victim.userId,
    status: 'completed',
    messageCount: 99,
    createdAt: '2000-01-01T00:00:00.000Z',
    updatedAt: '2000-01-01T00:00:00.000Z',
    idempotencyKey: 'x',
  }
  const calls = new SessionCalls(service, owner.key)
  const { body } = await calls.create({ ...wished, agentId: 'one', metadata: wished })
  expect(body.sessionId).not.toBe(sessionId)
  const read = (await calls.get(body.sessionId)).body
  expect(read).toMatchObject({ id: body.sessionId, userId: owner.userId, status: 'active', messageCount: 0 })
  expect([read.metadata, read.createdAt]).toEqual([wished, body.createdAt])
  expect(Date.parse(read.createdAt)).toBeGreaterThan(Date.UTC(2020, 0))
  expect((await service.get('/api/sessions', victim.key)).body.total).toBe(0)
})
