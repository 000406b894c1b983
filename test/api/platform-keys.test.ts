import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { newDataDir, startService, type TestService } from '../support/test-service.ts'
import { PlatformCalls } from './platform-calls.ts'
import { expectStatus, signUp, signUpAdmin } from './signed-in.ts'

test('an admin creates a platform key, which is shown once, lists it and revokes it', async () => {
  const service = await startService()
  const { browser } = await signUpAdmin(service)
  const draft = { name: 'shop', scopes: ['users', 'credit'], addresses: ['127.0.0.0/8', '::1'], creditPerDayUsd: '50' }
  const { key, ...made } = await expectStatus(200, browser.post('/api/platform-keys', draft))
  expect(key).toMatch(/^errand_pk_[0-9A-Za-z]{36}$/)
  expect(made).toEqual({
    id: expect.stringMatching(/^pkey_/),
    name: 'shop',
    hint: key.slice(-4),
    scopes: ['users', 'credit'],
    addresses: ['127.0.0.0/8', '::1'],
    creditPerDayUsd: '50.0000',
    creditedTodayUsd: '0.0000',
    takenTodayUsd: '0.0000',
    usersCreated: 0,
    createdAt: expect.any(String),
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
  })
  expect(await expectStatus(200, browser.get('/api/platform-keys'))).toEqual({
    keys: [made],
    total: 1,
    limit: 50,
    offset: 0,
  })
  expect((await service.get('/api/users', key)).status).toBe(200)
  const revoked = await expectStatus(200, browser.delete(`/api/platform-keys/${made.id}`))
  expect(revoked).toMatchObject({ id: made.id, revokedAt: expect.any(String) })
  expect(await expectStatus(200, browser.delete(`/api/platform-keys/${made.id}`))).toEqual(revoked)
  const refused = await service.get('/api/users', key)
  expect([refused.status, refused.body.message]).toEqual([
    401,
    `The platform key ${key.slice(0, 14)}… is invalid or revoked. Send an active key.`,
  ])
  await expectStatus(404, browser.delete('/api/platform-keys/pkey_nobody'))
  await service.stop()
})

test('only an admin in a browser can create, list or revoke platform keys', async () => {
  const service = await startService()
  const { browser } = await signUp(service)
  const admin = await service.createPerson({ isAdmin: true })
  const platform = await PlatformCalls.open(service)
  const draft = { name: 'own', scopes: ['users'] }
  for (const answer of [
    await browser.post('/api/platform-keys', draft),
    await browser.get('/api/platform-keys'),
    await browser.delete(`/api/platform-keys/${platform.keyId}`),
    await service.post('/api/platform-keys', draft, { key: admin.key }),
    await platform.post('/api/platform-keys', draft),
    await platform.get('/api/platform-keys'),
    await platform.call('DELETE', `/api/platform-keys/${platform.keyId}`),
  ]) {
    expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN'])
  }
  expect((await platform.get('/api/users')).status).toBe(200)
  await service.stop()
})

test.each([
  ['name', { name: '' }],
  ['scopes', { scopes: [] }],
  ['scopes[0]', { scopes: ['manage'] }],
  ['addresses', { addresses: [] }],
  ['addresses[0]', { addresses: ['10.0.0.0/33'] }],
  ['addresses[1]', { addresses: ['10.0.0.1', 'example.com'] }],
  ['addresses[0]', { addresses: ['2001:db8::/129'] }],
  ['addresses[0]', { addresses: ['10.0.0.0/8/8'] }],
  ['addresses', { addresses: Array.from({ length: 51 }, () => '10.0.0.1') }],
  ['creditPerDayUsd', { creditPerDayUsd: '-1' }],
  ['creditPerDayUsd', { creditPerDayUsd: '1.00001' }],
  ['expiresInDays', { expiresInDays: 0 }],
])('returns 400 for invalid %s and creates no key', async (path, wrong) => {
  const service = await startService()
  const { browser } = await signUpAdmin(service)
  const body = { name: 'shop', scopes: ['users'], ...wrong }
  const { details } = await expectStatus(400, browser.post('/api/platform-keys', body))
  expect(details[0].path).toBe(path)
  expect((await browser.get('/api/platform-keys')).body.total).toBe(0)
  await service.stop()
})

