import { expect, test } from 'vitest'
import { defineConfig } from '../../../server/agents/config/define-config.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startService } from '../../support/test-service.ts'
import { signUp, signUpAdmin } from '../signed-in.ts'

test('returns the user, balance, held amount and the end of any block', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock, limits: { abuseFailures: 1 } })
  const { key, userId } = await service.createPerson({ email: 'Ada@Example.com', balanceUsd: '12.5' })
  const expected = {
    userId,
    email: 'ada@example.com',
    balanceUsd: '12.5000',
    heldUsd: '0.0000',
    owedUsd: '0.0000',
    notifyBelowUsd: null,
    payments: null,
    blockedUntil: null,
    connectorsBlockedUntil: null,
    isAdmin: false,
    hasPassword: false,
    createdAt: '2026-01-15T12:00:00.000Z',
    rateLimit: { limit: 10, remaining: 10, resetAt: null },
    limits: {
      plan: null,
      executionsPerMinute: 10,
      tasksAtWork: null,
      tasksWaiting: null,
      spendPerDayUsd: null,
      agents: null,
      payloadBytesPerDay: 1_073_741_824,
      payloadsResetAt: expect.any(String),
      used: { tasksAtWork: 0, tasksWaiting: 0, payloadBytesToday: 0, spentTodayUsd: null },
      spendResetsAt: null,
    },
    credential: null,
    maxBodyBytes: 10_485_760,
  }
  const answer = await service.get('/api/account', key)
  expect([answer.status, answer.body]).toEqual([200, expected])
  await service.runTask(key, 'test.fail')
  const blocked = { ...expected, blockedUntil: '2026-01-15T12:10:00.000Z' }
  const used = { limit: 10, remaining: 9, resetAt: '2026-01-15T12:01:00.000Z' }
  expect((await service.get('/api/account', key)).body).toEqual({ ...blocked, rateLimit: used })
  clock.advance(600_000)
  expect((await service.get('/api/account', key)).body).toEqual(expected)
  await service.stop()
})

test('a new user has a balance of 0.0000', async () => {
  const service = await startService()
  const { key, userId, email } = await service.createPerson({ balanceUsd: '0' })
  expect((await service.get('/api/account', key)).body).toMatchObject({
    userId,
    email,
    balanceUsd: '0.0000',
    heldUsd: '0.0000',
    blockedUntil: null,
  })
  await service.stop()
})

test('the balance reflects credits, charges and refunds immediately', async () => {
  const gate = Promise.withResolvers<void>()
  const config = defineConfig({
    agents: [
      {
        kind: 'code',
        id: 'gate',
        name: 'Gate',
        endpoints: {
          fail: {
            description: 'Fails when the gate opens.',
            priceUsd: '0.2500',
            params: {},
            run: async () => {
              await gate.promise
              throw new Error('told to')
            },
          },
        },
      },
    ],
  })
  const service = await startService({ config })
  const { key, userId } = await service.createPerson({ balanceUsd: '0.0001' })
  const balance = async () => (await service.get('/api/account', key)).body.balanceUsd
  await service.app.store.credit({ userId, amount: 10_000, description: 'Top-up', idempotencyKey: null })
  expect(await balance()).toBe('1.0001')
  const { taskId } = (await service.createTask(key, 'gate.fail')).body
  expect(await balance()).toBe('0.7501')
  gate.resolve()
  await service.get(`/api/tasks/${taskId}?wait=10`, key)
  expect(await balance()).toBe('1.0001')
  await service.stop()
})

test('every key returns the account of its own user', async () => {
  const service = await startService()
  const [one, other] = [await service.createPerson(), await service.createPerson()]
  const { body } = await service.get('/api/account', one.key)
  expect((await service.get('/api/account', await service.createKey(one.userId, ['read']))).body).toEqual(body)
  expect((await service.get('/api/account', other.key)).body.userId).toBe(other.userId)
  await service.stop()
})

test('the rate limit in the body matches the X-RateLimit headers', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock, limits: { executionsPerMinute: 3 } })
  const { key } = await service.createPerson()
  const read = async () => {
    const { body, headers } = await service.get('/api/account', key)
    const { limit, remaining, resetAt } = body.rateLimit
    const told = ['Limit', 'Remaining', 'Reset'].map((name) => Number(headers.get(`X-RateLimit-${name}`)))
    // If no execution counts toward the limit, the header contains the time of the response.
    const reset = resetAt === null ? clock.now() : Date.parse(resetAt)
    expect(told).toEqual([limit, remaining, Math.ceil(reset / 1000)])
    return body.rateLimit
  }
  expect(await read()).toEqual({ limit: 3, remaining: 3, resetAt: null })
  clock.advance(1)
  for (let remaining = 2; remaining >= 0; remaining--) {
    await service.runTask(key, 'test.echo')
    clock.advance(10_000)
    expect(await read()).toEqual({ limit: 3, remaining, resetAt: '2026-01-15T12:01:00.001Z' })
  }
  expect((await service.createTask(key, 'test.echo')).status).toBe(429)
  expect(await read()).toMatchObject({ remaining: 0 })
  clock.advance(30_000)
  expect(await read()).toEqual({ limit: 3, remaining: 1, resetAt: '2026-01-15T12:01:10.001Z' })
  await service.stop()
})

test('without a rate limit the body shows 0 and no headers are sent', async () => {
  const service = await startService({ limits: { executionsPerMinute: 0 } })
  const { key } = await service.createPerson()
  await service.runTask(key, 'test.echo')
  const { body, headers } = await service.get('/api/account', key)
  expect(body.rateLimit).toMatchObject({ limit: 0, remaining: 0 })
  expect(headers.has('X-RateLimit-Limit')).toBe(false)
  await service.stop()
})

test('the account of a browser login shows whether the user has a password and is an admin', async () => {
  const service = await startService()
  const admin = await signUpAdmin(service, { passwordHash: 'of a password' })
  expect((await admin.browser.get('/api/account')).body).toMatchObject({ isAdmin: true, hasPassword: true })
  const person = await signUp(service)
  const { body } = await person.browser.get('/api/account')
  expect(body).toMatchObject({ isAdmin: false, hasPassword: false })
  expect(JSON.stringify((await admin.browser.get('/api/account')).body)).not.toContain('of a password')
  await service.stop()
})

test('returns 403 for a key without the scope read', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ scopes: ['execute'] })
  const { body, status } = await service.get('/api/account', key)
  expect(status).toBe(403)
  expect(body).toEqual({
    error: 'Forbidden',
    message: 'This API key lacks permission for this operation. Use a credential with the scope "read".',
    statusCode: 403,
    code: 'FORBIDDEN',
  })
  await service.stop()
})
