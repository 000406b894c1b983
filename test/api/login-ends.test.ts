import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { RawConnection } from '../support/raw-http.ts'
import { startService, type Answer } from '../support/test-service.ts'
import { Browser, password } from './browser-login.ts'
import { signUpAdmin } from './signed-in.ts'

const ended = 'The browser login is no longer valid. Log in again.'

test('logout over REST and RPC takes effect on the next request and removes the cookie', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const ways: ((browser: Browser) => Promise<Answer>)[] = [
    (browser) => browser.request('POST', '/api/logout'),
    (browser) => browser.post('/api/logout', {}),
    (browser) => browser.post('/trpc/login.end', { json: {} }),
    (browser) => browser.post('/trpc/login.end?batch=1', { 0: { json: {} } }),
  ]
  for (const end of ways) {
    const browser = await Browser.loggedIn(service, { email, password })
    const stays = await Browser.loggedIn(service, { email, password })
    const { cookieHeader } = browser
    using connection = await RawConnection.open(service.url)
    const request = `GET /api/account HTTP/1.1\r\nHost: a\r\nCookie: ${cookieHeader}\r\n\r\n`
    await connection.send(request)
    expect((await connection.readAnswer())!.status).toBe(200)

    const answer = await end(browser)
    expect(answer.status).toBe(200)
    expect(JSON.stringify(answer.body)).toContain('Logged out.')
    expect(answer.headers.getSetCookie()).toEqual(['errand=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0'])
    expect(browser.cookies.size).toBe(0)
    await connection.send(request)
    const after = (await connection.readAnswer())!
    expect([after.status, after.body.message]).toEqual([401, ended])
    const overRpc = await service.request('GET', '/trpc/account.get', { headers: { Cookie: cookieHeader } })
    expect(overRpc.status).toBe(401)
    expect(await stays.status()).toBe(200)
  }
  await service.stop()
})

test('lists logins newest first with method, user agent and expiry, and marks the current one', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { email } = await service.createPerson({ password })
  const other = await service.createPerson({ password })
  const older = await Browser.loggedIn(service, { email, password }, { userAgent: 'Old browser/1' })
  const start = clock.now()
  clock.advance(60_000)
  const newer = await Browser.loggedIn(service, { email, password }, { userAgent: `New ${'x'.repeat(400)}` })
  const times = (at: number) => ({
    createdAt: new Date(at).toISOString(),
    lastUsedAt: new Date(at).toISOString(),
    expiresAt: new Date(at + 30 * 86_400_000).toISOString(),
  })
  const login = { id: expect.stringMatching(/^login_/), method: 'password', provider: null, address: '127.0.0.1' }
  expect((await newer.get('/api/logins')).body).toEqual({
    logins: [
      { ...login, userAgent: `New ${'x'.repeat(296)}`, current: true, ...times(start + 60_000) },
      { ...login, userAgent: 'Old browser/1', current: false, ...times(start) },
    ],
    total: 2,
    limit: 50,
    offset: 0,
  })
  expect((await older.logins()).map(({ current }) => current)).toEqual([false, true])
  expect((await older.get('/api/logins?limit=1&offset=1')).body).toMatchObject({
    logins: [{ userAgent: 'Old browser/1' }],
    total: 2,
  })
  expect((await service.get('/api/logins', other.key)).body.total).toBe(0)
  await service.stop()
})

