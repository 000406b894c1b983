import { expect, test } from 'vitest'
import { rmSync } from 'node:fs'
import { defineConfig } from '../../server/agents/config/define-config.ts'
import { newId } from '../../server/kernel/ids.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { newDataDir, startService, type TestService } from '../support/test-service.ts'
import { replyCostUsd, sessionAgents, SessionCalls, vias } from './session-calls.ts'

const config = sessionAgents
const dayMs = 24 * 3_600_000
const named = (key: string) => ({ 'Idempotency-Key': key })
const notFound = { error: 'Not found', message: 'Session not found. Check the id.', statusCode: 404, code: 'NOT_FOUND' }

/** Expects no session, no transaction except the first credit, and an unused rate limit. */
async function expectNothingWritten(service: TestService, key: string): Promise<void> {
  const { body, headers } = await service.get('/api/sessions', key)
  expect(body).toEqual({ sessions: [], total: 0, limit: 50, offset: 0 })
  expect(headers.get('x-ratelimit-remaining')).toBe('10')
  expect((await service.get('/api/transactions', key)).body.total).toBe(1)
}

test.each(vias)('creates a session over %s that reads back with the same fields', async (via) => {
  const service = await startService({ config, clock: new FakeClock() })
  const { key, userId } = await service.createPerson()
  const calls = new SessionCalls(service, key, via)
  const created = await calls.create({ agentId: 'one' })
  expect(created.status).toBe(200)
  expect(created.body).toEqual({
    sessionId: expect.stringMatching(/^ses_[0-9a-z]{26}$/),
    agentId: 'one',
    status: 'active',
    createdAt: '2026-01-15T12:00:00.000Z',
  })
  const read = await calls.get(created.body.sessionId)
  expect([read.status, read.body]).toEqual([
    200,
    {
      id: created.body.sessionId,
      userId,
      agentId: 'one',
      status: 'active',
      metadata: {},
      messageCount: 0,
      spentUsd: '0.0000',
      createdAt: '2026-01-15T12:00:00.000Z',
      updatedAt: '2026-01-15T12:00:00.000Z',
    },
  ])
  await service.stop()
})

test.each(vias)('metadata over %s is returned unchanged', async (via) => {
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key, via)
  const metadata = {
    topic: 'café 😀',
    '': 1,
    constructor: { prototype: [1, { toString: null }] },
    rows: [null, true, 1.5, { a: [] }],
    status: 'completed',
    userId: 'user_1',
    text: 'a\u0000b\u2028',
  }
  const sessionId = await calls.open('two', metadata)
  const { body } = await calls.get(sessionId)
  expect(body).toMatchObject({ id: sessionId, agentId: 'two', status: 'active' })
  expect(body.metadata).toEqual(metadata)
  await service.stop()
})

test('creating is free: it needs no balance, uses no rate slot and posts no transaction', async () => {
  const service = await startService({ config, clock: new FakeClock(), limits: { executionsPerMinute: 2 } })
  const { key } = await service.createPerson({ balanceUsd: '0' })
  const calls = new SessionCalls(service, key)
  for (let count = 0; count < 5; count++) {
    const { headers, status } = await calls.create({ agentId: 'one' })
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([200, '2'])
  }
  expect((await calls.list()).body.total).toBe(5)
  expect((await service.get('/api/transactions', key)).body.total).toBe(0)
  await service.stop()
})

test.each(vias)('rejects unknown, hidden and non-chat agents over %s with 404 or 400', async (via) => {
  const service = await startService({ config, clock: new FakeClock() })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key, via)
  for (const agentId of ['none', 'hidden', 'ONE', 'one.chat', '__proto__', 'constructor', 'toString']) {
    const { body, status } = await calls.create({ agentId })
    expect([status, body]).toEqual([
      404,
      {
        error: 'Not found',
        message: 'Agent not found. GET /api/agents lists the available agents.',
        statusCode: 404,
        code: 'NOT_FOUND',
      },
    ])
  }
  const mute = await calls.create({ agentId: 'mute' })
  expect(mute.status).toBe(400)
  expect(mute.body).toMatchObject({ error: 'Bad request', details: [{ path: 'agentId' }] })
  await expectNothingWritten(service, key)

  const friend = await service.createPerson({ email: 'Friend@Example.com' })
  expect((await new SessionCalls(service, friend.key, via).create({ agentId: 'hidden' })).status).toBe(200)
  await service.stop()
})

