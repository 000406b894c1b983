import { expect, test } from 'vitest'
import { defineConfig } from '../../server/agents/define-config.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService } from '../support/test-service.ts'

test('200 states who the caller is, the balance, what is held and until when the account is blocked', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock, limits: { abuseFailures: 1 } })
  const { key, userId } = await service.createPerson({ email: 'Ada@Example.com', balanceUsd: '12.5' })
  const expected = { userId, email: 'ada@example.com', balanceUsd: '12.5000', heldUsd: '0.0000', blockedUntil: null }
  const answer = await service.get('/api/account', key)
  expect([answer.status, answer.body]).toEqual([200, expected])
  await service.runTask(key, 'test.fail')
  const blocked = { ...expected, blockedUntil: '2026-01-15T12:10:00.000Z' }
  expect((await service.get('/api/account', key)).body).toEqual(blocked)
  clock.advance(600_000)
  expect((await service.get('/api/account', key)).body).toEqual(expected)
  await service.stop()
})

test('a new user has a balance of 0.0000', async () => {
  const service = await startService()
  const { key, userId, email } = await service.createPerson({ balanceUsd: '0' })
  expect((await service.get('/api/account', key)).body).toEqual({
    userId,
    email,
    balanceUsd: '0.0000',
    heldUsd: '0.0000',
    blockedUntil: null,
  })
  await service.stop()
})

test('the balance follows credits, charges and refunds at once', async () => {
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

test('every key of a user shows the same account, and another user’s shows theirs', async () => {
  const service = await startService()
  const [one, other] = [await service.createPerson(), await service.createPerson()]
  const { body } = await service.get('/api/account', one.key)
  expect((await service.get('/api/account', await service.createKey(one.userId, ['read']))).body).toEqual(body)
  expect((await service.get('/api/account', other.key)).body.userId).toBe(other.userId)
  await service.stop()
})

test('403 for a key without the scope read', async () => {
  const service = await startService()
  const { key } = await service.createPerson({ scopes: ['execute'] })
  const { body, status } = await service.get('/api/account', key)
  expect(status).toBe(403)
  expect(body).toEqual({
    error: 'Forbidden',
    message: 'This API key has no permission for this operation: it lacks the scope "read".',
    statusCode: 403,
  })
  await service.stop()
})
