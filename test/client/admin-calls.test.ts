import { expect, test } from 'vitest'
import { createClient, type ErrandClient } from '../../client/client.ts'
import { Browser, password } from '../api/browser-login.ts'
import { signUp, signUpAdmin } from '../api/signed-in.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { rejection, rejections } from './rejection.ts'

type Page = { client: ErrandClient; browser: Browser; authorizations: (string | null)[] }

/** Returns a client for a page of the service, without a key. The browser adds the cookie and the origin. */
function openPage(service: TestService, browser = new Browser(service)): Page {
  const authorizations: (string | null)[] = []
  const send = async (url: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers)
    authorizations.push(headers.get('Authorization'))
    headers.set('Origin', service.url)
    headers.set('Sec-Fetch-Site', 'same-origin')
    if (browser.cookies.size > 0) headers.set('Cookie', browser.cookieHeader)
    const response = await fetch(url, { ...init, headers })
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(';')[0]!.split('=') as [string, string]
      if (value === '') browser.cookies.delete(name)
      else browser.cookies.set(name, value)
    }
    return response
  }
  return { client: createClient({ baseUrl: service.url, apiKey: null, fetch: send }), browser, authorizations }
}

test("without a key, sends no Authorization header and relies on the browser's cookie", async () => {
  const service = await startService()
  const { browser, email, userId } = await signUp(service)
  await service.app.store.credit({ userId, amount: 10_000, description: 'Test balance', idempotencyKey: null })
  const page = openPage(service, browser)
  expect(await page.client.account.get()).toMatchObject({ email })
  const { taskId } = await page.client.tasks.create({ endpointId: 'test.echo', params: { a: 1 } })
  expect(await page.client.tasks.wait(taskId)).toMatchObject({ status: 'completed' })
  const { sessionId } = await page.client.sessions.create({ agentId: 'talk' })
  expect(await page.client.chat.text({ sessionId, message: 'hello' })).toMatchObject({ text: 'You said: hello' })
  expect(page.authorizations.length).toBeGreaterThanOrEqual(5)
  expect(new Set(page.authorizations)).toEqual(new Set([null]))
  expect(await rejection(openPage(service).client.account.get())).toMatchObject({ code: 'UNAUTHORIZED', status: 401 })
  await service.stop()
})

test('a user is invited, accepts, logs in and out, and changes the password', async () => {
  const service = await startService()
  const admin = openPage(service, (await signUpAdmin(service)).browser)
  const email = 'ada@example.com'
  const { isMailed: _, url, ...invitation } = await admin.client.invitations.create({ email, creditUsd: '2.5' })
  expect((await admin.client.invitations.list()).invitations).toEqual([invitation])
  const token = url.split('#')[1]!

  const person = openPage(service)
  expect(await person.client.login.options()).toEqual({ canResetPassword: false, canSignUp: false, providers: [] })
  expect(await person.client.invitations.check({ token })).toEqual({
    kind: 'invitation',
    email,
    expiresAt: invitation.expiresAt,
  })
  const accepted = await person.client.invitations.accept({ token, password })
  expect(accepted).toEqual({ userId: expect.any(String), email, expiresAt: expect.any(String) })
  const { userId } = accepted
  expect(await person.client.account.get()).toMatchObject({ userId, email, balanceUsd: '2.5000' })
  expect(await rejection(person.client.invitations.check({ token }))).toMatchObject({ code: 'NOT_FOUND', status: 404 })
  expect(await rejection(person.client.users.list())).toMatchObject({ code: 'FORBIDDEN', status: 403 })

  const second = openPage(service)
  expect(await second.client.login.create({ email, password })).toMatchObject({ userId, email })
  const { logins, total } = await second.client.logins.list()
  expect([total, logins.map(({ current, method }) => [method, current])]).toEqual([
    2,
    [
      ['password', true],
      ['invitation', false],
    ],
  ])
  const change = { currentPassword: 'wrong', newPassword: 'a wholly new password' }
  expect(await rejection(second.client.account.changePassword(change))).toMatchObject({
    code: 'BAD_REQUEST',
    details: [{ path: 'currentPassword' }],
  })
  await second.client.account.changePassword({ ...change, currentPassword: password })
  expect(await rejection(person.client.account.get())).toMatchObject({ code: 'UNAUTHORIZED' })
  const wrong = await rejection(person.client.login.create({ email, password }))
  expect(wrong).toMatchObject({ code: 'UNAUTHORIZED', status: 401, requestId: expect.stringMatching(/^req_/) })
  await person.client.login.create({ email, password: change.newPassword })

  const other = (await second.client.logins.list()).logins.find(({ current }) => !current)!
  await second.client.logins.end({ loginId: other.id })
  expect(await rejection(person.client.account.get())).toMatchObject({ code: 'UNAUTHORIZED' })
  expect(await second.client.login.end()).toEqual({ message: expect.any(String) })
  expect(second.browser.cookies.size).toBe(0)
  await second.client.login.create({ email, password: change.newPassword })
  expect(await second.client.logins.endAll()).toEqual({ message: 'Ended 1 login.' })
  expect(await rejection(second.client.account.get())).toMatchObject({ code: 'UNAUTHORIZED' })
  await service.stop()
})