test.each(vias)('returns 403 over %s for a key without the required scope', async (via) => {
  const service = await startService({ config })
  const { key, userId } = await service.createPerson()
  const sessionId = await new SessionCalls(service, key).open()
  const reader = new SessionCalls(service, await service.createKey(userId, ['read']), via)
  const writer = new SessionCalls(service, await service.createKey(userId, ['execute']), via)
  const missing = (scope: string) => ({
    error: 'Forbidden',
    message: `This API key lacks permission for this operation. Use a credential with the scope "${scope}".`,
    statusCode: 403,
    code: 'FORBIDDEN',
  })
  for (const refused of [
    await reader.create({ agentId: 'one' }),
    await reader.update(sessionId, { status: 'completed', metadata: { a: 1 } }),
    await reader.delete(sessionId),
  ]) {
    expect([refused.status, refused.body]).toEqual([403, missing('execute')])
  }
  for (const refused of [await writer.get(sessionId), await writer.list(), await writer.messages(sessionId)]) {
    expect([refused.status, refused.body]).toEqual([403, missing('read')])
  }
  expect((await reader.list()).body.total).toBe(1)
  expect((await reader.get(sessionId)).body).toMatchObject({ status: 'active', metadata: {} })
  expect((await reader.messages(sessionId)).status).toBe(200)
  expect((await writer.update(sessionId, { metadata: { a: 1 } })).status).toBe(200)
  expect((await writer.delete(sessionId)).status).toBe(200)
  expect((await writer.create({ agentId: 'one' })).status).toBe(200)
  await service.stop()
})

test('parallel requests with the same Idempotency-Key and body create one session across REST and RPC', async () => {
  const service = await startService({ config })
  const { key, userId } = await service.createPerson()
  const rest = new SessionCalls(service, key)
  const rpc = new SessionCalls(service, await service.createKey(userId), 'typed RPC')
  const input = { agentId: 'one', metadata: { a: 1, b: { c: 2 } } }
  const answers = await Promise.all([rest, rest, rpc, rpc].map((calls) => calls.create(input, named('k'))))
  answers.push(await rest.create({ metadata: { b: { c: 2 }, a: 1 }, agentId: 'one' }, named('k')))
  for (const { body, status } of answers) expect([status, body]).toEqual([200, answers[0]!.body])
  expect((await rest.list()).body.total).toBe(1)

  for (const other of [
    { agentId: 'two', metadata: input.metadata },
    { agentId: 'one', metadata: { a: 2 } },
  ]) {
    const { body, status } = await rest.create(other, named('k'))
    expect([status, body.error]).toEqual([409, 'Conflict'])
  }
  expect((await rpc.create({ agentId: 'one' }, named('k'))).status).toBe(409)
  expect((await rest.list()).body.total).toBe(1)
  expect((await rest.create(input, named('other'))).body.sessionId).not.toBe(answers[0]!.body.sessionId)
  await service.stop()
})

test('an Idempotency-Key is per user and operation and valid for 24 hours', async () => {
  const clock = new FakeClock()
  const service = await startService({ config, clock })
  const [{ key }, other] = [await service.createPerson(), await service.createPerson()]
  const calls = new SessionCalls(service, key)
  const create = () => calls.create({ agentId: 'one' }, named('k'))
  expect((await service.createTask(key, 'mute.run', {}, named('k'))).status).toBe(200)
  const first = await create()
  expect(first.status).toBe(200)
  const theirs = await new SessionCalls(service, other.key).create({ agentId: 'two' }, named('k'))
  expect(theirs.status).toBe(200)
  clock.advance(dayMs - 1)
  expect((await create()).body).toEqual(first.body)
  clock.advance(1)
  const second = await create()
  expect(second.body.sessionId).not.toBe(first.body.sessionId)
  expect((await create()).body).toEqual(second.body)
  await service.stop()
})