test('rejects a platform key after its expiry', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const platform = await PlatformCalls.open(service, { expiresInDays: 1 })
  expect((await platform.get('/api/users')).status).toBe(200)
  clock.advance(86_400_000)
  const { body, status } = await platform.get('/api/users')
  expect([status, body.message]).toEqual([401, 'The platform key has expired. Create a new one.'])
  await service.stop()
})

test('each scope allows exactly its operations, even when combined with other scopes', async () => {
  const service = await startService()
  const { userId } = await service.createPerson()
  const calls: [string, (platform: PlatformCalls) => ReturnType<PlatformCalls['get']>][] = [
    ['users', (platform) => platform.get('/api/users')],
    ['users', (platform) => platform.get(`/api/users/${userId}`)],
    ['users', (platform) => platform.openUser('customer-1')],
    ['users', (platform) => platform.get('/api/users/by-external-id/customer-1')],
    ['users', (platform) => platform.call('PATCH', `/api/users/${userId}`, { body: { isSuspended: false } })],
    ['users', (platform) => platform.get(`/api/users/${userId}/keys`)],
    ['credit', (platform) => platform.post(`/api/users/${userId}/credit`, { amountUsd: '1', reason: 'x' })],
    ['limits', (platform) => platform.call('PATCH', `/api/users/${userId}`, { body: { limits: { tasksWaiting: 9 } } })],
    ['act', (platform) => platform.post(`/api/users/${userId}/keys`, { name: 'x' })],
    ['act', (platform) => platform.get('/api/account', userId)],
  ]
  for (const scopes of [
    ['users'],
    ['credit'],
    ['act'],
    ['limits'],
    ['users', 'credit'],
    ['credit', 'act'],
    ['act', 'limits', 'users'],
    ['limits', 'credit', 'users', 'act'],
  ] as const) {
    const platform = await PlatformCalls.open(service, { scopes: [...scopes] })
    for (const [index, [scope, call]] of calls.entries()) {
      // This user exists only after a key with the scope `users` has made the previous call.
      if (index === 3 && scopes[0] !== 'users') continue
      const isAllowed = (scopes as readonly string[]).includes(scope)
      const { body, status } = await call(platform)
      expect([status, body.code], `${scopes.join()} call ${index}`).toEqual(
        isAllowed ? [200, undefined] : [403, 'FORBIDDEN'],
      )
    }
  }
  await service.stop()
})

test('an update that needs two scopes is rejected for a key with only one of them and changes nothing', async () => {
  const service = await startService()
  const { userId } = await service.createPerson()
  const body = { isSuspended: true, limits: { tasksWaiting: 9 } }
  for (const scope of ['users', 'limits'] as const) {
    const platform = await PlatformCalls.open(service, { scopes: [scope] })
    expect((await platform.call('PATCH', `/api/users/${userId}`, { body })).status).toBe(403)
    const user = await service.app.store.getUser(userId)
    expect(user).toMatchObject({ suspendedAt: null })
  }
  const both = await PlatformCalls.open(service, { scopes: ['limits', 'users'] })
  expect((await both.call('PATCH', `/api/users/${userId}`, { body })).status).toBe(200)
  await service.stop()
})

test('a platform key cannot access user data without Errand-User, and the error names that header', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const { id: taskId } = await service.runTask(key, 'test.echo', { secret: 1 })
  const platform = await PlatformCalls.open(service)
  for (const path of [
    '/api/tasks',
    `/api/tasks/${taskId}`,
    `/api/tasks/${taskId}/events`,
    '/api/sessions',
    '/api/account',
    '/api/transactions',
    '/api/connectors',
    '/api/agents',
    '/api/usage',
  ]) {
    const { body, status } = await platform.get(path)
    expect([status, body.code], path).toEqual([403, 'FORBIDDEN'])
    expect(body.message).toContain('Errand-User')
  }
  for (const path of [
    `/api/users/${userId}/transactions`,
    '/api/keys',
    '/api/logins',
    '/api/system',
    '/api/invitations',
  ]) {
    expect((await platform.get(path)).status, path).toBe(403)
  }
  for (const [path, body] of [
    ['/api/tasks', { endpointId: 'test.echo', params: {} }],
    ['/api/logout', {}],
    ['/api/keys', { name: 'x' }],
    [`/api/users/${userId}/password-link`, {}],
    ['/api/invitations', { email: 'new@example.com' }],
    ['/trpc/tasks.create', { json: { endpointId: 'test.echo', params: {} } }],
  ] as const) {
    expect((await platform.post(path, body)).status, path).toBe(403)
  }
  const rpc = await platform.get(`/trpc/tasks.list?input=${encodeURIComponent('{"json":{}}')}`)
  expect(rpc.status).toBe(403)
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('9.9900')
  await service.stop()
})

