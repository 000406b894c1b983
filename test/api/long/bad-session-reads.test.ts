import { beforeAll, expect, test } from 'vitest'
import {
  expectRefused,
  expectRpcRefused,
  expectUnchanged,
  rawRequest,
  sendRaw,
  shareService,
} from '../../support/raw-http.ts'
import { sessionAgents, SessionCalls } from '../session-calls.ts'

// Ids and queries that no well-behaved client sends to session operations.

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
const query = (name: string, input: unknown) =>
  request('GET', `/trpc/sessions.${name}?input=${encodeURIComponent(JSON.stringify({ json: input }))}`)
const long = (count: number) => 'x'.repeat(count)

/** All operations on one session, with the id unescaped in the path. */
const operations: [title: string, send: (id: string) => ReturnType<typeof send>][] = [
  ['GET', (id) => send(`GET /api/sessions/${id}`)],
  ['GET messages', (id) => send(`GET /api/sessions/${id}/messages`)],
  ['PATCH', (id) => send(`PATCH /api/sessions/${id}`, [json], '{"status":"completed"}')],
  ['DELETE', (id) => send(`DELETE /api/sessions/${id}`)],
]

test.each(operations)('%s returns 404 for well-formed but unknown ids', async (_title, sendTo) => {
  const ids = ['%2F', '..%2F..%2Fetc%2Fpasswd', '%2e%2e', '%00', '%25', '__proto__', 'constructor', `'%20OR%201=1--`]
  for (const id of [
    ...ids,
    'ses_*',
    '%F0%9F%98%80',
    'undefined',
    `${sessionId}%20`,
    sessionId.toUpperCase(),
    long(200),
  ]) {
    await expectRefused(guarded, { status: 404, message: /^Session not found\. Check the id\.$/ }, () => sendTo(id))
  }
})

test.each(operations)(
  '%s returns 400 and names sessionId for broken percent-encoding and overlong ids',
  async (_title, sendTo) => {
    for (const id of ['%', '%zz', '%E0%A4%A', '%ff', '%ED%A0%80', '%C0%AF', `${sessionId}%`, long(201)]) {
      await expectRefused(guarded, { status: 400, field: 'sessionId' }, () => sendTo(id))
    }
  },
)

test('returns 404 for paths with an empty id, an extra slash or extra segments', async () => {
  const own = `/api/sessions/${sessionId}`
  const unknown = ['/api/sessions/', '/api/sessions//', '/api/sessions//messages', `${own}/`, `${own}/messages/`]
  for (const path of [...unknown, `${own}/messages/msg_1`, `${own}/more`, `${own}%2Fmessages`, '/api/Sessions']) {
    for (const method of ['GET', 'DELETE']) {
      await expectRefused(guarded, { status: 404 }, () => send(`${method} ${path}`))
    }
  }
})

test.each([undefined, null, '', 5, [], {}, long(201)])(
  'returns 400 over typed RPC for the sessionId %j',
  async (id) => {
    const expected = { status: 400, field: 'sessionId' }
    for (const name of ['get', 'messages'])
      await expectRpcRefused(guarded, expected, () => query(name, { sessionId: id }))
    for (const name of ['update', 'delete']) {
      const input = { json: { sessionId: id, status: 'completed' } }
      await expectRpcRefused(guarded, expected, () => request('POST', `/trpc/sessions.${name}`, input))
    }
  },
)

const lists = () => ['/api/sessions', `/api/sessions/${sessionId}/messages`]

test.each(['', '0', '-1', '-0', '101', '1.5', 'ten', '1e1', '0x10', '010', '+5', '%205', '5%00', 'NaN', '1e400'])(
  'returns 400 and names limit for limit=%s',
  async (limit) => {
    for (const path of lists()) {
      await expectRefused(guarded, { status: 400, field: 'limit' }, () => request('GET', `${path}?limit=${limit}`))
    }
  },
)

test.each(['', '-1', '0.1', 'first', '1e1', '0x10', '1000000001', '99999999999999999999', 'Infinity'])(
  'returns 400 and names offset for offset=%s',
  async (offset) => {
    for (const path of lists()) {
      await expectRefused(guarded, { status: 400, field: 'offset' }, () => request('GET', `${path}?offset=${offset}`))
    }
  },
)

test.each([
  '',
  'ACTIVE',
  'Active',
  'active ',
  'deleted',
  'pending',
  'null',
  '__proto__',
  'any',
  'active,expired',
  '[]',
])('returns 400 and names status for status=%j', async (status) => {
  const path = `/api/sessions?status=${encodeURIComponent(status)}`
  await expectRefused(guarded, { status: 400, field: 'status' }, () => request('GET', path))
  await expectRpcRefused(guarded, { status: 400, field: 'status' }, () => query('list', { status }))
})

test.each([
  ['limit', 'limit=5&limit=5'],
  ['limit', 'limit=5&offset=0&%6cimit=6'],
  ['offset', 'offset=0&offset=1'],
  ['status', 'status=active&status=expired'],
  ['agentId', 'agentId=one&agentId='],
  ['agentId', 'agentId='],
  ['agentId', `agentId=${long(201)}`],
])('returns 400 and names %s for %s', async (field, text) => {
  await expectRefused(guarded, { status: 400, field }, () => request('GET', `/api/sessions?${text}`))
  if (field !== 'limit' && field !== 'offset') return
  await expectRefused(guarded, { status: 400, field }, () =>
    request('GET', `/api/sessions/${sessionId}/messages?${text}`),
  )
})

test.each([
  ['limit', 0],
  ['limit', 101],
  ['limit', '5'],
  ['limit', null],
  ['limit', [5]],
  ['offset', -1],
  ['offset', 1.5],
  ['offset', '0'],
  ['offset', 1_000_000_001],
])('returns 400 over typed RPC and names %s for %j', async (field, value) => {
  for (const name of ['list', 'messages']) {
    await expectRpcRefused(guarded, { status: 400, field }, () => query(name, { sessionId, [field]: value }))
  }
})

test.each(['limit=1', 'limit=100', 'offset=1000000000', 'limit=7&offset=3', 'color=red', '', '&&', '__proto__=1'])(
  'accepts valid and ignores unknown query parameters: %j',
  async (text) => {
    const asked = new URLSearchParams(text)
    for (const path of lists()) {
      const { body, status } = await expectUnchanged(guarded, () => request('GET', `${path}?${text}`))
      expect(status).toBe(200)
      expect(body).toMatchObject({ limit: Number(asked.get('limit') ?? 50), offset: Number(asked.get('offset') ?? 0) })
    }
  },
)

test.each(['nope', 'ONE', '__proto__', `' OR 1=1 --`, '%', 'one\0', long(200)])(
  'an agentId without sessions matches nothing: %j',
  async (agentId) => {
    const { body } = await request('GET', `/api/sessions?agentId=${encodeURIComponent(agentId)}`)
    expect(body).toEqual({ sessions: [], total: 0, limit: 50, offset: 0 })
  },
)

test.each([
  ['search', 'search='],
  ['search', `search=${long(121)}`],
  ['order', 'order=title'],
  ['order', 'order='],
  ['order', 'order=active&createdAfter=2026-01-01T00:00:00Z'],
  ['order', 'order=active&createdBefore=2026-01-01T00:00:00Z'],
])('returns 400 and names %s for ?%s', async (field, search) => {
  await expectRefused(guarded, { status: 400, field }, () => send(`GET /api/sessions?${search}`))
})
