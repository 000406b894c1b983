import { afterEach, beforeEach, expect, test } from 'vitest'
import { Browser, password } from '../api/browser-login.ts'
import { expectStatus, signUpAdmin } from '../api/signed-in.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type Person, type TestService } from '../support/test-service.ts'
import { until, waitMsMax } from '../support/until.ts'
import { MailCatcher, tokenIn } from './mail-catcher.ts'

// Links to set a new password, which people request themselves.

const newPassword = 'another horse battery'
const hour = 3_600_000
let catcher: MailCatcher
let clock: FakeClock
let service: TestService
let person: Person

beforeEach(async () => {
  clock = new FakeClock(Date.now())
  catcher = await MailCatcher.start()
  const trustedProxies = ['127.0.0.1']
  service = await startService({ mail: catcher.settings, clock, trustedProxies })
  person = await service.createPerson({ email: 'forgetful@example.com', password })
})

afterEach(async () => {
  await service.stop()
  await catcher.stop()
})

let clients = 0
const request = (email: string, client = `9.9.${clients >> 8}.${clients++ & 255}`) =>
  service.post('/api/password-resets', { email }, { headers: { 'X-Forwarded-For': client } })
const accept = (token: string, given = newPassword) =>
  new Browser(service).request('POST', '/api/invitations/accept', { body: { token, password: given } })

test('a mailed link sets a new password once, and ends logins and other links', async () => {
  const browser = await Browser.loggedIn(service, { email: person.email, password })
  expect((await service.get('/api/login')).body.canResetPassword).toBe(true)
  for (let count = 0; count < 2; count++) await expectStatus(200, request('Forgetful@Example.com'))
  const [first, second] = await catcher.waitFor(person.email, 2)
  expect(first!.subject).toBe('Reset your Acme Agents password')
  const token = tokenIn(first!)
  // Scanners of mail servers open each link.
  await service.get('/invitation')
  expect(await expectStatus(200, service.post('/api/invitations/check', { token }))).toMatchObject({ kind: 'password' })
  await expectStatus(200, accept(token))
  await Browser.loggedIn(service, { email: person.email, password: newPassword })
  expect((await browser.request('GET', '/api/account')).status).toBe(401)
  for (const used of [token, tokenIn(second!)]) await expectStatus(404, accept(used))
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
})

test('a mailed link expires in an hour', async () => {
  await expectStatus(200, request(person.email))
  const token = tokenIn((await catcher.waitFor(person.email))[0]!)
  clock.advance(hour - 1000)
  await expectStatus(200, service.post('/api/invitations/check', { token }))
  clock.advance(2000)
  await expectStatus(404, accept(token))
  await Browser.loggedIn(service, { email: person.email, password })
})

test('answers the same for known and unknown addresses, after about the same time', async () => {
  const suspended = await service.createPerson({ email: 'suspended@example.com', password })
  await service.app.store.updateUser({ userId: suspended.userId, isSuspended: true })
  const known = [person.email]
  const unknown = ['unknown@example.com', suspended.email, (await service.createPerson()).email]
  const timed = async (email: string) => {
    const startedAt = performance.now()
    const { body, status } = await request(email)
    return { ms: performance.now() - startedAt, answer: JSON.stringify({ body, status }) }
  }
  const answers = new Set<string>()
  const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] }
  for (let turn = 0; turn < 8; turn++) {
    for (const [kind, emails] of [
      ['known', known],
      ['unknown', unknown],
    ] as const) {
      const { answer, ms } = await timed(emails[turn % emails.length]!)
      answers.add(answer)
      times[kind].push(ms)
    }
  }
  expect([...answers]).toHaveLength(1)
  const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!
  expect(Math.min(...times.unknown)).toBeGreaterThan(240)
  expect(Math.abs(median(times.known) - median(times.unknown))).toBeLessThan(60)
  await until('all were sent', waitMsMax, async () => (await service.app.store.mails.readState()).pending === 0)
  expect(new Set(catcher.caught.map(({ to }) => to))).toEqual(new Set([person.email]))
})

test('requests for one address send a bounded number of mails, and do not lock its owner out', async () => {
  const statuses: number[] = []
  for (let round = 0; round < 11; round++) {
    const answers = Array.from({ length: 5 }, () => request(person.email))
    statuses.push(...(await Promise.all(answers)).map(({ status }) => status))
  }
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  expect(statuses.filter((status) => status === 200)).toHaveLength(50)
  await catcher.waitFor(person.email, 10)
  await Browser.loggedIn(service, { email: person.email, password })
  clock.advance(hour)
  await expectStatus(200, request(person.email))
  await until('all were sent', waitMsMax, async () => (await service.app.store.mails.readState()).pending === 0)
  expect(catcher.caught).toHaveLength(10)
  clock.advance(24 * hour)
  await expectStatus(200, request(person.email))
  await catcher.waitFor(person.email, 11)
})

test('one client gets a limited number of requests, whatever the addresses', async () => {
  const statuses: number[] = []
  for (let round = 0; round < 7; round++) {
    const answers = Array.from({ length: 15 }, (_, n) => request(`nobody${round}-${n}@example.com`, '9.8.7.6'))
    statuses.push(...(await Promise.all(answers)).map(({ status }) => status))
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(100)
  expect(statuses.filter((status) => status === 429)).toHaveLength(5)
  // The client can still log in.
  const login = { email: person.email, password }
  await expectStatus(200, new Browser(service).post('/api/login', login, { 'X-Forwarded-For': '9.8.7.6' }))
})

test('too many simultaneous requests are rejected before they write anything', async () => {
  const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => request(`many-${n}@example.com`)))
  const statuses = answers.map(({ status }) => status)
  expect(new Set(statuses)).toEqual(new Set([200, 503]))
  expect(statuses.filter((status) => status === 200).length).toBeLessThan(40)
})

test("a request does not invalidate an admin's link, or one that was mailed before", async () => {
  const admin = await signUpAdmin(service)
  const path = `/api/users/${person.userId}/password-link`
  const made = await expectStatus(200, admin.browser.request('POST', path, { body: {} }))
  for (let count = 0; count < 2; count++) await expectStatus(200, request(person.email))
  const mails = await catcher.waitFor(person.email, 2)
  const tokens = [made.url.split('#')[1], ...mails.map(tokenIn)]
  for (const token of tokens) await expectStatus(200, service.post('/api/invitations/check', { token }))
})

test.each([
  'line\r\nBcc: other@example.com',
  'forgetful@example.com\n',
  'forgetful@example.com (comment)',
  '"forgetful"@example.com',
  'forgetful@example.com, other@example.com',
  'förgetful@example.com',
  'forgetful@exämple.com',
  `${'a'.repeat(250)}@example.com`,
  '',
])('rejects the address %j', async (email) => {
  const { details } = await expectStatus(400, request(email))
  expect(details).toMatchObject([{ path: 'email' }])
})

test('never puts a stored address that mail cannot carry into a mail', async () => {
  const { store } = service.app
  for (const email of ['a@b.example\r\nBcc: other@example.com', 'ünï@example.com', 'a@example.com, b@example.com']) {
    const created = await store.createUser({ email, passwordHash: 'hash', isAdmin: false })
    const mail = { mailId: `mail_${email.length}`, sealed: 'none' }
    const of = { client: null, email, tokenHash: email, expiresAt: clock.now() + hour, mail }
    expect(created.outcome).toBe('created')
    expect(await store.mails.requestPasswordLink(of)).toMatchObject({ outcome: 'admitted' })
  }
  await until('all were given up', waitMsMax, async () => (await store.mails.readState()).failed === 3)
  expect(catcher.asked).toEqual([])
})
