import { createTRPCClient, httpBatchStreamLink } from '@trpc/client'
import { rmSync } from 'node:fs'
import superjson from 'superjson'
import { expect, test } from 'vitest'
import type { AppRouter } from '../../server/edge/root-router.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { RawConnection } from '../support/raw-http.ts'
import { newDataDir, startService, type Answer, type TestService } from '../support/test-service.ts'
import { Browser, password } from './browser-login.ts'

const dayMs = 86_400_000
const ended = 'The browser login is no longer valid. Log in again.'

function withCookie(service: TestService, cookie: string, headers: Record<string, string> = {}): Promise<Answer> {
  return service.request('GET', '/api/account', { headers: { Cookie: cookie, ...headers } })
}

test('the cookie works for every kind of operation and shares the rate window with keys', async () => {
  const service = await startService({ clock: new FakeClock() })
  const person = await service.createPerson({ password })
  const { email, userId } = person
  const browser = await Browser.loggedIn(service, { email, password })
  const remaining = ({ headers, status }: Answer) => [status, headers.get('x-ratelimit-remaining')]
  const task = { endpointId: 'test.echo', params: {} }
  expect(remaining(await browser.post('/api/tasks', task))).toEqual([200, '9'])
  expect(remaining(await browser.post('/trpc/tasks.create', { json: task }))).toEqual([200, '8'])
  const batch = await browser.post('/trpc/tasks.create,tasks.create?batch=1', { 0: { json: task }, 1: { json: task } })
  expect(remaining(batch)).toEqual([200, '6'])
  expect(remaining(await service.createTask(person.key, 'test.echo'))).toEqual([200, '5'])

  const session = await browser.post('/api/sessions', { agentId: 'talk' })
  const { sessionId } = session.body
  const chat = await browser.post('/api/chat', { sessionId, message: 'hello' })
  expect(remaining(chat)).toEqual([200, '4'])
  expect(chat.headers.get('content-type')).toBe('application/x-ndjson')
  expect(JSON.parse(chat.body.trim().split('\n').at(-1)).type).toBe('done')
  const typed = createTRPCClient<AppRouter>({
    links: [
      httpBatchStreamLink({
        url: `${service.url}/trpc`,
        transformer: superjson,
        headers: { Cookie: browser.cookieHeader, Origin: service.url },
      }),
    ],
  })
  const events: string[] = []
  for await (const { type } of await typed.chat.stream.mutate({ sessionId, message: 'again' })) events.push(type)
  expect(events.at(-1)).toBe('done')

  const account = await browser.get('/api/account')
  expect(remaining(account)).toEqual([200, '3'])
  expect(account.body).toMatchObject({ userId, email, hasPassword: true, isAdmin: false })
  expect(remaining(await browser.get('/trpc/account.get'))).toEqual([200, '3'])
  const inputs = encodeURIComponent(JSON.stringify({ 0: { json: {} }, 1: { json: {} } }))
  const reads = await browser.get(`/trpc/account.get,tasks.list?batch=1&input=${inputs}`)
  expect(reads.body.map((one: any) => Object.keys(one))).toEqual([['result'], ['result']])
  expect((await browser.request('HEAD', '/api/tasks')).status).toBe(200)
  expect((await browser.request('PATCH', `/api/sessions/${sessionId}`, { body: { status: 'completed' } })).status).toBe(
    200,
  )
  expect((await browser.delete(`/api/sessions/${sessionId}`)).status).toBe(200)
  for (let left = 2; left >= 0; left--) {
    expect(remaining(await browser.post('/api/tasks', task))).toEqual([200, String(left)])
  }
  expect((await browser.post('/api/tasks', task)).status).toBe(429)
  expect((await service.createTask(person.key, 'test.echo')).status).toBe(429)
  await service.stop()
})

test('an Authorization header takes precedence over a valid cookie', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const other = await service.createPerson()
  const browser = await Browser.loggedIn(service, { email, password })
  const cookie = browser.cookieHeader
  for (const value of ['', 'Bearer', 'Bearer wrong', 'Basic YTpi', `Bearer ${browser.token}`, other.key]) {
    const headers = { Cookie: cookie, Authorization: value }
    expect((await withCookie(service, cookie, headers)).status, value).toBe(401)
    expect((await service.request('GET', '/trpc/account.get', { headers })).status, value).toBe(401)
    const posted = await service.post('/api/chat', { message: 'x' }, { headers: { ...headers, Origin: service.url } })
    expect(posted.status, value).toBe(401)
  }
  const asOther = await withCookie(service, cookie, { Authorization: `Bearer ${other.key}` })
  expect(asOther.body.userId).toBe(other.userId)
  // A request with a key may have any origin, because a page of another site cannot have the key.
  const headers = { Cookie: cookie, Origin: 'https://other.example' }
  expect((await service.createTask(other.key, 'test.echo', {}, headers)).status).toBe(200)
  await service.stop()
})

