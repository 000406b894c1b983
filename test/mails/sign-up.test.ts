import { afterEach, beforeEach, expect, test } from 'vitest'
import { closedSignUp } from '../../server/auth/invitations/sign-up-settings.ts'
import { Browser, password } from '../api/browser-login.ts'
import { expectStatus, signUpAdmin } from '../api/signed-in.ts'
import { FakeClock } from '../support/fake-clock.ts'
import testAgents from '../support/test-agents.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { MailCatcher, tokenIn } from './mail-catcher.ts'

// Accounts that visitors create themselves, with a mailed link.

const hour = 3_600_000
const signUp = { isOpen: true, domains: null, newcomer: { plan: 'trial', credit: 25_000 } }
let catcher: MailCatcher
let clock: FakeClock
let service: TestService

beforeEach(async () => {
  clock = new FakeClock(Date.parse('2027-03-01T10:00:00Z'))
  catcher = await MailCatcher.start()
})

afterEach(async () => {
  await service.stop()
  await catcher.stop()
})

async function open(options: Parameters<typeof startService>[0] = {}): Promise<void> {
  service = await startService({
    config: { ...testAgents, plans: { trial: {}, paid: {} }, defaultPlan: 'paid' },
    mail: catcher.settings,
    clock,
    trustedProxies: ['127.0.0.1'],
    signUp,
    ...options,
  })
}

let clients = 0
const request = (email: string, client = `9.9.${clients >> 8}.${clients++ & 255}`) =>
  service.post('/api/sign-up', { email }, { headers: { 'X-Forwarded-For': client } })
const accept = (token: string) =>
  new Browser(service).request('POST', '/api/invitations/accept', { body: { token, password } })
const check = (token: string) => service.post('/api/invitations/check', { token })
const countUsers = async () => (await service.app.store.listUsers({ limit: 1, offset: 0 })).total

/** Signs up with a mailed link and returns the balance of the new account. */
async function join(email: string): Promise<number> {
  await expectStatus(200, request(email))
  const { userId } = await expectStatus(200, accept(tokenIn((await catcher.waitFor(email))[0]!)))
  return (await service.app.store.getUser(userId))!.balance
}

test('a mailed link creates one account, with plan, credit and audit record', async () => {
  await open()
  const { store } = service.app
  expect((await service.get('/api/login')).body.canSignUp).toBe(true)
  for (let count = 0; count < 2; count++) await expectStatus(200, request('Ada@Example.com'))
  const [first, second] = await catcher.waitFor('ada@example.com', 2)
  expect(first!.subject).toBe('Confirm your email address for Acme Agents')
  const token = tokenIn(first!)
  // Scanners of mail servers open each link.
  await service.get('/invitation')
  expect(await expectStatus(200, check(token))).toMatchObject({ kind: 'sign-up', email: 'ada@example.com' })
  expect(await countUsers()).toBe(0)
  const answers = await Promise.all(Array.from({ length: 3 }, () => accept(token)))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404, 404])
  await expectStatus(409, accept(tokenIn(second!)))
  const browser = await Browser.loggedIn(service, { email: 'ada@example.com', password })
  const account = await expectStatus(200, browser.request('GET', '/api/account'))
  expect(account).toMatchObject({ balanceUsd: '2.5000', isAdmin: false })
  const { userId } = account
  expect(await store.getUser(userId)).toMatchObject({ plan: 'trial' })
  expect(await store.listTransactions({ userId, limit: 10, offset: 0 })).toMatchObject({
    total: 1,
    transactions: [{ type: 'credit', amount: 25_000, description: 'Trial credit' }],
  })
  const { acts } = await store.audit.list({ action: 'invitation.accepted', limit: 10 })
  expect(acts.map(({ actor, change }) => [actor, JSON.parse(change)])).toEqual([
    ['visitor', { kind: 'sign-up', plan: 'trial', creditUsd: '2.5000' }],
  ])
  expect(await store.verifyLedger()).toMatchObject({ ok: true })
})

test('credits a verified address once, whatever its letter case and tag', async () => {
  await open()
  expect(await join('ada+one@example.com')).toBe(25_000)
  expect(await join('ada@example.com')).toBe(0)
  expect(await join('ada+two+three@example.com')).toBe(0)
  expect(await join('ada.b@example.com')).toBe(25_000)
  expect(await join('ada@other.example')).toBe(25_000)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
})

