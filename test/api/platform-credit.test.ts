import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { startService } from '../support/test-service.ts'
import { PlatformCalls } from './platform-calls.ts'

const dayMs = 86_400_000

test('a key credits exactly up to its daily limit, which debits do not raise', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { userId } = await service.createPerson({ balanceUsd: '0' })
  const platform = await PlatformCalls.open(service, { creditPerDayUsd: '10' })
  const credit = (amountUsd: string, headers = {}) =>
    platform.post(`/api/users/${userId}/credit`, { amountUsd, reason: 'x' }, { headers })
  const balance = async () => (await platform.get(`/api/users/${userId}`)).body.balanceUsd
  expect((await credit('6')).status).toBe(200)
  const over = await credit('4.0001')
  expect([over.status, over.body.code]).toEqual([403, 'LIMIT_REACHED'])
  expect(over.body.message).toContain('at most 10.0000 USD per UTC day and has credited 6.0000 USD today')
  expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await credit('-6')).status).toBe(200)
  expect((await credit('4.0001')).status).toBe(403)
  const keyed = { 'Idempotency-Key': 'once' }
  expect((await credit('4', keyed)).status).toBe(200)
  // A repeat gets the same response and credits nothing.
  expect((await credit('4', keyed)).body.balanceUsd).toBe('4.0000')
  expect((await credit('0.0001')).status).toBe(403)
  expect(await balance()).toBe('4.0000')
  expect((await service.app.store.platform.getKey(platform.keyId))!.creditedToday).toBe(100_000)
  clock.advance(dayMs)
  expect((await credit('10')).status).toBe(200)
  expect((await credit('0.0001')).status).toBe(403)
  expect(await balance()).toBe('14.0000')
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('parallel credits to many accounts together stay within the limit', async () => {
  const service = await startService()
  const platform = await PlatformCalls.open(service, { creditPerDayUsd: '7' })
  const people = await Promise.all(Array.from({ length: 30 }, () => service.createPerson({ balanceUsd: '0' })))
  const answers = await Promise.all(
    people.map(({ userId }) => platform.post(`/api/users/${userId}/credit`, { amountUsd: '0.5', reason: 'x' })),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(14)
  expect(answers.filter(({ status }) => status === 403)).toHaveLength(16)
  const { users } = (await platform.get('/api/users')).body
  const funded = users.filter(({ balanceUsd }: { balanceUsd: string }) => balanceUsd === '0.5000')
  expect(funded).toHaveLength(14)
  await service.stop()
})

test('a key debits a user at most the amount that platform keys have credited', async () => {
  const service = await startService()
  const { userId } = await service.createPerson({ balanceUsd: '10' })
  const platform = await PlatformCalls.open(service)
  const change = (amountUsd: string) => platform.post(`/api/users/${userId}/credit`, { amountUsd, reason: 'x' })
  const none = await change('-0.0001')
  expect([none.status, none.body.code]).toEqual([403, 'FORBIDDEN'])
  expect((await change('3')).status).toBe(200)
  // A new platform key can debit what an earlier one credited.
  const successor = await PlatformCalls.open(service)
  const path = `/api/users/${userId}/credit`
  expect((await successor.post(path, { amountUsd: '-1', reason: 'x' })).status).toBe(200)
  const over = await change('-2.0001')
  expect(over.status).toBe(403)
  expect(over.body.message).toContain('at most 2.0000 USD')
  const both = await Promise.all([change('-2'), change('-2')])
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 403])
  expect((await service.app.store.getAccount(userId))!.balance).toBe(100_000)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('a key debits up to its daily limit across all users', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const open = await PlatformCalls.open(service)
  const userIds = await Promise.all(Array.from({ length: 20 }, (_, n) => open.newUser(`customer-${n}`, '5')))
  const platform = await PlatformCalls.open(service, { creditPerDayUsd: '1' })
  const take = (userId: string) =>
    platform.post(`/api/users/${userId}/credit`, { amountUsd: '-0.2', reason: 'Corrected' })
  const answers = await Promise.all(userIds.map(take))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
  expect(answers.find(({ status }) => status === 403)!.body).toMatchObject({ code: 'LIMIT_REACHED' })
  // A debit does not raise the remaining credit limit.
  const credited = { amountUsd: '1', reason: 'x' }
  expect((await platform.post(`/api/users/${userIds[0]}/credit`, credited)).status).toBe(200)
  expect(await service.app.store.platform.getKey(platform.keyId)).toMatchObject({
    creditedToday: 10_000,
    takenToday: 10_000,
  })
  clock.advance(dayMs)
  expect((await take(userIds[0]!)).status).toBe(200)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('a key that is revoked during a credit cannot credit anything afterwards', async () => {
  const service = await startService()
  const { userId } = await service.createPerson({ balanceUsd: '0' })
  const platform = await PlatformCalls.open(service)
  const { store } = service.app
  const ofKey = { description: 'x', idempotencyKey: null, platformKeyId: platform.keyId }
  expect(await store.credit({ userId, amount: 1, ...ofKey })).toMatchObject({ outcome: 'credited' })
  const [, late] = await Promise.all([
    store.platform.revokeKey(platform.keyId),
    store.credit({ userId, amount: 1, ...ofKey }),
  ])
  const { outcome } = late
  expect(await store.credit({ userId, amount: 1, ...ofKey })).toEqual({ outcome: 'refused', reason: 'limit' })
  expect((await store.getAccount(userId))!.balance).toBe(outcome === 'credited' ? 2 : 1)
  const answer = await platform.post(`/api/users/${userId}/credit`, { amountUsd: '1', reason: 'x' })
  expect(answer.status).toBe(401)
  await service.stop()
})