test('a replay returns the original response after changes, but never revives a deleted session', async () => {
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key)
  const create = () => calls.create({ agentId: 'one', metadata: { a: 1 } }, named('k'))
  const first = await create()
  const { sessionId } = first.body
  await calls.update(sessionId, { status: 'completed', metadata: { a: 2 } })
  const again = await create()
  expect([again.status, again.body]).toEqual([200, first.body])
  expect((await calls.get(sessionId)).body).toMatchObject({ status: 'completed', metadata: { a: 2 } })

  expect((await calls.delete(sessionId)).status).toBe(200)
  const { body, status } = await create()
  expect([status, body.error]).toEqual([409, 'Conflict'])
  expect((await calls.list()).body.total).toBe(0)
  await service.stop()
})

test('answers a replay after a restart, even if the agent was removed from the configuration', async () => {
  const dataDir = newDataDir()
  const first = await startService({ dataDir, config })
  const { key } = await first.createPerson()
  const create = (service: TestService) => new SessionCalls(service, key).create({ agentId: 'one' }, named('kept'))
  const created = await create(first)
  expect(created.status).toBe(200)
  await first.stop()

  const second = await startService({ dataDir, config: defineConfig({ agents: [] }) })
  const calls = new SessionCalls(second, key)
  const replayed = await create(second)
  const fresh = await calls.create({ agentId: 'one' })
  const read = await calls.get(created.body.sessionId)
  const completed = await calls.update(created.body.sessionId, { status: 'completed' })
  const deleted = await calls.delete(created.body.sessionId)
  await second.stop()
  rmSync(dataDir, { recursive: true })
  expect(read.body).toMatchObject({ agentId: 'one', status: 'active' })
  expect([fresh.status, completed.status, deleted.status]).toEqual([404, 200, 200])
  expect([replayed.status, replayed.body]).toEqual([200, created.body])
})

test.each(vias)("every operation returns 404 over %s for an unknown session or another user's session", async (via) => {
  const service = await startService({ config })
  const [owner, stranger] = [await service.createPerson(), await service.createPerson()]
  const own = new SessionCalls(service, owner.key, via)
  const calls = new SessionCalls(service, stranger.key, via)
  const sessionId = await own.open('one', { secret: 1 })
  const before = (await own.get(sessionId)).body
  for (const id of [sessionId, newId('ses', Date.now()), 'none', 'SES_1', '__proto__']) {
    for (const { body, status } of [
      await calls.get(id),
      await calls.messages(id),
      await calls.update(id, { status: 'completed' }),
      await calls.update(id, { metadata: { secret: null } }),
      await calls.delete(id),
    ]) {
      expect([status, body]).toEqual([404, notFound])
    }
  }
  expect((await own.get(sessionId)).body).toEqual(before)
  await service.stop()
})

test.each(vias)('lists messages over %s oldest first, in pages, and counts them in messageCount', async (via) => {
  const clock = new FakeClock()
  const service = await startService({ config, clock })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key, via)
  const sessionId = await calls.open()
  const other = await calls.open()
  expect((await calls.messages(sessionId)).body).toEqual({ messages: [], total: 0, limit: 50, offset: 0 })
  await calls.chat(other, 'elsewhere')
  for (const text of ['first', 'second', 'third']) {
    clock.advance(1000)
    expect((await calls.chat(sessionId, text)).status).toBe(200)
  }
  const { body, status } = await calls.messages(sessionId)
  expect(status).toBe(200)
  expect(body).toMatchObject({ total: 6, limit: 50, offset: 0 })
  const contents = ['first', '0: first', 'second', '2: second', 'third', '4: third']
  expect(body.messages).toEqual(
    contents.map((content, index) => ({
      id: expect.stringMatching(/^msg_[0-9a-z]{26}$/),
      role: index % 2 === 0 ? 'user' : 'assistant',
      content,
      turnId: expect.stringMatching(/^turn_[0-9a-z]{26}$/),
      createdAt: new Date(Date.UTC(2026, 0, 15, 12, 0, 1 + Math.floor(index / 2))).toISOString(),
    })),
  )
  const turns = body.messages.map(({ turnId }: { turnId: string }) => turnId)
  expect([turns[0], turns[2], turns[4]]).toEqual([turns[1], turns[3], turns[5]])
  expect(new Set(turns).size).toBe(3)
  expect(new Set(body.messages.map(({ id }: { id: string }) => id)).size).toBe(6)

  const page = await calls.messages(sessionId, { limit: 2, offset: 3 })
  expect(page.body).toEqual({ messages: body.messages.slice(3, 5), total: 6, limit: 2, offset: 3 })
  const past = await calls.messages(sessionId, { limit: 100, offset: 6 })
  expect(past.body).toEqual({ messages: [], total: 6, limit: 100, offset: 6 })
  expect((await calls.get(sessionId)).body.messageCount).toBe(6)
  expect((await calls.get(other)).body.messageCount).toBe(2)
  await service.stop()
})

