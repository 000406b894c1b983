import { expect, test } from 'vitest'
import { emptySessionsMax, keyedSessionsMax, sessionsMax } from '../../server/store/limits/account-bounds.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { withRaw } from '../support/test-engine.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { sessionAgents } from './session-calls.ts'

const unlimited = { executionsPerMinute: 0, writesPerMinute: 0 }
const dayMs = 86_400_000

/** Expects that the service rejects another session, and returns the error message. */
async function refusalOf(service: TestService, key: string, headers: Record<string, string> = {}): Promise<string> {
  const before = (await service.get('/api/sessions', key)).body.total
  const { body, status } = await service.post('/api/sessions', { agentId: 'one' }, { key, headers })
  expect([status, body.error]).toEqual([409, 'Conflict'])
  expect((await service.get('/api/sessions', key)).body.total).toBe(before)
  return body.message
}

/** Adds sessions of agent `one` that were last active at that time, with these column values. */
async function addSessions(
  service: TestService,
  { activeAt, count, userId }: { activeAt: number; count: number; userId: string },
): Promise<void> {
  const row = `'ses_${activeAt}_' || n, '${userId}', 'one', 0, '{}', 0, ${activeAt}, ${activeAt}, ${activeAt}`
  const columns = 'id, user_id, agent_id, is_completed, metadata, message_count, created_at, updated_at, active_at'
  // Inserts in steps, because each row updates the user's total and a transaction keeps all versions of it.
  const step = 500
  await withRaw(service.dataDir, async (raw) => {
    for (let from = 1; from <= count; from += step) {
      const to = Math.min(count, from + step - 1)
      const numbers = `WITH RECURSIVE n(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM n WHERE n < ${to})`
      await raw.query(`INSERT INTO sessions (${columns}) ${numbers} SELECT ${row} FROM n`)
    }
  })
}

test('rejects empty sessions beyond the maximum until an existing one is used, deleted or long expired', async () => {
  const clock = new FakeClock()
  const service = await startService({ config: sessionAgents, limits: unlimited, clock })
  const { key, userId } = await service.createPerson()
  const make = async (metadata = {}) =>
    (await service.post('/api/sessions', { agentId: 'one', metadata }, { key })).body
  const change = (sessionId: string, body: unknown) =>
    service.request('PATCH', `/api/sessions/${sessionId}`, { key, body })
  const first = (await make()).sessionId
  const noted = (await make({ a: 1 })).sessionId
  const completed = (await make()).sessionId
  expect((await change(completed, { status: 'completed' })).status).toBe(200)
  const last = (await make()).sessionId
  clock.advance(1)
  await addSessions(service, { userId, activeAt: clock.now(), count: emptySessionsMax - 4 })
  expect(await refusalOf(service, key)).toBe(
    'This account already has 10000 sessions without messages, the maximum. Use or delete some of them first.',
  )
  expect((await service.post('/api/chat', { sessionId: first, message: 'hello' }, { key })).status).toBe(200)
  const another = await make()
  await refusalOf(service, key)
  await service.request('DELETE', `/api/sessions/${another.sessionId}`, { key })
  expect((await make()).sessionId).toBeDefined()
  await refusalOf(service, key)

  // Expired sessions are kept for another week.
  clock.advance(dayMs - 2)
  expect((await change(last, { metadata: { a: null } })).status).toBe(200)
  clock.advance(7 * dayMs + 1)
  await refusalOf(service, key)
  const chat = { sessionId: noted, message: 'hello' }
  expect((await service.post('/api/chat', chat, { key })).status).toBe(410)
  // Now some expired sessions are deleted to make room. Those with messages, metadata, an end or later use are kept.
  clock.advance(1)
  expect((await make()).sessionId).toBeDefined()
  const { total } = (await service.get('/api/sessions', key)).body
  expect(total).toBe(emptySessionsMax + 2 - 500)
  for (const [sessionId, status] of [
    [first, 'expired'],
    [noted, 'expired'],
    [completed, 'completed'],
    [last, 'expired'],
  ]) {
    expect((await service.get(`/api/sessions/${sessionId}`, key)).body.status).toBe(status)
  }
  expect((await service.post('/api/chat', chat, { key })).status).toBe(410)
  expect((await service.get('/api/sessions?status=active', key)).body.total).toBe(1)
  expect((await service.get('/api/sessions?status=expired', key)).body.total).toBe(total - 2)
  await service.stop()
})

test('rejects sessions beyond the total maximum, based on counters', async () => {
  const service = await startService({ config: sessionAgents })
  const { key, userId } = await service.createPerson()
  const { sessionId } = (await service.post('/api/sessions', { agentId: 'two' }, { key })).body
  await withRaw(service.dataDir, (raw) =>
    raw.query(`UPDATE session_totals SET open = ${sessionsMax - 2}, completed = 2 WHERE user_id = '${userId}'`),
  )
  expect((await service.get('/api/sessions?limit=1', key)).body.total).toBe(sessionsMax)
  expect((await service.get('/api/sessions?status=completed', key)).body.total).toBe(2)
  expect((await service.get('/api/sessions?status=expired&agentId=two', key)).body.total).toBe(sessionsMax - 3)
  expect(await refusalOf(service, key)).toBe(
    'This account already has 50000 sessions, the maximum. Delete some of them first.',
  )
  await service.request('DELETE', `/api/sessions/${sessionId}`, { key })
  expect((await service.post('/api/sessions', { agentId: 'one' }, { key })).status).toBe(200)
  await service.stop()
})

