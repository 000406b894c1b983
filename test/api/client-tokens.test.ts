import { expect, test } from 'vitest'
import { draftKey } from '../../server/auth/keys/manage-keys.ts'
import { defineConfig } from '../../server/agents/config/define-config.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type Answer, type TestService } from '../support/test-service.ts'
import { PlatformCalls } from './platform-calls.ts'
import { sessionAgents } from './session-calls.ts'
import { expectStatus, signUp } from './signed-in.ts'

// A message to `one` or `two` costs 0.02 USD, and a task of `job.run` costs 0.01 USD.
const config = defineConfig({
  agents: [
    ...sessionAgents.agents,
    {
      kind: 'code',
      id: 'job',
      name: 'Job',
      endpoints: {
        run: { description: 'Is a task.', priceUsd: '0.0100', params: {}, run: () => ({ done: true }) },
        wait: {
          description: 'Ends when it is stopped.',
          priceUsd: '0.0100',
          params: {},
          run: ({ signal }) =>
            new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        },
      },
    },
  ],
})

const free = { executionsPerMinute: 0 }

function start(options: Parameters<typeof startService>[0] = {}): Promise<TestService> {
  return startService({ config, limits: free, ...options })
}

async function tokenBy(service: TestService, key: string, input: object = {}) {
  return await expectStatus(200, service.post('/api/client-tokens', input, { key }))
}

const task = { endpointId: 'job.run', params: {} }
const chat = (service: TestService, key: string, sessionId: string) =>
  service.post('/api/chat', { sessionId, message: 'Hello' }, { key, headers: { Accept: 'application/json' } })
const openSession = async (service: TestService, key: string, agentId = 'one'): Promise<string> =>
  (await expectStatus(200, service.post('/api/sessions', { agentId }, { key }))).sessionId
const outcomeOf = ({ body, status }: Answer) => [status, body.code]

test('keys, logins and acting platforms can create tokens, which are shown once and can be revoked', async () => {
  const service = await start()
  const { key, userId } = await service.createPerson()
  const { browser } = await signUp(service)
  const platform = await PlatformCalls.open(service)
  const external = await platform.newUser('customer-1')
  const { token, ...made } = await tokenBy(service, key, { expiresInSeconds: 60 })
  expect(token).toMatch(/^errand_ct_[0-9A-Za-z]{36}$/)
  expect(made).toEqual({
    id: expect.stringMatching(/^ctok_/),
    userId,
    scopes: ['read', 'execute'],
    agents: null,
    sessionId: null,
    taskId: null,
    maxCostUsd: null,
    usedUsd: '0.0000',
    once: false,
    createdBy: expect.stringMatching(/^key_/),
    createdAt: expect.any(String),
    expiresAt: expect.any(String),
    revokedAt: null,
  })
  expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).toBe(60_000)
  await expectStatus(200, browser.post('/api/client-tokens', {}))
  const acting = await expectStatus(200, platform.post('/api/client-tokens', { scopes: ['read'] }, { user: external }))
  expect(acting).toMatchObject({ userId: external, scopes: ['read'] })
  expect((await service.get('/api/tasks', acting.token)).body.total).toBe(0)
  expect(outcomeOf(await service.post('/api/tasks', task, { key: acting.token }))).toEqual([403, 'FORBIDDEN'])

  expect((await service.post('/api/tasks', task, { key: token })).status).toBe(200)
  const revoked = await expectStatus(200, service.request('DELETE', `/api/client-tokens/${made.id}`, { key }))
  // Spend is also counted without a cap.
  expect(revoked).toEqual({ ...made, usedUsd: expect.stringMatching(/[1-9]/), revokedAt: expect.any(String) })
  expect(await expectStatus(200, service.request('DELETE', `/api/client-tokens/${made.id}`, { key }))).toEqual(revoked)
  expect(outcomeOf(await service.post('/api/tasks', task, { key: token }))).toEqual([401, 'UNAUTHORIZED'])
  // For another user, the token's id looks the same as an unknown one.
  const other = await service.createPerson()
  const [foreign, nobody] = await Promise.all(
    [acting.id, 'ctok_nobody'].map((id) => service.request('DELETE', `/api/client-tokens/${id}`, { key: other.key })),
  )
  expect([foreign!.status, foreign!.body]).toEqual([404, nobody!.body])
  expect((await service.get('/api/tasks', acting.token)).status).toBe(200)
  await service.stop()
})