test('a failed chat leaves messages, count, metadata and times unchanged', async () => {
  const clock = new FakeClock()
  const service = await startService({ config, clock })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key)
  const sessionId = await calls.open('one', { a: 1 })
  await calls.chat(sessionId, 'hello')
  const before = [(await calls.get(sessionId)).body, (await calls.messages(sessionId)).body]
  clock.advance(1000)
  const { events } = await calls.chat(sessionId, 'fail')
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'AGENT_ERROR' } })
  expect([(await calls.get(sessionId)).body, (await calls.messages(sessionId)).body]).toEqual(before)
  await service.stop()
})

test.each(vias)('deleting over %s removes the session and its messages but keeps its transactions', async (via) => {
  const service = await startService({ config })
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const calls = new SessionCalls(service, key, via)
  const [sessionId, other] = [await calls.open(), await calls.open()]
  await calls.chat(sessionId, 'hello')
  await calls.chat(other, 'hello')
  const charges = (await service.get(`/api/transactions?sessionId=${sessionId}`, key)).body
  expect(charges).toMatchObject({
    total: 1,
    transactions: [{ type: 'chat_charge', amountUsd: `-${replyCostUsd}`, sessionId }],
  })

  const { body, status } = await calls.delete(sessionId)
  expect([status, body]).toEqual([200, { message: 'Session deleted' }])
  for (const gone of [
    await calls.get(sessionId),
    await calls.messages(sessionId),
    await calls.update(sessionId, { metadata: { a: 1 } }),
    await calls.delete(sessionId),
  ]) {
    expect([gone.status, gone.body]).toEqual([404, notFound])
  }
  const refused = await calls.chat(sessionId, 'hello')
  expect([refused.status, refused.events[0].error.code]).toEqual([404, 'SESSION_NOT_FOUND'])
  const { sessions, total } = (await calls.list()).body
  expect([total, sessions.map(({ id }: { id: string }) => id)]).toEqual([1, [other]])
  expect((await calls.messages(other)).body.total).toBe(2)

  expect((await service.get(`/api/transactions?sessionId=${sessionId}`, key)).body).toEqual(charges)
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('0.9600')
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('completed and expired sessions and their messages can be read and deleted', async () => {
  const clock = new FakeClock()
  const service = await startService({ config, clock })
  const { key } = await service.createPerson()
  const calls = new SessionCalls(service, key)
  const [completed, expired] = [await calls.open(), await calls.open()]
  for (const id of [completed, expired]) await calls.chat(id, 'hello')
  await calls.update(completed, { status: 'completed' })
  clock.advance(dayMs)
  for (const [id, status] of Object.entries({ [completed]: 'completed', [expired]: 'expired' })) {
    expect((await calls.get(id)).body).toMatchObject({ id, status, messageCount: 2 })
    expect((await calls.messages(id)).body.total).toBe(2)
    expect((await calls.delete(id)).status, status).toBe(200)
    expect((await calls.get(id)).status).toBe(404)
  }
  expect((await calls.list()).body.total).toBe(0)
  await service.stop()
})
