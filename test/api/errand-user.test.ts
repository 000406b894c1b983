import { expect, test } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { RawConnection } from '../support/raw-http.ts'
import { startService } from '../support/test-service.ts'
import { PlatformCalls } from './platform-calls.ts'
import { signUp } from './signed-in.ts'

test("acting for a user, by internal or external id, uses that user's balance and rate limit", async () => {
  const service = await startService({ limits: { executionsPerMinute: 3 } })
  const platform = await PlatformCalls.open(service)
  const userId = await platform.newUser('customer-1')
  const other = await platform.newUser('customer-2')
  const task = { endpointId: 'test.echo', params: { text: 'hello' } }
  const created = await platform.post('/api/tasks', task, { user: userId })
  expect(created.status).toBe(200)
  expect(created.headers.get('x-ratelimit-remaining')).toBe('2')
  const path = `/api/tasks/${created.body.taskId}?wait=20`
  expect((await platform.get(path, 'ext:customer-1')).body).toMatchObject({
    userId,
    status: 'completed',
    costUsd: '0.0100',
  })
  const byRpc = await platform.post('/trpc/tasks.create', { json: task }, { user: 'ext:customer-1' })
  expect(byRpc.status).toBe(200)
  const listed = await platform.get(`/trpc/tasks.list?input=${encodeURIComponent('{"json":{}}')}`, userId)
  expect(listed.body.result.data.json.total).toBe(2)
  // Another user of the same platform does not see these tasks.
  expect((await platform.get(path, other)).status).toBe(404)
  expect((await platform.get('/api/tasks', 'ext:customer-2')).body.total).toBe(0)
  expect((await platform.get('/api/account', userId)).body).toMatchObject({ userId, balanceUsd: '9.9800' })
  expect((await platform.get('/api/account', other)).body.balanceUsd).toBe('10.0000')
  expect((await platform.post('/api/tasks', task, { user: userId })).status).toBe(200)
  expect((await platform.post('/api/tasks', task, { user: userId })).status).toBe(429)
  expect((await platform.post('/api/tasks', task, { user: other })).status).toBe(200)
  await service.stop()
})

test('rejects manage and platform operations while a platform key acts for a user', async () => {
  const service = await startService()
  const platform = await PlatformCalls.open(service)
  const userId = await platform.newUser('customer-1')
  const calls = [
    platform.get('/api/keys', userId),
    platform.post('/api/keys', { name: 'x' }, { user: userId }),
    platform.post('/api/webhooks', { url: 'https://example.com' }, { user: userId }),
    platform.get('/api/logins', userId),
    platform.get('/api/users', userId),
    platform.post(`/api/users/${userId}/credit`, { amountUsd: '1', reason: 'x' }, { user: userId }),
    platform.post('/api/account/password', { newPassword: 'correct horse battery' }, { user: userId }),
    platform.get('/api/system', userId),
  ]
  for (const [index, { body, status }] of (await Promise.all(calls)).entries()) {
    expect([status, body.code], `call ${index}`).toEqual([403, 'FORBIDDEN'])
  }
  await service.stop()
})

test('rejects Errand-User with a user key, with a cookie or without the scope act', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const { browser, userId: own } = await signUp(service)
  const unscoped = await PlatformCalls.open(service, { scopes: ['users', 'credit', 'limits'] })
  for (const answer of [
    await service.request('GET', '/api/account', { key, headers: { 'Errand-User': userId } }),
    await browser.request('GET', '/api/account', { headers: { 'Errand-User': own } }),
    await unscoped.get('/api/account', userId),
  ]) {
    expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN'])
  }
  // A request without a valid key gets a 401 that says nothing else.
  expect((await service.request('GET', '/api/account', { headers: { 'Errand-User': userId } })).status).toBe(401)
  await service.stop()
})

test('rejects unknown users and admins identically; a suspended user gets its own message', async () => {
  const service = await startService()
  const admin = await service.createPerson({ isAdmin: true })
  const platform = await PlatformCalls.open(service)
  const userId = await platform.newUser('customer-1')
  const [first, ...rest] = await Promise.all(
    ['user_nobody', 'ext:nobody', 'ext:Customer-1', admin.userId, platform.keyId].map((user) =>
      platform.get('/api/account', user),
    ),
  )
  expect([first!.status, first!.body.code]).toEqual([403, 'FORBIDDEN'])
  for (const { body, status } of rest) expect([status, body]).toEqual([first!.status, first!.body])
  await platform.call('PATCH', `/api/users/${userId}`, { body: { isSuspended: true } })
  const suspended = await platform.get('/api/account', userId)
  expect([suspended.status, suspended.body.message]).toEqual([403, 'This account is suspended. Contact an admin.'])
  await service.stop()
})

test.each(['', 'ext:', 'ext:%', 'ext:%ff', 'ext:a b', 'user_1,user_2', 'ext:a, ext:b', 'ext:..'])(
  'returns 400 for the Errand-User header %j',
  async (value) => {
    const service = await startService()
    const platform = await PlatformCalls.open(service)
    const { body, status } = await platform.get('/api/account', value)
    expect([status, body.details?.[0].path]).toEqual([400, 'Errand-User'])
    await service.stop()
  },
)

test('rejects a repeated Errand-User header, even with the same user', async () => {
  const service = await startService()
  const platform = await PlatformCalls.open(service)
  const userId = await platform.newUser('customer-1')
  using connection = await RawConnection.open(service.url)
  const named = `Errand-User: ${userId}\r\n`
  await connection.send(
    `GET /api/account HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${platform.key}\r\n${named}${named}\r\n`,
  )
  const { body, status } = must(await connection.readAnswer(), 'an answer')
  expect([status, body.details[0].path]).toEqual([400, 'Errand-User'])
  await service.stop()
})