test("a token has at most its creator's scopes and cannot manage the account", async () => {
  const service = await start()
  const { key, userId } = await service.createPerson()
  const reader = await service.createKey(userId, ['read'])
  const manager = await service.createKey(userId, ['manage'])
  const executor = await service.createKey(userId, ['execute'])
  const both = await service.createKey(userId, ['read', 'manage'])
  const platform = await PlatformCalls.open(service)
  const make = (by: string, input: object = {}) => service.post('/api/client-tokens', input, { key: by })
  expect(outcomeOf(await make(reader))).toEqual([403, 'FORBIDDEN'])
  expect(outcomeOf(await make(manager))).toEqual([403, 'FORBIDDEN'])
  expect(outcomeOf(await make(executor, { scopes: ['read'] }))).toEqual([403, 'FORBIDDEN'])
  expect((await make(executor)).body.scopes).toEqual(['execute'])
  expect((await make(both)).body.scopes).toEqual(['read'])
  expect(outcomeOf(await make(both, { scopes: ['read', 'execute'] }))).toEqual([403, 'FORBIDDEN'])
  expect(outcomeOf(await make(executor, { scopes: ['pay'] }))).toEqual([403, 'FORBIDDEN'])
  expect((await make(manager, { scopes: ['pay'] })).body.scopes).toEqual(['pay'])
  expect(outcomeOf(await make(platform.key))).toEqual([403, 'FORBIDDEN'])
  const { token } = await tokenBy(service, key)
  for (const [method, path] of [
    ['POST', '/api/client-tokens'],
    ['GET', '/api/client-tokens'],
    ['POST', '/api/keys'],
    ['GET', '/api/keys'],
    ['GET', '/api/transactions'],
    ['GET', '/api/connectors'],
    ['GET', '/api/webhooks'],
    ['GET', '/api/users'],
    ['POST', '/api/logout'],
  ] as const) {
    const answer = await service.request(method, path, {
      key: token,
      ...(method === 'POST' && { body: { name: 'x' } }),
    })
    expect(outcomeOf(answer), path).toEqual([403, 'FORBIDDEN'])
  }
  const named = { key: token, headers: { 'Errand-User': userId } }
  expect(outcomeOf(await service.request('GET', '/api/tasks', named))).toEqual([403, 'FORBIDDEN'])
  await service.stop()
})

test.each([
  ['scopes[0]', { scopes: ['manage'] }],
  ['scopes', { scopes: [] }],
  ['agents', { agents: [] }],
  ['expiresInSeconds', { expiresInSeconds: 3601 }],
  ['expiresInSeconds', { expiresInSeconds: 0 }],
  ['maxCostUsd', { maxCostUsd: '-1' }],
  ['taskId', { sessionId: 'ses_1', taskId: 'task_1' }],
  ['once', { once: 'yes' }],
  ['once', { once: true, taskId: 'task_1' }],
  ['once', { once: true, scopes: ['read'] }],
  ['maxCostUsd', { maxCostUsd: '1', scopes: ['read'] }],
])('returns 400 and names %s for %j', async (path, input) => {
  const service = await start()
  const { key } = await service.createPerson()
  const { details } = await expectStatus(400, service.post('/api/client-tokens', input, { key }))
  expect(details[0].path).toBe(path)
  await service.stop()
})

