import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { newDataDir, startService, type TestService } from '../support/test-service.ts'

const dayMs = 86_400_000
const lacks = (scope: string) => ({
  error: 'Forbidden',
  message: `This API key lacks permission for this operation. Use a credential with the scope "${scope}".`,
  statusCode: 403,
  code: 'FORBIDDEN',
})
const beyond = (scope: string) => ({
  error: 'Forbidden',
  message: `A key cannot have scopes that its creator lacks. Remove "${scope}".`,
  statusCode: 403,
  code: 'FORBIDDEN',
})
const unlimited = {
  limitUsd: null,
  limitReset: null,
  usedUsd: null,
  resetsAt: null,
  executionsPerMinute: null,
  agents: null,
}
const unknownKey = {
  error: 'Not found',
  message: 'API key not found. Check the id.',
  statusCode: 404,
  code: 'NOT_FOUND',
}

async function statusOf(service: TestService, key: string): Promise<number> {
  return (await service.get('/api/account', key)).status
}

test('returns a working key on creation and never shows it again', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key } = await service.createPerson()
  clock.advance(1)
  const { body, status } = await service.post('/api/keys', { name: '  Nightly build  ' }, { key })
  expect(status).toBe(200)
  expect(body).toEqual({
    id: expect.stringMatching(/^key_[0-9a-z]{26}$/),
    name: 'Nightly build',
    hint: body.key.slice(-4),
    scopes: ['read', 'execute', 'manage'],
    createdAt: '2026-01-15T12:00:00.001Z',
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    replacedBy: null,
    ...unlimited,
    rotationDue: false,
    key: expect.stringMatching(/^errand_sk_[0-9A-Za-z]{36}$/),
  })
  expect(await statusOf(service, body.key)).toBe(200)

  const list = await service.get('/api/keys', key)
  const { key: secret, ...shown } = body
  expect(list.body.keys[0]).toEqual(shown)
  const later = [list.body, (await service.request('DELETE', `/api/keys/${body.id}`, { key })).body]
  expect(JSON.stringify(later)).not.toContain(secret.slice('errand_sk_'.length, -4))
  await service.stop()
})

test('a key has the scopes and expiry it was created with', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key } = await service.createPerson()
  const input = { name: 'CI', scopes: ['execute', 'read', 'execute'], expiresInDays: 7 }
  const created = await service.post('/api/keys', { ...input, scopes: ['execute', 'read'] }, { key })
  expect(created.body).toMatchObject({ scopes: ['execute', 'read'], expiresAt: '2026-01-22T12:00:00.000Z' })
  const doubled = await service.post('/api/keys', input, { key })
  expect(doubled.body.scopes).toEqual(['execute', 'read'])
  clock.advance(7 * dayMs - 1)
  expect(await statusOf(service, created.body.key)).toBe(200)
  clock.advance(1)
  const { body, status } = await service.get('/api/account', created.body.key)
  expect([status, body]).toEqual([
    401,
    {
      error: 'Unauthorized',
      message: 'The API key has expired. Create a new one.',
      statusCode: 401,
      code: 'UNAUTHORIZED',
    },
  ])
  await service.stop()
})

