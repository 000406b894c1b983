import { expect, test } from 'vitest'
import { hashPassword } from '../../server/auth/logins/passwords.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { Browser, password } from './browser-login.ts'
import { expectStatus, signIn, signUp, signUpAdmin, type SignedIn } from './signed-in.ts'

const chosen = 'a wholly new password'

async function prepare() {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const admin = await signUpAdmin(service)
  const passwordHash = await hashPassword(password)
  return { clock, service, admin, person: await signUp(service, { email: 'ada@example.com', passwordHash }) }
}

async function linkFor({ browser }: SignedIn, userId: string): Promise<string> {
  const { url } = await expectStatus(200, browser.post(`/api/users/${userId}/password-link`, {}))
  return url.split('#')[1]
}

function accept(service: TestService, token: string) {
  return new Browser(service).post('/api/invitations/accept', { token, password: chosen })
}

test('creating a link needs no body and returns its expiry time', async () => {
  const { admin, person, service } = await prepare()
  const path = `/api/users/${person.userId}/password-link`
  const { url, ...rest } = await expectStatus(200, admin.browser.request('POST', path))
  expect(rest).toEqual({ expiresAt: '2026-01-16T12:00:00.000Z' })
  const [place, token] = url.split('#')
  expect(place).toBe(`${service.url}/invitation`)
  expect(await expectStatus(200, service.post('/api/invitations/check', { token }))).toEqual({
    kind: 'password',
    email: 'ada@example.com',
    expiresAt: '2026-01-16T12:00:00.000Z',
  })
  await service.stop()
})

test('a link sets the password, ends existing logins, logs in, and works once', async () => {
  const { admin, person, service } = await prepare()
  const earlier = [person.browser, await signIn(service, person.userId)]
  const key = await service.createKey(person.userId)
  const token = await linkFor(admin, person.userId)
  // The link alone changes nothing before it is used.
  expect(await earlier[1]!.status()).toBe(200)
  const browser = new Browser(service)
  const answer = await browser.post('/api/invitations/accept', { token, password: chosen })
  expect(await expectStatus(200, answer)).toMatchObject({ userId: person.userId, email: 'ada@example.com' })
  expect(await browser.status()).toBe(200)
  for (const one of earlier) expect(await one.status()).toBe(401)
  expect(await admin.browser.status()).toBe(200)
  expect((await service.get('/api/account', key)).status).toBe(200)
  await expectStatus(401, new Browser(service).logIn({ email: 'ada@example.com', password }))
  await expectStatus(200, new Browser(service).logIn({ email: 'ada@example.com', password: chosen }))
  await expectStatus(404, accept(service, token))
  await service.stop()
})

test('a link sets a first password and grants no admin rights or credit', async () => {
  const { admin, service } = await prepare()
  const { email, userId } = await service.createPerson({ balanceUsd: '1' })
  const browser = new Browser(service)
  const token = await linkFor(admin, userId)
  await expectStatus(200, browser.post('/api/invitations/accept', { token, password: chosen }))
  expect(await expectStatus(200, browser.get('/api/account'))).toMatchObject({
    email,
    hasPassword: true,
    isAdmin: false,
    balanceUsd: '1.0000',
  })
  await service.stop()
})

test('returns 403 for a suspended user and keeps the old password', async () => {
  const { admin, person, service } = await prepare()
  const token = await linkFor(admin, person.userId)
  const suspend = (isSuspended: boolean) =>
    expectStatus(200, admin.browser.request('PATCH', `/api/users/${person.userId}`, { body: { isSuspended } }))
  await suspend(true)
  expect(await expectStatus(403, accept(service, token))).toEqual({
    error: 'Forbidden',
    message: 'This account is suspended. Contact an admin.',
    statusCode: 403,
    code: 'FORBIDDEN',
  })
  await suspend(false)
  await expectStatus(401, new Browser(service).logIn({ email: 'ada@example.com', password: chosen }))
  await expectStatus(200, new Browser(service).logIn({ email: 'ada@example.com', password }))
  await service.stop()
})

test('a link works for a day and is replaced by a newer one', async () => {
  const { admin, clock, person, service } = await prepare()
  const first = await linkFor(admin, person.userId)
  const second = await linkFor(admin, person.userId)
  const others = await linkFor(admin, admin.userId)
  await expectStatus(404, accept(service, first))
  clock.advance(86_400_000 - 1)
  await expectStatus(200, accept(service, second))
  clock.advance(1)
  await expectStatus(404, accept(service, others))
  await service.stop()
})

test('only one of many parallel uses of a link sets the password', async () => {
  const { admin, person, service } = await prepare()
  const token = await linkFor(admin, person.userId)
  const answers = await Promise.all(Array.from({ length: 5 }, () => accept(service, token)))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404, 404, 404, 404])
  await service.stop()
})

test('rejects the email address as a password with 400', async () => {
  const { admin, person, service } = await prepare()
  const token = await linkFor(admin, person.userId)
  const body = { token, password: 'ADA@example.com' }
  const { details } = await expectStatus(400, new Browser(service).post('/api/invitations/accept', body))
  expect(details).toMatchObject([{ path: 'password' }])
  await service.stop()
})

test("a password change ends the user's open links but not other users' links", async () => {
  const { admin, person, service } = await prepare()
  const open = await linkFor(admin, person.userId)
  const others = await linkFor(admin, admin.userId)
  const change = { currentPassword: 'wrong horse battery', newPassword: 'another horse battery' }
  await expectStatus(400, person.browser.post('/api/account/password', change))
  await expectStatus(200, service.post('/api/invitations/check', { token: open }))
  await expectStatus(200, person.browser.post('/api/account/password', { ...change, currentPassword: password }))
  await expectStatus(404, accept(service, open))
  await expectStatus(200, accept(service, others))
  await service.stop()
})