test('a token stops working on its expiry, on user suspension and when its creator credential ends', async () => {
  const clock = new FakeClock()
  const service = await start({ clock })
  const { key, userId } = await service.createPerson()
  const { browser } = await signUp(service)
  const platform = await PlatformCalls.open(service)
  const { token: short } = await tokenBy(service, key, { expiresInSeconds: 10 })
  const byKey = (await tokenBy(service, key)).token
  const byLogin = (await expectStatus(200, browser.post('/api/client-tokens', {}))).token
  const byPlatform = (await expectStatus(200, platform.post('/api/client-tokens', {}, { user: userId }))).token
  const expiring = await service.createKey(userId, ['read', 'execute'], clock.now() + 20_000)
  const byExpiring = (await tokenBy(service, expiring, { expiresInSeconds: 3600 })).token
  const status = async (token: string) => (await service.get('/api/tasks', token)).status
  expect(await Promise.all([short, byKey, byLogin, byPlatform, byExpiring].map(status))).toEqual([
    200, 200, 200, 200, 200,
  ])
  clock.advance(10_000)
  expect(await Promise.all([short, byKey, byExpiring].map(status))).toEqual([401, 200, 200])
  clock.advance(10_000)
  expect(await status(byExpiring)).toBe(401)
  await service.app.store.updateUser({ userId, isSuspended: true })
  expect(await status(byKey)).toBe(403)
  await service.app.store.updateUser({ userId, isSuspended: false })
  expect(await status(byKey)).toBe(200)
  const { keys } = (await service.get('/api/keys', key)).body
  for (const { id } of keys) await service.app.store.revokeKey({ userId, keyId: id })
  await browser.post('/api/logout', {})
  await service.app.store.platform.revokeKey(platform.keyId)
  expect(await Promise.all([byKey, byLogin, byPlatform].map(status))).toEqual([401, 401, 401])
  await service.stop()
})

test('a session token can access only that session', async () => {
  const service = await start()
  const { key } = await service.createPerson()
  const [own, other] = [await openSession(service, key), await openSession(service, key)]
  const foreign = await openSession(service, (await service.createPerson()).key)
  const { body: created } = await service.post('/api/tasks', task, { key })
  const { token } = await tokenBy(service, key, { sessionId: own })
  expect((await chat(service, token, own)).status).toBe(200)
  expect((await service.get(`/api/sessions/${own}`, token)).body.messageCount).toBe(2)
  expect((await service.get(`/api/sessions/${own}/messages`, token)).body.total).toBe(2)
  for (const id of [other, foreign, 'ses_nobody']) {
    for (const path of [`/api/sessions/${id}`, `/api/sessions/${id}/messages`]) {
      const answer = await service.get(path, token)
      expect([answer.status, answer.body.message], path).toEqual([404, 'Session not found. Check the id.'])
    }
    expect((await chat(service, token, id)).status).toBe(404)
  }
  const byRpc = `/trpc/sessions.get?input=${encodeURIComponent(JSON.stringify({ json: { sessionId: other } }))}`
  expect((await service.get(byRpc, token)).status).toBe(404)
  for (const [method, path, body] of [
    ['GET', '/api/sessions'],
    ['GET', '/api/tasks'],
    ['GET', '/api/agents'],
    ['GET', `/api/tasks/${created.taskId}`],
    ['POST', '/api/tasks', task],
    ['POST', '/api/sessions', { agentId: 'one' }],
    ['DELETE', `/api/sessions/${own}`],
    ['PATCH', `/api/sessions/${own}`, { status: 'completed' }],
    ['POST', '/api/quotes', { task }],
  ] as const) {
    expect(outcomeOf(await service.request(method, path, { key: token, body })), path).toEqual([403, 'FORBIDDEN'])
  }
  expect((await service.get(`/api/sessions/${other}`, key)).body.messageCount).toBe(0)
  for (const sessionId of [foreign, 'ses_nobody']) {
    const refused = await service.post('/api/client-tokens', { sessionId }, { key })
    expect([refused.status, refused.body.message]).toEqual([404, 'Session not found. Check the id.'])
  }
  await service.stop()
})