test('a scope allows its own operations and no others', async () => {
  const service = await startService()
  const { userId } = await service.createPerson()
  const [read, execute, manage] = [
    await service.createKey(userId, ['read']),
    await service.createKey(userId, ['execute']),
    await service.createKey(userId, ['manage']),
  ]
  const readPaths = ['/api/tasks', '/api/tasks/task_0', '/api/account', '/api/transactions', '/api/agents']
  for (const path of [...readPaths, '/api/agents/test']) {
    expect((await service.get(path, read)).status, path).toBe(path === '/api/tasks/task_0' ? 404 : 200)
    for (const key of [execute, manage]) {
      const { body, status } = await service.get(path, key)
      expect([status, body], path).toEqual([403, lacks('read')])
    }
  }
  expect((await service.createTask(execute, 'test.echo')).status).toBe(200)
  for (const key of [read, manage]) {
    const { body, status } = await service.createTask(key, 'test.echo')
    expect([status, body]).toEqual([403, lacks('execute')])
  }
  const managing: [string, string, unknown?][] = [
    ['GET', '/api/keys'],
    ['GET', '/api/keys/key_0'],
    ['POST', '/api/keys', { name: 'new', scopes: ['manage'] }],
    ['POST', '/api/keys/key_0/rotate', {}],
    ['DELETE', '/api/keys/key_0'],
  ]
  for (const [method, path, input] of managing) {
    const isKnown = !path.includes('key_0')
    expect((await service.request(method, path, { key: manage, body: input })).status).toBe(isKnown ? 200 : 404)
    for (const key of [read, execute]) {
      const { body, status } = await service.request(method, path, { key, body: input })
      expect([status, body], `${method} ${path}`).toEqual([403, lacks('manage')])
    }
  }
  await service.stop()
})

test("rejects scopes that the creator lacks, and defaults to the creator's scopes", async () => {
  const service = await startService()
  const { userId, key: all } = await service.createPerson()
  const key = await service.createKey(userId, ['read', 'manage'])
  const refused = await service.post('/api/keys', { name: 'more', scopes: ['read', 'execute'] }, { key })
  expect([refused.status, refused.body]).toEqual([403, beyond('execute')])
  expect((await service.get('/api/keys', all)).body.total).toBe(2)
  const { body } = await service.post('/api/keys', { name: 'same' }, { key })
  expect(body.scopes).toEqual(['read', 'manage'])
  await service.stop()
})

test('returns 400 for an invalid name, scopes or expiry and names the field', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const wrong: [string, object][] = [
    ['name', {}],
    ['name', { name: '  ' }],
    ['name', { name: 'x'.repeat(101) }],
    ['scopes', { name: 'a', scopes: [] }],
    ['scopes[0]', { name: 'a', scopes: ['admin'] }],
    ['expiresInDays', { name: 'a', expiresInDays: 0 }],
    ['expiresInDays', { name: 'a', expiresInDays: 1.5 }],
    ['expiresInDays', { name: 'a', expiresInDays: 3651 }],
  ]
  for (const [path, input] of wrong) {
    const { body, status } = await service.post('/api/keys', input, { key })
    expect(status, JSON.stringify(input)).toBe(400)
    expect(body).toEqual({
      error: 'Bad request',
      message: `${path}: ${body.details[0].message}`,
      statusCode: 400,
      code: 'BAD_REQUEST',
      details: [{ path, message: expect.stringMatching(/./) }],
    })
  }
  expect((await service.get('/api/keys', key)).body.total).toBe(1)
  await service.stop()
})

test("lists only the caller's keys, newest first, including revoked ones, in pages", async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const [one, other] = [await service.createPerson(), await service.createPerson()]
  const names = ['a', 'b', 'c']
  for (const name of names) {
    clock.advance(1000)
    await service.post('/api/keys', { name }, { key: one.key })
  }
  const { body } = await service.get('/api/keys?limit=2', one.key)
  expect(body).toMatchObject({ keys: [{ name: 'c' }, { name: 'b' }], total: 4, limit: 2, offset: 0 })
  await service.request('DELETE', `/api/keys/${body.keys[1].id}`, { key: one.key })
  const rest = await service.get('/api/keys?limit=3&offset=1', one.key)
  expect(rest.body).toMatchObject({
    keys: [
      { name: 'b', revokedAt: '2026-01-15T12:00:03.000Z' },
      { name: 'a', revokedAt: null },
      { name: 'test', revokedAt: null },
    ],
    total: 4,
    limit: 3,
    offset: 1,
  })
  expect((await service.get('/api/keys', other.key)).body).toMatchObject({ keys: [{ name: 'test' }], total: 1 })
  const bad = await service.get('/api/keys?limit=101', one.key)
  expect([bad.status, bad.body.details[0].path]).toEqual([400, 'limit'])
  await service.stop()
})

