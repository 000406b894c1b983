import { expect, test } from 'vitest'
import { queryRows } from '../support/test-engine.ts'
import { startService } from '../support/test-service.ts'
import { PlatformCalls } from './platform-calls.ts'
import { signUpAdmin } from './signed-in.ts'

test('creates a user by external id and finds it by internal and external id', async () => {
  const service = await startService()
  const platform = await PlatformCalls.open(service)
  const made = await platform.openUser('customer-42')
  expect([made.status, made.body]).toEqual([
    200,
    {
      id: expect.stringMatching(/^user_/),
      email: `${made.body.id}@users.invalid`,
      externalId: 'customer-42',
      isAdmin: false,
      isSuspended: false,
      balanceUsd: '0.0000',
      heldUsd: '0.0000',
      owedUsd: '0.0000',
      writtenOffUsd: '0.0000',
      plan: null,
      limits: {},
      blockedUntil: null,
      connectorsBlockedUntil: null,
      erasedAt: null,
      createdAt: expect.any(String),
      created: true,
    },
  ])
  const { created: _, ...user } = made.body
  expect((await platform.openUser('customer-42', { email: 'late@example.com' })).body).toEqual({
    ...user,
    created: false,
  })
  expect((await platform.get('/api/users/by-external-id/customer-42')).body).toEqual(user)
  expect((await platform.get(`/api/users/${user.id}`)).body).toEqual(user)
  expect((await platform.get('/api/users?search=omer-42')).body.users).toEqual([
    { ...user, spentUsd: '0.0000', activeOn: null },
  ])
  const { browser } = await signUpAdmin(service)
  expect((await browser.get('/api/users/by-external-id/customer-42')).body).toEqual(user)
  expect((await platform.get('/api/users/by-external-id/customer-43')).status).toBe(404)
  await service.stop()
})

test('a new user gets the requested email; a taken or invalid email is rejected', async () => {
  const service = await startService()
  const taken = await service.createPerson()
  const platform = await PlatformCalls.open(service)
  const { body } = await platform.openUser('a', { email: 'Ada@Example.com' })
  expect(body).toMatchObject({ email: 'ada@example.com', created: true })
  const refused = await platform.openUser('b', { email: taken.email })
  expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
  expect((await platform.get('/api/users/by-external-id/b')).status).toBe(404)
  const wrong = await platform.openUser('b', { email: 'nobody' })
  expect([wrong.status, wrong.body.details[0].path]).toEqual([400, 'email'])
  await service.stop()
})

test('100 concurrent first requests for a user create one user with one account', async () => {
  const service = await startService()
  const platform = await PlatformCalls.open(service)
  const answers = await Promise.all(Array.from({ length: 100 }, () => platform.openUser('rush')))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
  expect(answers.filter(({ body }) => body.created)).toHaveLength(1)
  expect((await platform.get('/api/users')).body.total).toBe(1)
  const [{ body }] = answers as [(typeof answers)[number]]
  expect((await service.app.store.getAccount(body.id))!.balance).toBe(0)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, accounts: 1 })
  await service.stop()
})

test('external ids are case-sensitive and may contain any visible characters', async () => {
  const service = await startService()
  const platform = await PlatformCalls.open(service)
  const ids = [
    'Customer',
    'customer',
    'CUSTOMER',
    'a/b',
    'a%2Fb',
    'a b',
    'ü',
    'keys',
    'credit',
    'user_1',
    '😀',
    '%',
    '+',
    'ä,ö',
    'x'.repeat(200),
  ]
  const seen = new Set<string>()
  for (const externalId of ids) {
    const { body, status } = await platform.openUser(externalId)
    expect([status, body.externalId], externalId).toEqual([200, externalId])
    seen.add(body.id)
    const found = await platform.get(`/api/users/by-external-id/${encodeURIComponent(externalId)}`)
    expect(found.body.id, externalId).toBe(body.id)
    const acting = await platform.get('/api/account', `ext:${encodeURIComponent(externalId)}`)
    expect([acting.status, acting.body.userId], externalId).toEqual([200, body.id])
  }
  expect(seen.size).toBe(ids.length)
  await service.stop()
})