test('returns 401 for a malformed, foreign, duplicate or misnamed cookie', async () => {
  const service = await startService()
  const another = await startService()
  const { email } = await service.createPerson({ email: 'ada@example.com', password })
  await another.createPerson({ email: 'ada@example.com', password })
  const { token } = await Browser.loggedIn(service, { email, password })
  const foreign = (await Browser.loggedIn(another, { email, password })).token
  const flipped = (token.startsWith('A') ? 'B' : 'A') + token.slice(1)
  const unfit = ['', 'wrong', foreign, flipped, token.slice(1), `${token}A`, `"${token}"`, `${token}%20`, token + token]
  expect((await withCookie(service, `errand=${token}`)).status).toBe(200)
  for (const cookie of [...unfit.map((value) => `errand=${value}`), `errand=${token}; errand=${token}`]) {
    const answer = await withCookie(service, cookie)
    expect([answer.status, answer.body.message], cookie).toEqual([401, ended])
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    const overRpc = await service.request('GET', '/trpc/account.get', { headers: { Cookie: cookie } })
    expect([overRpc.status, overRpc.body.error.json.message], cookie).toEqual([401, ended])
  }
  for (const cookie of [`Errand=${token}`, `__Host-errand=${token}`, `xerrand=${token}`, token]) {
    expect((await withCookie(service, cookie)).status, cookie).toBe(401)
  }
  using connection = await RawConnection.open(service.url)
  await connection.send(
    `GET /api/account HTTP/1.1\r\nHost: a\r\nCookie: errand=${token}\r\nCookie: errand=${token}\r\n\r\n`,
  )
  expect((await connection.readAnswer())!.status).toBe(401)
  await another.stop()
  await service.stop()
})

test('a login expires after exactly 30 days, no matter how much it is used', async () => {
  const clock = new FakeClock()
  const dataDir = newDataDir()
  let service = await startService({ clock, dataDir })
  const { email, userId } = await service.createPerson({ password })
  const { token } = await Browser.loggedIn(service, { email, password })
  const cookie = `errand=${token}`
  for (let day = 6; day < 30; day += 6) {
    clock.advance(6 * dayMs)
    expect((await withCookie(service, cookie)).status, `day ${day}`).toBe(200)
    // A shutdown saves when logins were last used.
    await service.stop()
    service = await startService({ clock, dataDir })
  }
  clock.advance(6 * dayMs - 1)
  expect((await withCookie(service, cookie)).status).toBe(200)
  clock.advance(1)
  expect((await withCookie(service, cookie)).status).toBe(401)
  expect(await service.app.store.purgeExpired()).toBe(false)
  expect(await service.app.store.endLogins(userId)).toBe(0)
  await service.stop()
  rmSync(dataDir, { recursive: true })
})

test('a login expires after exactly 7 unused days and is no longer listed', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { email, key } = await service.createPerson({ password })
  const { token } = await Browser.loggedIn(service, { email, password })
  clock.advance(7 * dayMs - 1)
  expect((await service.get('/api/logins', key)).body.total).toBe(1)
  expect((await withCookie(service, `errand=${token}`)).status).toBe(200)
  clock.advance(1)
  expect((await service.get('/api/logins', key)).body).toMatchObject({ logins: [], total: 0 })
  // The last use is saved within ten seconds and does not count before that.
  expect((await withCookie(service, `errand=${token}`)).status).toBe(401)
  await service.stop()
})

test('each use keeps a login alive, even if an older use is saved later', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { email, key } = await service.createPerson({ password })
  const { token } = await Browser.loggedIn(service, { email, password })
  const [{ id: loginId }] = (await service.get('/api/logins', key)).body.logins
  for (let day = 0; day < 20; day += 5) {
    clock.advance(5 * dayMs)
    expect((await withCookie(service, `errand=${token}`)).status).toBe(200)
    await service.app.store.touchLogins([{ loginId, at: clock.now() }])
  }
  const [login] = (await service.get('/api/logins', key)).body.logins
  expect(login.lastUsedAt).toBe(new Date(clock.now()).toISOString())
  // An earlier use that is saved later does not replace it.
  await service.app.store.touchLogins([{ loginId, at: clock.now() - 6 * dayMs }])
  clock.advance(6 * dayMs)
  expect((await withCookie(service, `errand=${token}`)).status).toBe(200)
  await service.stop()
})

test('the login page redirects logged-in users to the overview, but not if it has a query', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  const { headers, status } = await browser.get('/login')
  expect([status, headers.get('location'), headers.get('cache-control')]).toEqual([303, '/', 'no-store'])
  for (const query of ['?error=suspended', '?returnTo=%2Ftasks']) {
    expect((await browser.get(`/login${query}`)).status, query).not.toBe(303)
  }
  const strangers = [
    new Browser(service).get('/login'),
    service.request('GET', '/login', { headers: { Cookie: 'errand=nothing' } }),
  ]
  for (const answer of await Promise.all(strangers)) expect(answer.status).not.toBe(303)
  await service.stop()
})