test('too many login attempts cause LOGIN_THROTTLED with Retry-After', async () => {
  const service = await startService()
  for (let tries = 0; tries < 10; tries++) {
    await service.app.store.admitLogin({ email: 'ada@example.com', client: null })
  }
  const error = await rejection(openPage(service).client.login.create({ email: 'ada@example.com', password }))
  expect(error).toMatchObject({ code: 'LOGIN_THROTTLED', status: 429 })
  expect((error as { retryAfterSeconds: number }).retryAfterSeconds).toBeGreaterThan(800)
  await service.stop()
})

test('every admin method returns the same as REST', async () => {
  const service = await startService()
  const { browser } = await signUpAdmin(service)
  const { client } = openPage(service, browser)
  const person = await service.createPerson({ balanceUsd: '0' })
  const { userId } = person
  const rest = async (path: string) => (await browser.get(`/api/${path}`)).body

  const input = { userId, amountUsd: '3.25', reason: 'Top-up' }
  const named = { idempotencyKey: 'once' }
  const credited = await client.users.credit(input, named)
  expect(credited).toEqual({ transactionId: expect.stringMatching(/^txn_/), balanceUsd: '3.2500' })
  expect(await client.users.credit(input, named)).toEqual(credited)
  expect(await rejection(client.users.credit({ ...input, amountUsd: '4' }, named))).toMatchObject({ code: 'CONFLICT' })
  expect(await client.users.credit({ ...input, amountUsd: '-0.25' })).toMatchObject({ balanceUsd: '3.0000' })

  expect(await client.users.list()).toEqual(await rest('users'))
  expect(await client.users.list({ search: person.email, limit: 1, offset: 0 })).toMatchObject({ total: 1 })
  expect(await client.users.get({ userId })).toEqual(await rest(`users/${userId}`))
  expect(await client.users.transactions({ userId })).toEqual(await rest(`users/${userId}/transactions`))
  expect(await client.users.transactions({ userId, limit: 1, offset: 1 })).toMatchObject({ total: 2, limit: 1 })
  expect(await client.users.update({ userId, isSuspended: true })).toEqual(await rest(`users/${userId}`))
  expect(await client.users.update({ userId, isSuspended: false })).toMatchObject({ isSuspended: false })
  expect(await client.users.unblock({ userId })).toEqual(await rest(`users/${userId}`))
  const link = await client.users.createPasswordLink({ userId })
  expect(link).toEqual({ url: expect.stringContaining('/invitation#'), expiresAt: expect.any(String) })
  const { invitations } = await client.invitations.list({ limit: 5 })
  expect(invitations).toMatchObject([{ kind: 'password', email: person.email }])
  expect(await client.invitations.revoke({ invitationId: invitations[0]!.id })).toEqual({ message: expect.any(String) })
  expect(await client.invitations.list()).toMatchObject({ total: 0 })
  const system = await client.system.get()
  expect(system).toMatchObject({ accepting: true, users: { total: 2, suspended: 0 } })
  expect(Object.keys(system)).toEqual(Object.keys(await rest('system')))
  expect(await client.account.usage({ days: 3 })).toEqual(await rest('usage?days=3'))
  expect(await client.account.usage()).toEqual(await rest('usage'))
  await service.stop()
})

test('rejects an invalid idempotency key of a credit with INVALID_ARGUMENT before sending', async () => {
  let requests = 0
  const fetch = () => (requests++, Promise.reject(new Error('offline')))
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: null, fetch })
  const input = { userId: 'user_1', amountUsd: '1', reason: 'Top-up' }
  const wrong = ['', 'two words', 'x'.repeat(256)].map((idempotencyKey) =>
    client.users.credit(input, { idempotencyKey }),
  )
  for (const error of await rejections(wrong)) expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' })
  expect(requests).toBe(0)
})