test('rejects sessions with an Idempotency-Key beyond the daily maximum, but not those without', async () => {
  const clock = new FakeClock()
  const service = await startService({ config: sessionAgents, clock })
  const { key, userId } = await service.createPerson()
  const numbers = `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${keyedSessionsMax})`
  const row = `'${userId}', 'createSession', 'k' || n, 'hash', 'ses_gone', ${clock.now()}`
  await withRaw(service.dataDir, (raw) =>
    raw.query(
      `INSERT INTO idempotency_keys (user_id, operation, key, body_hash, resource_id, created_at) ${numbers} SELECT ${row} FROM n`,
    ),
  )
  const headers = { 'Idempotency-Key': 'one-more' }
  expect(await refusalOf(service, key, headers)).toBe(
    'This account already created 20000 sessions with an Idempotency-Key in the last 24 hours, the maximum. Omit the key or retry later.',
  )
  expect((await service.post('/api/sessions', { agentId: 'one' }, { key })).status).toBe(200)
  clock.advance(dayMs)
  while (await service.app.store.purgeExpired()) continue
  expect((await service.post('/api/sessions', { agentId: 'one' }, { key, headers })).status).toBe(200)
  await service.stop()
})

test('writes other than executions share a rate limit across REST, batches and all operations', async () => {
  const clock = new FakeClock()
  const service = await startService({ config: sessionAgents, clock, limits: { writesPerMinute: 5 } })
  const { key } = await service.createPerson()
  const other = await service.createPerson()
  const create = { json: { agentId: 'one' } }
  const path = `/trpc/${Array(4).fill('sessions.create').join(',')}?batch=1`
  const batch = await service.post(path, { 0: create, 1: create, 2: create, 3: create }, { key })
  expect(batch.status).toBe(200)
  const { sessionId } = batch.body[0].result.data.json
  clock.advance(10_000)
  expect((await service.request('DELETE', `/api/sessions/${sessionId}`, { key })).status).toBe(200)
  const changes: [string, string, unknown?][] = [
    ['POST', '/api/sessions', { agentId: 'one' }],
    ['PATCH', '/api/sessions/ses_x', { metadata: {} }],
    ['DELETE', '/api/sessions/ses_x'],
    ['POST', '/api/keys', { name: 'more', scopes: ['read'] }],
    ['POST', '/api/keys/key_x/rotate', {}],
    ['POST', '/api/connectors', { name: 'Docs', url: 'https://mcp.example.com/mcp' }],
    ['PATCH', '/api/connectors/con_x', { name: 'Other' }],
    ['DELETE', '/api/connectors/con_x'],
    ['POST', '/api/connectors/con_x/test', {}],
    ['POST', '/api/webhooks', { url: 'https://example.com/' }],
    ['PATCH', '/api/webhooks/hook_x', { isEnabled: false }],
    ['POST', '/api/quotes', { task: { endpointId: 'mute.run', params: {} } }],
  ]
  for (const [method, target, body] of changes) {
    const answer = await service.request(method, target, { key, ...(body !== undefined && { body }) })
    expect([answer.status, answer.headers.get('retry-after')], `${method} ${target}`).toEqual([429, '50'])
    expect(answer.headers.has('x-ratelimit-remaining')).toBe(false)
    expect(answer.body.message).toMatch(/^At most 5 changes and quotes per account per minute/)
  }
  const overRpc = await service.post('/trpc/sessions.create', create, { key })
  const inBatch = await service.post('/trpc/sessions.create?batch=1', { 0: create }, { key })
  for (const { headers, status } of [overRpc, inBatch]) {
    expect([status, headers.get('retry-after'), headers.has('x-ratelimit-remaining')]).toEqual([429, '50', false])
  }
  // Revoking keys and logins must still work. Otherwise the user could not stop a stolen key.
  const [stolen] = (await service.get('/api/keys', other.key)).body.keys
  expect((await service.request('DELETE', `/api/keys/${stolen.id}`, { key })).status).toBe(404)
  expect((await service.request('DELETE', '/api/logins/login_x', { key })).status).toBe(404)
  expect((await service.request('DELETE', '/api/logins', { key })).status).toBe(200)
  // The limit does not affect requests with limits of their own, reads, or other users.
  const [left] = batch.body.slice(1)
  const message = { sessionId: left.result.data.json.sessionId, message: 'hello' }
  expect((await service.post('/api/chat', message, { key })).status).toBe(200)
  expect((await service.createTask(key, 'mute.run')).status).toBe(200)
  expect((await service.get('/api/sessions', key)).status).toBe(200)
  expect((await service.post('/api/sessions', { agentId: 'one' }, { key: other.key })).status).toBe(200)
  clock.advance(50_000)
  expect((await service.post('/api/sessions', { agentId: 'one' }, { key })).status).toBe(200)
  await service.stop()
})