test.each([
  ['1 KB long', 'x'.repeat(1024)],
  ['201 characters long', 'x'.repeat(201)],
  ['with a control character', 'a\u0000b'],
  ['with a line break', 'a\nb'],
  ['with a zero-width space', 'a\u200Bb'],
  ['with a right-to-left override', 'a\u202Eb'],
  ['with a soft hyphen', 'a\u00ADb'],
  ['with a variation selector', 'a\uFE0F'],
  ['with a combining mark', 'u\u0308'],
  ['with a trailing space', 'a '],
  ['of a single space', ' '],
])('rejects an external id %s in path and header, creating no user', async (_, externalId) => {
  const service = await startService()
  const platform = await PlatformCalls.open(service)
  const { body, status } = await platform.openUser(externalId)
  expect([status, body.code, body.details?.[0].path]).toEqual([400, 'BAD_REQUEST', 'externalId'])
  const acting = await platform.get('/api/account', `ext:${encodeURIComponent(externalId)}`)
  expect([acting.status, acting.body.details?.[0].path]).toEqual([400, 'Errand-User'])
  expect((await platform.get('/api/users')).body.total).toBe(0)
  await service.stop()
})

test('a user created by a platform has no password', async () => {
  const service = await startService()
  const platform = await PlatformCalls.open(service)
  const { body } = await platform.openUser('customer-1')
  const user = (await service.app.store.getUser(body.id))!
  expect(user.passwordHash).toBe(null)
  await service.stop()
})

test('a platform can suspend users and manage their keys, whose scopes are limited to read and execute', async () => {
  const service = await startService()
  const platform = await PlatformCalls.open(service)
  const userId = await platform.newUser('customer-1')
  const other = await platform.newUser('customer-2')
  const path = `/api/users/${userId}`
  const { key, ...made } = (await platform.post(`${path}/keys`, { name: 'device' })).body
  expect(key).toMatch(/^errand_sk_/)
  expect(made.scopes).toEqual(['read', 'execute'])
  expect((await service.runTask(key, 'test.echo')).status).toBe('completed')
  expect((await service.get('/api/keys', key)).status).toBe(403)
  for (const scopes of [['manage'], ['read', 'manage'], []]) {
    const { body, status } = await platform.post(`${path}/keys`, { name: 'more', scopes })
    expect([status, body.details[0].path.split('[')[0]]).toEqual([400, 'scopes'])
  }
  const listed = (await platform.get(`${path}/keys`)).body
  expect([listed.total, listed.keys[0].id]).toEqual([1, made.id])
  expect((await platform.get(`/api/users/${other}/keys`)).body.total).toBe(0)
  expect((await platform.call('DELETE', `/api/users/${other}/keys/${made.id}`)).status).toBe(404)
  expect((await platform.call('PATCH', path, { body: { isSuspended: true } })).body.isSuspended).toBe(true)
  expect((await service.get('/api/account', key)).status).toBe(403)
  expect((await platform.call('PATCH', path, { body: { isSuspended: false } })).body.isSuspended).toBe(false)
  expect((await service.get('/api/account', key)).status).toBe(200)
  expect((await platform.call('DELETE', `${path}/keys/${made.id}`)).body.revokedAt).not.toBe(null)
  expect((await service.get('/api/account', key)).status).toBe(401)
  await service.stop()
})

test('a platform key can create at most a million users, after which it still finds existing users', async () => {
  const service = await startService()
  const platform = await PlatformCalls.open(service)
  const first = await platform.openUser('first')
  const nearlyAll = `UPDATE platform_keys SET users_made = 999999 WHERE id = '${platform.keyId}' AND users_made = 1`
  await queryRows(service.dataDir, nearlyAll)
  expect((await platform.openUser('first')).body).toMatchObject({ id: first.body.id, created: false })
  const answers = await Promise.all(['a', 'b', 'c'].map((externalId) => platform.openUser(externalId)))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
  const refused = answers.find(({ status }) => status === 409)!
  expect(refused.body.code).toBe('CONFLICT')
  expect(refused.body.message).toContain('has created 1000000 users, the maximum')
  expect((await platform.get('/api/users')).body.total).toBe(2)
  const other = await PlatformCalls.open(service)
  expect((await other.openUser('b')).status).toBe(200)
  await service.stop()
})