test('a task token can read, follow and cancel only that task', async () => {
  const service = await start()
  const { key } = await service.createPerson()
  const create = async (endpointId: string, by = key): Promise<string> =>
    (await expectStatus(200, service.post('/api/tasks', { endpointId, params: {} }, { key: by }))).taskId
  const [own, other] = [await create('job.wait'), await create('job.run')]
  const foreign = await create('job.run', (await service.createPerson()).key)
  const { token } = await tokenBy(service, key, { taskId: own })
  expect((await service.get(`/api/tasks/${own}`, token)).body.id).toBe(own)
  for (const id of [other, foreign, 'task_nobody']) {
    for (const path of [`/api/tasks/${id}`, `/api/tasks/${id}/events`]) {
      const answer = await service.get(path, token)
      expect([answer.status, answer.body.message], path).toEqual([404, 'Task not found. Check the id.'])
    }
    expect((await service.post(`/api/tasks/${id}/cancel`, {}, { key: token })).status).toBe(404)
  }
  for (const path of ['/api/tasks', '/api/sessions', '/api/agents']) {
    expect(outcomeOf(await service.get(path, token)), path).toEqual([403, 'FORBIDDEN'])
  }
  expect(outcomeOf(await service.post('/api/tasks', task, { key: token }))).toEqual([403, 'FORBIDDEN'])
  const { token: reader } = await tokenBy(service, key, { taskId: own, scopes: ['read'] })
  expect((await service.post(`/api/tasks/${own}/cancel`, {}, { key: reader })).status).toBe(403)
  expect((await service.post(`/api/tasks/${own}/cancel`, {}, { key: token })).body.status).toBe('failed')
  expect((await service.get(`/api/tasks/${own}/events`, token)).body).toContain('"failed"')
  await service.stop()
})