test("ends one of several logins, and returns 404 for an unknown or another user's login", async () => {
  const service = await startService()
  const { email, key } = await service.createPerson({ password })
  const stranger = await service.createPerson({ password })
  const [first, second, third] = [
    await Browser.loggedIn(service, { email, password }, { userAgent: 'first' }),
    await Browser.loggedIn(service, { email, password }),
    await Browser.loggedIn(service, { email, password }, { userAgent: 'third' }),
  ]
  const theirs = await Browser.loggedIn(service, { email: stranger.email, password })
  const idOf = async (agent: string) => (await second.logins()).find(({ userAgent }) => userAgent === agent).id
  const firstId = await idOf('first')

  const unknown = await theirs.delete('/api/logins/login_00000000000000000000000000')
  expect([unknown.status, unknown.body.message]).toEqual([404, 'Login not found. Check the id.'])
  for (const foreign of [
    await theirs.delete(`/api/logins/${firstId}`),
    await service.request('DELETE', `/api/logins/${firstId}`, { key: stranger.key }),
  ]) {
    expect([foreign.status, foreign.body]).toEqual([404, unknown.body])
  }
  expect((await theirs.post('/trpc/logins.end', { json: { loginId: firstId } })).status).toBe(404)
  expect(await first.status()).toBe(200)

  const answer = await second.delete(`/api/logins/${firstId}`)
  expect([answer.status, answer.body]).toEqual([200, { message: 'The login was ended.' }])
  expect(answer.headers.getSetCookie()).toEqual([])
  expect([await first.status(), await second.status(), await third.status()]).toEqual([401, 200, 200])
  expect((await second.delete(`/api/logins/${firstId}`)).status).toBe(404)
  // A key with permission to manage the account can end a login, too.
  const ended = await service.request('DELETE', `/api/logins/${await idOf('third')}`, { key })
  expect([ended.status, await third.status(), await second.status()]).toEqual([200, 401, 200])
  await service.stop()
})

test("logging out everywhere ends all the account's logins, but no keys or other users' logins", async () => {
  const service = await startService()
  const { email, key } = await service.createPerson({ password })
  const stranger = await service.createPerson({ password })
  const theirs = await Browser.loggedIn(service, { email: stranger.email, password })
  for (const end of [
    (browser: Browser) => browser.delete('/api/logins'),
    (browser: Browser) => browser.post('/trpc/logins.endAll', { json: {} }),
  ]) {
    const here = await Browser.loggedIn(service, { email, password })
    const there = await Browser.loggedIn(service, { email, password })
    const token = here.cookieHeader
    const answer = await end(here)
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([200, expect.stringContaining('Ended 2 logins.')])
    expect(answer.headers.getSetCookie()).toEqual(['errand=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0'])
    expect(await there.status()).toBe(401)
    expect((await service.request('GET', '/api/account', { headers: { Cookie: token } })).status).toBe(401)
    expect((await service.get('/api/account', key)).status).toBe(200)
  }
  expect(await theirs.status()).toBe(200)
  const own = await Browser.loggedIn(service, { email, password })
  const byKey = await service.request('DELETE', '/api/logins', { key })
  expect([byKey.status, byKey.body, byKey.headers.getSetCookie()]).toEqual([200, { message: 'Ended 1 login.' }, []])
  expect(await own.status()).toBe(401)
  await service.stop()
})

test('a key cannot log out or change passwords, and needs the manage scope for logins', async () => {
  const service = await startService()
  const { email, key, userId } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  const [{ id }] = await browser.logins()
  const change = { currentPassword: password, newPassword: 'another horse battery' }
  for (const [path, body] of [
    ['/api/logout', {}],
    ['/trpc/login.end', { json: {} }],
    ['/api/account/password', change],
    ['/trpc/account.changePassword', { json: change }],
  ] as const) {
    const answer = await service.post(path, body, { key, headers: { Origin: service.url } })
    expect([answer.status, answer.headers.getSetCookie()], path).toEqual([403, []])
  }
  const executes = await service.createKey(userId, ['read', 'execute'])
  for (const [method, path] of [
    ['GET', '/api/logins'],
    ['DELETE', '/api/logins'],
    ['DELETE', `/api/logins/${id}`],
  ] as const) {
    expect((await service.request(method, path, { key: executes })).status, `${method} ${path}`).toBe(403)
  }
  expect(await browser.status()).toBe(200)
  expect((await new Browser(service).logIn({ email, password })).status).toBe(200)
  await service.stop()
})

test('logging in over an existing login creates a new token and ends the old login', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const other = await service.createPerson({ password })
  for (const next of [email, other.email]) {
    const browser = await Browser.loggedIn(service, { email, password })
    const planted = browser.cookieHeader
    expect((await browser.logIn({ email: next, password })).status).toBe(200)
    expect(browser.cookieHeader).not.toBe(planted)
    expect((await browser.get('/api/account')).body.email).toBe(next)
    expect((await service.request('GET', '/api/account', { headers: { Cookie: planted } })).status).toBe(401)
  }
  // A login never adopts a cookie that someone else chose.
  const browser = new Browser(service)
  browser.cookies.set('errand', 'A'.repeat(43))
  expect((await browser.logIn({ email, password })).status).toBe(200)
  expect(browser.token).not.toBe('A'.repeat(43))
  // A failed login does not affect the existing one.
  expect((await browser.logIn({ email, password: 'wrong horse battery' })).status).toBe(401)
  expect(await browser.status()).toBe(200)
  await service.stop()
})