test("a platform key cannot create admins or access an admin's account", async () => {
  const service = await startService()
  const admin = await service.createPerson({ isAdmin: true })
  const person = await service.createPerson()
  const platform = await PlatformCalls.open(service)
  const path = `/api/users/${admin.userId}`
  const unknown = await platform.get('/api/users/user_nobody')
  expect(unknown.status).toBe(404)
  for (const answer of [
    await platform.get(path),
    await platform.call('PATCH', path, { body: { isSuspended: true } }),
    await platform.post(`${path}/credit`, { amountUsd: '1', reason: 'x' }),
    await platform.post(`${path}/credit`, { amountUsd: '-1', reason: 'x' }),
    await platform.post(`${path}/keys`, { name: 'x' }),
    await platform.get(`${path}/keys`),
  ]) {
    expect([answer.status, answer.body]).toEqual([404, unknown.body])
  }
  const { total, users } = (await platform.get('/api/users')).body
  expect([total, users.map(({ id }: { id: string }) => id)]).toEqual([1, [person.userId]])
  const promoted = await platform.call('PATCH', `/api/users/${person.userId}`, { body: { isAdmin: true } })
  expect(promoted.status).toBe(403)
  expect((await service.app.store.getUser(person.userId))!.isAdmin).toBe(false)
  expect((await service.get('/api/account', admin.key)).body.balanceUsd).toBe('10.0000')
  await service.stop()
})

test('accepts a key only from its allowed IP addresses, even behind a proxy', async () => {
  const service = await startService({ trustedProxies: ['127.0.0.1'] })
  const from = (platform: PlatformCalls, address: string) =>
    platform.call('GET', '/api/users', { headers: { 'X-Forwarded-For': address } })
  const v4 = await PlatformCalls.open(service, { addresses: ['192.0.2.7', '10.0.0.0/8'] })
  for (const [address, status] of [
    ['192.0.2.7', 200],
    ['192.0.2.8', 403],
    ['10.255.0.1', 200],
    ['11.0.0.1', 403],
    ['::ffff:10.1.2.3', 200],
    ['2001:db8::1', 403],
    // The first address is the client's claim, the second one the proxy's entry.
    ['10.0.0.1, 192.0.2.8', 403],
    ['nonsense', 403],
    ['', 403],
  ] as const) {
    expect((await from(v4, address)).status, address).toBe(status)
  }
  const v6 = await PlatformCalls.open(service, { addresses: ['2001:db8::/32', '::1'] })
  for (const [address, status] of [
    ['2001:db8:ffff::1', 200],
    ['2001:db9::1', 403],
    ['0:0:0:0:0:0:0:1', 200],
    ['10.0.0.1', 403],
  ] as const) {
    expect((await from(v6, address)).status, address).toBe(status)
  }
  const { body } = await from(v6, '10.0.0.1')
  expect(body.message).toContain('address')
  // If no proxy is configured, the header is ignored. A key without an address list works from anywhere.
  const bare = await startService()
  const local = await PlatformCalls.open(bare, { addresses: ['127.0.0.1'] })
  expect((await from(local, '192.0.2.7')).status).toBe(200)
  const elsewhere = await PlatformCalls.open(bare, { addresses: ['192.0.2.7'] })
  expect((await from(elsewhere, '192.0.2.7')).status).toBe(403)
  await bare.stop()
  await service.stop()
})

test('logs changes to accounts by platform keys, with the key id', async () => {
  const lines: [object, string][] = []
  const info = (fields: object, message: string) => void lines.push([fields, message])
  const service = await startService({ log: { debug() {}, info, warn() {}, error() {} } })
  const platform = await PlatformCalls.open(service)
  const userId = await platform.newUser('customer-1', '3')
  await platform.call('PATCH', `/api/users/${userId}`, { body: { isSuspended: true } })
  const { keyId: platformKeyId } = platform
  expect(lines).toEqual(
    expect.arrayContaining([
      [expect.objectContaining({ platformKeyId, adminId: null }), 'a platform key was created'],
      [{ platformKeyId, userId }, 'a platform key created a user'],
      [expect.objectContaining({ platformKeyId, userId, amountUsd: '3.0000' }), 'a platform key credited a user'],
      [expect.objectContaining({ platformKeyId, userId, isSuspended: true }), 'a platform key changed a user'],
    ]),
  )
  expect(JSON.stringify(lines)).not.toContain(platform.key)
  await service.stop()
})