test('a one-time token allows exactly one of many concurrent tasks and chats', async () => {
  const service = await start()
  const { key } = await service.createPerson()
  const sessions = await Promise.all(Array.from({ length: 4 }, () => openSession(service, key)))
  const { token } = await tokenBy(service, key, { once: true })
  const answers = await Promise.all([
    ...Array.from({ length: 96 }, () => service.post('/api/tasks', task, { key: token })),
    ...sessions.map((sessionId) => chat(service, token, sessionId)),
  ])
  const accepted = answers.filter(({ status }) => status === 200)
  expect(accepted).toHaveLength(1)
  for (const answer of answers) {
    if (answer !== accepted[0]) expect(answer.status).toBe(403)
  }
  const { total } = (await service.get('/api/transactions?type=task_charge', key)).body
  const { total: chats } = (await service.get('/api/transactions?type=chat_charge', key)).body
  expect(total + chats).toBe(1)
  expect(outcomeOf(await service.post('/api/tasks', task, { key: token }))).toEqual([403, 'FORBIDDEN'])
  // The token may still read the tasks that it created.
  expect((await service.get('/api/tasks', token)).status).toBe(200)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('an idempotent retry with a one-time token gets the first response', async () => {
  const service = await start()
  const { key } = await service.createPerson()
  const { token } = await tokenBy(service, key, { once: true })
  const create = () => service.post('/api/tasks', task, { key: token, headers: { 'Idempotency-Key': 'once' } })
  const first = await expectStatus(200, create())
  expect(await expectStatus(200, create())).toEqual(first)
  await service.stop()
})

test('a request rejected for another reason does not use up a one-time token', async () => {
  const service = await start()
  const { key, userId } = await service.createPerson({ balanceUsd: '0' })
  const { token } = await tokenBy(service, key, { once: true })
  expect((await service.post('/api/tasks', task, { key: token })).body.code).toBe('INSUFFICIENT_BALANCE')
  await service.app.store.credit({ userId, amount: 100, description: 'x', idempotencyKey: null })
  expect((await service.post('/api/tasks', task, { key: token })).status).toBe(200)
  await service.stop()
})

test('a user can have 1000 active tokens; the next is rejected', async () => {
  const service = await start({ limits: { ...free, writesPerMinute: 0 } })
  const { key, userId } = await service.createPerson()
  const { store } = service.app
  const { id: keyId } = (await service.get('/api/keys', key)).body.keys[0]
  const draft = { userId, scopes: ['read' as const], agents: null, sessionId: null, taskId: null, maxCost: null }
  const own = Array.from({ length: 1000 }, (_, n) => ({
    ...draft,
    isOnce: false,
    createdBy: keyId,
    lifeMs: 3_600_000,
    tokenHash: `${n}`,
  }))
  await Promise.all(own.map((input) => store.platform.createToken(input)))
  expect(outcomeOf(await service.post('/api/client-tokens', {}, { key }))).toEqual([409, 'CONFLICT'])
  await service.stop()
})

test('token spending stays within its cap for 100 concurrent tasks and for chats', async () => {
  const service = await start()
  const { key } = await service.createPerson()
  const { token } = await tokenBy(service, key, { maxCostUsd: '0.05' })
  const answers = await Promise.all(Array.from({ length: 100 }, () => service.post('/api/tasks', task, { key: token })))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
  const refused = answers.find(({ status }) => status !== 200)
  expect(outcomeOf(refused!)).toEqual([403, 'LIMIT_REACHED'])
  const sessionId = await openSession(service, key)
  expect(outcomeOf(await chat(service, token, sessionId))).toEqual([403, 'LIMIT_REACHED'])
  const { token: talking } = await tokenBy(service, key, { sessionId, maxCostUsd: '0.03' })
  expect((await chat(service, talking, sessionId)).status).toBe(200)
  // The second reply may cost only what is left of the limit, so it is cut off there.
  await chat(service, talking, sessionId)
  expect(outcomeOf(await chat(service, talking, sessionId))).toEqual([403, 'LIMIT_REACHED'])
  const { transactions } = (await service.get('/api/transactions?type=chat_charge', key)).body
  const spent = transactions.reduce((sum: number, { amountUsd }: { amountUsd: string }) => sum - Number(amountUsd), 0)
  expect(spent).toBeLessThanOrEqual(0.03)
  expect((await service.post('/api/tasks', task, { key })).status).toBe(200)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('spending with a token also counts toward the spend limit of its creator key', async () => {
  const service = await start()
  const { key, userId } = await service.createPerson()
  const own = draftKey({ userId, name: 'limited', scopes: ['read', 'execute'], expiresAt: null })
  await service.app.store.createKey({ ...own.key, spendLimit: 300, spendReset: 'never' })
  const made = { key: own.token }
  const { token } = await tokenBy(service, made.key, { maxCostUsd: '0.02' })
  const { token: second } = await tokenBy(service, made.key)
  const create = (by: string) => service.post('/api/tasks', task, { key: by })
  expect([(await create(token)).status, (await create(token)).status]).toEqual([200, 200])
  expect(outcomeOf(await create(token))).toEqual([403, 'LIMIT_REACHED'])
  expect((await create(made.key)).status).toBe(200)
  for (const by of [second, made.key]) expect(outcomeOf(await create(by))).toEqual([403, 'LIMIT_REACHED'])
  expect((await create(key)).status).toBe(200)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test("a token runs only its own agents, a subset of its creator's", async () => {
  const service = await start()
  const { key } = await service.createPerson()
  const { token } = await tokenBy(service, key, { agents: ['one', 'one'] })
  const sessionId = await openSession(service, token, 'one')
  expect((await chat(service, token, sessionId)).status).toBe(200)
  const other = await openSession(service, key, 'two')
  expect(outcomeOf(await service.post('/api/sessions', { agentId: 'two' }, { key: token }))).toEqual([403, 'FORBIDDEN'])
  expect(outcomeOf(await chat(service, token, other))).toEqual([403, 'FORBIDDEN'])
  expect(outcomeOf(await service.post('/api/tasks', task, { key: token }))).toEqual([403, 'FORBIDDEN'])
  const unknown = await service.post('/api/client-tokens', { agents: ['nobody'] }, { key })
  expect([unknown.status, unknown.body.details?.[0].path]).toEqual([400, 'agents[0]'])
  const limited = await expectStatus(
    200,
    service.post('/api/keys', { name: 'limited', agents: ['one', 'job'] }, { key }),
  )
  const beyond = await service.post('/api/client-tokens', { agents: ['one', 'two'] }, { key: limited.key })
  expect(outcomeOf(beyond)).toEqual([403, 'FORBIDDEN'])
  const inherited = await tokenBy(service, limited.key)
  expect(inherited.agents).toEqual(['one', 'job'])
  expect((await service.post('/api/tasks', task, { key: inherited.token })).status).toBe(200)
  await service.stop()
})