test('suspension rejects keys and ends logins immediately; ended logins stay ended once it is lifted', async () => {
  const service = await startService()
  const { email, key, userId } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  expect([(await service.get('/api/account', key)).status, await browser.status()]).toEqual([200, 200])
  await service.app.store.updateUser({ userId, isSuspended: true })
  for (const path of ['/api/account', '/trpc/account.get', '/trpc/account.get?batch=1']) {
    const answer = await service.get(path, key)
    expect([answer.status, JSON.stringify(answer.body)], path).toEqual([
      403,
      expect.stringContaining('This account is suspended. Contact an admin.'),
    ])
    expect((await browser.get(path)).status, path).toBe(401)
  }
  expect((await service.createTask(key, 'test.echo')).status).toBe(403)
  expect(
    (await service.post('/trpc/tasks.create', { json: { endpointId: 'test.echo', params: {} } }, { key })).status,
  ).toBe(403)
  expect((await service.post('/api/chat', { message: 'x' }, { key })).status).toBe(403)
  expect((await browser.post('/api/tasks', { endpointId: 'test.echo', params: {} })).status).toBe(401)

  await service.app.store.updateUser({ userId, isSuspended: false })
  expect((await service.get('/api/account', key)).status).toBe(200)
  expect((await service.get('/api/tasks', key)).body.total).toBe(0)
  expect(await browser.status()).toBe(401)
  await service.stop()
})

test('an account has at most 100 logins; another one ends the least recently used', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { email, userId } = await service.createPerson({ password })
  const first = await Browser.loggedIn(service, { email, password })
  const second = await Browser.loggedIn(service, { email, password })
  const [{ id: secondId }, { id: firstId }] = await first.logins()
  const { store } = service.app
  for (let more = 0; more < 98; more++) {
    clock.advance(1)
    const login = { userId, method: 'password', provider: null, userAgent: null, forget: null } as const
    await store.createLogin({ ...login, tokenHash: `hash ${more}` })
  }
  await store.touchLogins([{ loginId: firstId, at: clock.now() }])
  expect([await first.status(), await second.status()]).toEqual([200, 200])
  const third = await Browser.loggedIn(service, { email, password })
  expect([await first.status(), await second.status(), await third.status()]).toEqual([200, 401, 200])
  const { body } = await third.get('/api/logins?limit=100')
  expect([body.total, body.logins.some(({ id }: { id: string }) => id === secondId)]).toEqual([100, false])
  await service.stop()
})

test("an admin lists a user's logins and ends one, which the audit log records", async () => {
  const service = await startService()
  const { email, userId } = await service.createPerson({ password })
  const { browser: admin, userId: adminId } = await signUpAdmin(service)
  const [first, second] = [
    await Browser.loggedIn(service, { email, password }, { userAgent: 'first' }),
    await Browser.loggedIn(service, { email, password }, { userAgent: 'second' }),
  ]
  const { body } = await admin.get(`/api/users/${userId}/logins`)
  expect(body).toMatchObject({
    logins: [
      { userAgent: 'second', address: '127.0.0.1', current: false },
      { userAgent: 'first', address: '127.0.0.1', current: false },
    ],
    total: 2,
  })
  const firstId = body.logins[1].id
  const notTheirs = await admin.delete(`/api/users/${adminId}/logins/${firstId}`)
  expect([notTheirs.status, notTheirs.body.message]).toEqual([404, 'Login not found. Check the id.'])
  expect(await first.status()).toBe(200)

  expect((await admin.delete(`/api/users/${userId}/logins/${firstId}`)).body).toEqual({
    message: 'The login was ended.',
  })
  expect([await first.status(), await second.status()]).toEqual([401, 200])
  const { acts } = (await admin.get(`/api/admin/audit?userId=${userId}&action=login.ended`)).body
  expect(acts).toMatchObject([{ actorId: adminId, userId, change: JSON.stringify({ loginId: firstId }) }])
  await service.stop()
})