test('rejects a revoked key on the next request; revoking it again changes nothing', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key } = await service.createPerson()
  const created = (await service.post('/api/keys', { name: 'short-lived' }, { key })).body
  expect(await statusOf(service, created.key)).toBe(200)
  clock.advance(5000)
  const revoked = await service.request('DELETE', `/api/keys/${created.id}`, { key })
  const { key: _, ...shown } = created
  expect([revoked.status, revoked.body]).toEqual([200, { ...shown, revokedAt: '2026-01-15T12:00:05.000Z' }])
  const refused = await service.get('/api/account', created.key)
  expect([refused.status, refused.body]).toEqual([
    401,
    {
      error: 'Unauthorized',
      message: `The API key ${created.key.slice(0, 14)}… is invalid or revoked. Send an active key.`,
      statusCode: 401,
      code: 'UNAUTHORIZED',
    },
  ])
  expect((await service.get('/trpc/account.get', created.key)).status).toBe(401)
  clock.advance(5000)
  const again = await service.request('DELETE', `/api/keys/${created.id}`, { key })
  expect([again.status, again.body]).toEqual([200, revoked.body])
  expect((await service.get(`/api/keys/${created.id}`, key)).body).toEqual(revoked.body)
  expect(await statusOf(service, key)).toBe(200)
  await service.stop()
})

test("returns the same 404 for an unknown key and another user's key, which keeps working", async () => {
  const service = await startService()
  const [one, other] = [await service.createPerson(), await service.createPerson()]
  const theirs = (await service.get('/api/keys', other.key)).body.keys[0].id
  for (const id of [theirs, 'key_0', 'x'.repeat(200)]) {
    const revoked = await service.request('DELETE', `/api/keys/${id}`, { key: one.key })
    expect([revoked.status, revoked.body]).toEqual([404, unknownKey])
    const read = await service.get(`/api/keys/${id}`, one.key)
    expect([read.status, read.body]).toEqual([404, unknownKey])
    const rotated = await service.post(`/api/keys/${id}/rotate`, {}, { key: one.key })
    expect([rotated.status, rotated.body]).toEqual([404, unknownKey])
  }
  expect(await statusOf(service, other.key)).toBe(200)
  await service.stop()
})

test('rotation copies name and scopes; the old key works during the overlap', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key } = await service.createPerson()
  const old = (await service.post('/api/keys', { name: 'worker', scopes: ['read', 'execute'] }, { key })).body
  clock.advance(dayMs)
  const { body, status } = await service.post(`/api/keys/${old.id}/rotate`, { overlapSeconds: 3600 }, { key })
  expect(status).toBe(200)
  expect(body).toEqual({
    id: expect.stringMatching(/^key_/),
    name: 'worker',
    hint: body.key.slice(-4),
    scopes: ['read', 'execute'],
    createdAt: '2026-01-16T12:00:00.000Z',
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    replacedBy: null,
    ...unlimited,
    rotationDue: false,
    key: expect.stringMatching(/^errand_sk_/),
  })
  expect([body.id === old.id, body.key === old.key]).toEqual([false, false])
  const listed = (await service.get('/api/keys', key)).body.keys.find(({ id }: { id: string }) => id === old.id)
  expect(listed).toMatchObject({ expiresAt: '2026-01-16T13:00:00.000Z', replacedBy: body.id })
  clock.advance(3_600_000 - 1)
  expect([await statusOf(service, old.key), await statusOf(service, body.key)]).toEqual([200, 200])
  clock.advance(1)
  expect([await statusOf(service, old.key), await statusOf(service, body.key)]).toEqual([401, 200])
  await service.stop()
})

