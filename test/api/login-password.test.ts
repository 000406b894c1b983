import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { beginLogin } from '../../server/auth/logins/log-in.ts'
import { RequestTrace } from '../../server/kernel/tracing/request-trace.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { Browser, password, type Credentials } from './browser-login.ts'

/** Starts a login and stops it after the password comparison, before it is stored. The result lets it continue. */
async function holdLogin({ app, browser }: { app: TestService['app']; browser: Browser }, credentials: Credentials) {
  const { store } = app
  const { createLogin } = store
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  store.createLogin = async (login) => {
    store.createLogin = createLogin
    reached.resolve()
    await released.promise
    return await createLogin(login)
  }
  const answer = browser.logIn(credentials)
  await reached.promise
  return () => {
    released.resolve()
    return answer
  }
}

const path = '/api/account/password'
const next = 'another horse battery'

test('a new password replaces the old password and ends all other logins, but revokes no keys', async () => {
  const service = await startService()
  const { email, key } = await service.createPerson({ password })
  const stranger = await service.createPerson({ password })
  const here = await Browser.loggedIn(service, { email, password })
  const there = await Browser.loggedIn(service, { email, password })
  const theirs = await Browser.loggedIn(service, { email: stranger.email, password })
  const answer = await here.post(path, { currentPassword: password, newPassword: next })
  expect([answer.status, answer.body]).toEqual([
    200,
    { message: 'Password changed. All other logins of this account were ended.' },
  ])
  expect(answer.headers.getSetCookie()).toEqual([])
  expect([await here.status(), await there.status(), await theirs.status()]).toEqual([200, 401, 200])
  expect((await here.logins()).map(({ current }) => current)).toEqual([true])
  expect((await service.get('/api/account', key)).status).toBe(200)
  expect((await new Browser(service).logIn({ email, password })).status).toBe(401)
  expect((await new Browser(service).logIn({ email, password: next })).status).toBe(200)
  expect((await new Browser(service).logIn({ email: stranger.email, password })).status).toBe(200)
  await service.stop()
})

test('changes the password over RPC and rejects a wrong current password', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  const change = (currentPassword: string) =>
    browser.post('/trpc/account.changePassword', { json: { currentPassword, newPassword: next } })
  const refused = await change('wrong horse battery')
  expect([refused.status, refused.body.error.json.data.details]).toEqual([
    400,
    [{ path: 'currentPassword', message: 'Must be the current password' }],
  ])
  expect((await change(password)).status).toBe(200)
  expect((await new Browser(service).logIn({ email, password: next })).status).toBe(200)
  await service.stop()
})

test('rejects a wrong current password with 400 and counts it as a login attempt', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { email } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  const there = await Browser.loggedIn(service, { email, password })
  for (let tries = 0; tries < 10; tries++) {
    const answer = await browser.post(path, { currentPassword: 'wrong horse battery', newPassword: next })
    expect([answer.status, answer.body.details]).toEqual([
      400,
      [{ path: 'currentPassword', message: 'Must be the current password' }],
    ])
  }
  const throttled = await browser.post(path, { currentPassword: password, newPassword: next })
  expect([throttled.status, throttled.headers.get('retry-after')]).toEqual([429, '900'])
  expect((await new Browser(service).logIn({ email, password })).status).toBe(429)
  expect([await browser.status(), await there.status()]).toEqual([200, 200])
  await service.stop()
})

test('rejects weak or overlong new passwords without counting login attempts', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { email } = await service.createPerson({ email: 'ada.lovelace@example.com', password })
  const browser = await Browser.loggedIn(service, { email, password })
  const refused = [
    '',
    'short',
    'x7(kQ!p2z',
    `Z9!${'x'.repeat(198)}`,
    email,
    email.toUpperCase(),
    'ababababab',
    '1111111111',
  ]
  for (const newPassword of [...refused, ...refused]) {
    const answer = await browser.post(path, { currentPassword: password, newPassword })
    expect(answer.status, newPassword).toBe(400)
    expect(answer.body.details.map((detail: { path: string }) => detail.path)).toEqual(['newPassword'])
  }
  let current = password
  for (const newPassword of ['x7(kQ!p2zu', `Z9!x${'y'.repeat(196)}`, 'пароль из слов и 🐎', ' spaces around it ']) {
    expect((await browser.post(path, { currentPassword: current, newPassword })).status, newPassword).toBe(200)
    expect((await new Browser(service).logIn({ email, password: current })).status).toBe(401)
    expect((await new Browser(service).logIn({ email, password: newPassword })).status).toBe(200)
    current = newPassword
  }
  await service.stop()
})

test('one of two simultaneous changes wins, and only its password logs in', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const browsers = [
    await Browser.loggedIn(service, { email, password }),
    await Browser.loggedIn(service, { email, password }),
  ]
  const wanted = ['first horse battery', 'second horse battery']
  const answers = await Promise.all(
    browsers.map((browser, index) => browser.post(path, { currentPassword: password, newPassword: wanted[index] })),
  )
  const statuses = answers.map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([200, 409])
  const winner = statuses.indexOf(200)
  expect((await new Browser(service).logIn({ email, password: wanted[winner]! })).status).toBe(200)
  expect((await new Browser(service).logIn({ email, password: wanted[1 - winner]! })).status).toBe(401)
  expect([await browsers[winner]!.status(), await browsers[1 - winner]!.status()]).toEqual([200, 401])
  await service.stop()
})

test('rejects a login in progress if the password changes during its check', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  const late = new Browser(service)
  const goOn = await holdLogin({ app: service.app, browser: late }, { email, password })
  expect((await browser.post(path, { currentPassword: password, newPassword: next })).status).toBe(200)
  const answer = await goOn()
  expect([answer.status, answer.body.message, late.cookies.size]).toEqual([
    401,
    'The email address or password is wrong. Check both and try again.',
    0,
  ])
  expect((await browser.logins()).map(({ current }) => current)).toEqual([true])
  await service.stop()
})

test('rejects a login in progress if the user is suspended during its check', async () => {
  const service = await startService()
  const { email, userId } = await service.createPerson({ password })
  const late = new Browser(service)
  const goOn = await holdLogin({ app: service.app, browser: late }, { email, password })
  await service.app.store.updateUser({ userId, isSuspended: true })
  const { headers, status } = await goOn()
  expect([status, headers.getSetCookie()]).toEqual([401, []])
  expect((await service.app.store.listLogins({ userId, limit: 1, offset: 0 })).total).toBe(0)
  await service.stop()
})

test('returns 409 for a password change on an account without a password', async () => {
  const service = await startService()
  const { userId } = await service.createPerson()
  const { services } = service.app
  const browser = new Browser(service)
  const setCookies: string[] = []
  const request = { headers: {} } as IncomingMessage
  const login = { userId, method: 'invitation', provider: null, forget: null } as const
  const about = new RequestTrace('req_of_a_test', undefined)
  await beginLogin(services.people, { browser: { request, setCookies, about }, login })
  browser.cookies.set('errand', /^errand=([^;]+)/.exec(setCookies[0]!)![1]!)
  const answer = await browser.post(path, { currentPassword: password, newPassword: next })
  expect([answer.status, answer.body.message]).toEqual([
    409,
    'This account does not have a password. Ask an admin for a link to set one.',
  ])
  expect((await browser.get('/api/account')).body.hasPassword).toBe(false)
  await service.stop()
})