test("a platform key's page shows its users, its credit by day and its client tokens, which an admin can revoke", async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { browser } = await signUpAdmin(service)
  const [platform, other] = [await PlatformCalls.open(service), await PlatformCalls.open(service)]
  const userId = await platform.newUser('one', '5')
  await other.newUser('two', '7')
  clock.advance(86_400_000)
  await platform.post(`/api/users/${userId}/credit`, { amountUsd: '2.5', reason: 'More' })
  await platform.post(`/api/users/${userId}/credit`, { amountUsd: '-1', reason: 'Correction' })
  const { body: token } = await platform.post('/api/client-tokens', {}, { user: userId })
  await other.post('/api/client-tokens', {}, { user: userId })
  expect((await service.get('/api/account', token.token)).status).toBe(200)

  const path = `/api/platform-keys/${platform.keyId}`
  const shown = await expectStatus(200, browser.get(path))
  expect(shown).toMatchObject({ id: platform.keyId, usersCreated: 1, creditedTodayUsd: '2.5000', clientTokensTotal: 1 })
  expect(shown.creditDays).toHaveLength(30)
  expect(shown.creditDays.slice(-3)).toEqual([
    { date: '2026-01-14', creditedUsd: '0.0000', takenUsd: '0.0000' },
    { date: '2026-01-15', creditedUsd: '5.0000', takenUsd: '0.0000' },
    { date: '2026-01-16', creditedUsd: '2.5000', takenUsd: '1.0000' },
  ])
  const { token: _, ...listed } = token
  expect(shown.clientTokens).toEqual([listed])

  await expectStatus(404, browser.delete(`/api/platform-keys/${other.keyId}/client-tokens/${token.id}`))
  expect((await service.get('/api/account', token.token)).status).toBe(200)
  const revoked = await expectStatus(200, browser.delete(`${path}/client-tokens/${token.id}`))
  expect(revoked).toMatchObject({ id: token.id, revokedAt: new Date(clock.now()).toISOString() })
  expect((await service.get('/api/account', token.token)).status).toBe(401)
  expect(await expectStatus(200, browser.get(path))).toMatchObject({ clientTokens: [], clientTokensTotal: 0 })
  await service.stop()
})

test("a platform key's page shows the last addresses that used it, newest first, also after a restart", async () => {
  const clock = new FakeClock()
  const dataDir = newDataDir()
  const start = () => startService({ clock, dataDir, trustedProxies: ['127.0.0.1'] })
  const first = await start()
  const platform = await PlatformCalls.open(first, { addresses: ['203.0.113.0/24'] })
  const useFrom = async (service: TestService, address: string) => {
    const calls = new PlatformCalls(service, { id: platform.keyId, key: platform.key })
    const { status } = await calls.call('GET', '/api/users', { headers: { 'X-Forwarded-For': address } })
    clock.advance(1000)
    return status
  }
  for (let n = 1; n <= 6; n++) expect(await useFrom(first, `203.0.113.${n}`)).toBe(200)
  expect(await useFrom(first, '198.51.100.1')).toBe(403)
  await first.stop()

  const second = await start()
  for (const n of [7, 5, 8, 9, 10, 11]) expect(await useFrom(second, `203.0.113.${n}`)).toBe(200)
  await second.stop()
  const third = await start()
  const { browser } = await signUpAdmin(third)
  const shown = browser.get(`/api/platform-keys/${platform.keyId}`)
  const { lastAddresses, lastUsedAt } = await expectStatus(200, shown)
  const used = lastAddresses.map(({ address }: { address: string }) => Number(address.split('.').at(-1)))
  expect(used).toEqual([11, 10, 9, 8, 5, 7, 6, 4, 3, 2])
  expect(lastAddresses[0].lastUsedAt).toBe(lastUsedAt)
  await third.stop()
  rmSync(dataDir, { recursive: true })
})