test("the overlap defaults to one day, may be zero, and never extends a key's expiry", async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key } = await service.createPerson()
  const create = async (expiresInDays?: number) =>
    (await service.post('/api/keys', { name: 'k', ...(expiresInDays && { expiresInDays }) }, { key })).body
  const expiryOf = async (keyId: string) =>
    (await service.get('/api/keys', key)).body.keys.find(({ id }: { id: string }) => id === keyId).expiresAt
  const [usual, sudden, short] = [await create(), await create(), await create(2)]
  await service.post(`/api/keys/${usual.id}/rotate`, {}, { key })
  expect(await expiryOf(usual.id)).toBe('2026-01-16T12:00:00.000Z')
  await service.post(`/api/keys/${sudden.id}/rotate`, { overlapSeconds: 0 }, { key })
  expect(await statusOf(service, sudden.key)).toBe(401)
  clock.advance(dayMs)
  const rotated = await service.post(`/api/keys/${short.id}/rotate`, { overlapSeconds: 30 * 86_400 }, { key })
  expect(await expiryOf(short.id)).toBe('2026-01-17T12:00:00.000Z')
  // The new key keeps the old one's expiry.
  expect(rotated.body.expiresAt).toBe('2026-01-18T12:00:00.000Z')
  const bad = await service.post(`/api/keys/${short.id}/rotate`, { overlapSeconds: 30 * 86_400 + 1 }, { key })
  expect([bad.status, bad.body.details[0].path]).toEqual([400, 'overlapSeconds'])
  await service.stop()
})

test("rotation returns 403 for scopes beyond the caller's and 409 for an inactive key", async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key, userId } = await service.createPerson()
  const rotate = (keyId: string, as: string) => service.post(`/api/keys/${keyId}/rotate`, {}, { key: as })
  const full = (await service.post('/api/keys', { name: 'full' }, { key })).body
  const manager = await service.createKey(userId, ['manage'])
  const refused = await rotate(full.id, manager)
  expect([refused.status, refused.body]).toEqual([403, beyond('read')])

  const revoked = (await service.post('/api/keys', { name: 'revoked' }, { key })).body
  await service.request('DELETE', `/api/keys/${revoked.id}`, { key })
  const expired = (await service.post('/api/keys', { name: 'expired', expiresInDays: 1 }, { key })).body
  clock.advance(dayMs)
  for (const { id } of [revoked, expired]) {
    const { body, status } = await rotate(id, key)
    expect(status).toBe(409)
    expect(body).toEqual({
      error: 'Conflict',
      message: 'This API key is revoked, expired or already rotated. Create a new one.',
      statusCode: 409,
      code: 'CONFLICT',
    })
  }
  expect((await service.get('/api/keys', key)).body.total).toBe(5)
  expect(await statusOf(service, full.key)).toBe(200)
  await service.stop()
})

test('rotationDue becomes true after 90 days, but not for a revoked or expired key', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key } = await service.createPerson()
  const ended = (await service.post('/api/keys', { name: 'ended' }, { key })).body
  await service.request('DELETE', `/api/keys/${ended.id}`, { key })
  await service.post('/api/keys', { name: 'expires', expiresInDays: 90 }, { key })
  const due = async () => {
    const { keys } = (await service.get('/api/keys', key)).body
    return Object.fromEntries(
      keys.map(({ name, rotationDue }: { name: string; rotationDue: boolean }) => [name, rotationDue]),
    )
  }
  clock.advance(90 * dayMs - 1)
  expect(await due()).toEqual({ test: false, ended: false, expires: false })
  clock.advance(1)
  expect(await due()).toEqual({ test: true, ended: false, expires: false })
  await service.stop()
})

test('lastUsedAt is the time of the last request and is saved at shutdown', async () => {
  const dataDir = newDataDir()
  const clock = new FakeClock()
  const first = await startService({ dataDir, clock })
  const { key, userId } = await first.createPerson()
  await first.get('/api/account', key)
  clock.advance(1234)
  await first.createKey(userId)
  await first.get('/api/nothing-of-ours', key)
  await first.get('/api/account', key)
  clock.advance(1000)
  await first.stop()

  const second = await startService({ dataDir, clock })
  const { keys } = (await second.get('/api/keys', key)).body
  expect(keys.map(({ lastUsedAt }: { lastUsedAt: string | null }) => lastUsedAt)).toEqual([
    null,
    '2026-01-15T12:00:01.234Z',
  ])
  await second.stop()
  rmSync(dataDir, { recursive: true })
})