test('simultaneous sign-ups of one person get one credit', async () => {
  await open()
  const emails = Array.from({ length: 5 }, (_, n) => `ada+${n}@example.com`)
  for (const email of emails) await expectStatus(200, request(email))
  const tokens = await Promise.all(emails.map(async (email) => tokenIn((await catcher.waitFor(email))[0]!)))
  await Promise.all(tokens.map((token) => expectStatus(200, accept(token))))
  const { users } = await service.app.store.listUsers({ limit: 10, offset: 0 })
  expect(users.map(({ balance }) => balance).toSorted((a, b) => b - a)).toEqual([25_000, 0, 0, 0, 0])
})

test('answers the same for known and unknown addresses, and mails both', async () => {
  await open()
  await service.createPerson({ email: 'known@example.com', password })
  const timed = async (email: string) => {
    const startedAt = performance.now()
    const { body, status } = await request(email)
    return { ms: performance.now() - startedAt, answer: JSON.stringify({ body, status }) }
  }
  const known = [await timed('known@example.com'), await timed('known@example.com')]
  const unknown = [await timed('new-1@example.com'), await timed('new-2@example.com')]
  expect(new Set([...known, ...unknown].map(({ answer }) => answer)).size).toBe(1)
  expect(Math.min(...[...known, ...unknown].map(({ ms }) => ms))).toBeGreaterThan(240)
  const [mail] = await catcher.waitFor('known@example.com', 2)
  expect(mail!.subject).toBe('You already have an account with Acme Agents')
  expect(mail!.text).toContain(`${service.url}/login`)
  expect(mail!.text).not.toContain('/invitation')
})

test('a link expires in a day, and works only while sign-up is open', async () => {
  await open()
  await expectStatus(200, request('ada@example.com'))
  const token = tokenIn((await catcher.waitFor('ada@example.com'))[0]!)
  clock.advance(24 * hour - 1000)
  await expectStatus(200, check(token))
  service.app.services.people.signUp.isOpen = false
  for (const call of [check, accept]) await expectStatus(404, call(token))
  service.app.services.people.signUp.isOpen = true
  clock.advance(2000)
  for (const call of [check, accept]) await expectStatus(404, call(token))
  expect(await countUsers()).toBe(0)
})

test("a request neither replaces an admin's invitation nor gets its credit", async () => {
  await open({ signUp: { ...signUp, newcomer: { plan: null, credit: 0 } } })
  const admin = await signUpAdmin(service)
  const body = { email: 'ada@example.com', creditUsd: '7' }
  const invited = await expectStatus(200, admin.browser.request('POST', '/api/invitations', { body }))
  await expectStatus(200, request('ada@example.com'))
  const mails = await catcher.waitFor('ada@example.com', 2)
  const token = tokenIn(mails.find(({ subject }) => subject.startsWith('Confirm'))!)
  await expectStatus(200, check(invited.url.split('#')[1]))
  const { userId } = await expectStatus(200, accept(token))
  expect(await service.app.store.getUser(userId)).toMatchObject({ balance: 0, plan: null, isAdmin: false })
  await expectStatus(409, accept(invited.url.split('#')[1]))
})

test('accepts only addresses of the allowed domains', async () => {
  await open({ signUp: { ...signUp, domains: ['example.com', 'acme.example'] } })
  await expectStatus(200, request('ada@Example.com'))
  for (const email of ['ada@sub.example.com', 'ada@example.org', 'example.com@a.example']) {
    const { details } = await expectStatus(400, request(email))
    expect(details).toEqual([{ path: 'email', message: 'Must be an email address at example.com or acme.example' }])
  }
})

test('can be closed', async () => {
  await open({ signUp: closedSignUp })
  await expectStatus(404, request('ada@example.com'))
  expect((await service.get('/api/login')).body.canSignUp).toBe(false)
})

test.each([
  'line\r\nBcc: other@example.com',
  'ada@example.com\n',
  'ada@example.com (comment)',
  '"ada"@example.com',
  'ada@example.com, other@example.com',
  'adä@example.com',
  'ada@exämple.com',
  `${'a'.repeat(250)}@example.com`,
  '',
])('rejects the address %j', async (email) => {
  await open()
  const { details } = await expectStatus(400, request(email))
  expect(details).toMatchObject([{ path: 'email' }])
})
