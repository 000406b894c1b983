import { expect, test } from 'vitest'
import { keptBytes, withRaw } from '../support/test-engine.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { Browser, password } from './browser-login.ts'
import { expectStatus, signUp, signUpAdmin, type SignedIn } from './signed-in.ts'

const dayMs = 86_400_000
const page = { limit: 100, offset: 0 }
const unusable = {
  error: 'Not found',
  message: 'This link is unknown, already used or expired. Ask for a new one.',
  statusCode: 404,
  code: 'NOT_FOUND',
}

async function prepare() {
  const clock = new FakeClock()
  const service = await startService({ clock })
  return { clock, service, admin: await signUpAdmin(service, { email: 'admin@example.com' }) }
}

/** Creates an invitation and returns the token in its link. */
async function invite({ browser }: SignedIn, email: string, more: object = {}): Promise<string> {
  return (await expectStatus(200, browser.post('/api/invitations', { email, ...more }))).url.split('#')[1]
}

function accept(service: TestService, token: string, chosen = password) {
  return new Browser(service).post('/api/invitations/accept', { token, password: chosen })
}

function check(service: TestService, token: string) {
  return service.post('/api/invitations/check', { token })
}

async function emails({ app: { store } }: TestService): Promise<string[]> {
  return (await store.listUsers(page)).users.map(({ email }) => email)
}

test('shows the link once and never stores its token in the data directory', async () => {
  const { admin, service } = await prepare()
  const created = await expectStatus(
    200,
    admin.browser.post('/api/invitations', { email: 'Ada@Example.com', isAdmin: true, creditUsd: '12.5' }),
  )
  const { isMailed: _, url, ...invitation } = created
  expect(invitation).toEqual({
    id: expect.stringMatching(/^inv_[0-9a-z]{26}$/),
    kind: 'invitation',
    email: 'ada@example.com',
    isAdmin: true,
    creditUsd: '12.5000',
    createdAt: '2026-01-15T12:00:00.000Z',
    expiresAt: '2026-01-22T12:00:00.000Z',
    acceptedAt: null,
  })
  const [place, token] = url.split('#')
  expect(place).toBe(`${service.url}/invitation`)
  expect(token).toMatch(/^[\w-]{43}$/)
  const listed = await expectStatus(200, admin.browser.get('/api/invitations'))
  expect(listed).toEqual({ invitations: [invitation], total: 1, limit: 50, offset: 0 })
  const bytes = Buffer.concat([...(await keptBytes(service.dataDir)).values()])
  expect(bytes.indexOf('ada@example.com')).toBeGreaterThan(0)
  expect(bytes.indexOf(token)).toBe(-1)
  await service.stop()
})

test('a link creates the account with its credit, logs in, and works once', async () => {
  const { admin, clock, service } = await prepare()
  const token = await invite(admin, 'ada@example.com', { creditUsd: '12.3456' })
  expect(await expectStatus(200, check(service, token))).toEqual({
    kind: 'invitation',
    email: 'ada@example.com',
    expiresAt: '2026-01-22T12:00:00.000Z',
  })
  clock.advance(1000)
  const browser = new Browser(service)
  const answer = await browser.post('/api/invitations/accept', { token, password })
  expect([answer.status, answer.body]).toEqual([
    200,
    {
      userId: expect.stringMatching(/^user_/),
      email: 'ada@example.com',
      expiresAt: '2026-02-14T12:00:01.000Z',
    },
  ])
  expect(await expectStatus(200, browser.get('/api/account'))).toMatchObject({
    userId: answer.body.userId,
    email: 'ada@example.com',
    balanceUsd: '12.3456',
    isAdmin: false,
    hasPassword: true,
    createdAt: '2026-01-15T12:00:01.000Z',
  })
  expect((await expectStatus(200, browser.get('/api/transactions'))).transactions).toMatchObject([
    { type: 'credit', amountUsd: '12.3456', description: 'Invitation credit' },
  ])
  expect((await browser.logins()).map(({ method }) => method)).toEqual(['invitation'])
  await expectStatus(200, new Browser(service).logIn({ email: 'ada@example.com', password }))

  for (const again of [accept(service, token, 'another password'), check(service, token)]) {
    expect(await expectStatus(404, again)).toEqual(unusable)
  }
  await expectStatus(401, new Browser(service).logIn({ email: 'ada@example.com', password: 'another password' }))
  expect((await expectStatus(200, admin.browser.get('/api/invitations'))).invitations).toMatchObject([
    { email: 'ada@example.com', acceptedAt: '2026-01-15T12:00:01.000Z' },
  ])
  await service.stop()
})

test('an admin invitation creates an admin; without credit it posts no transaction', async () => {
  const { admin, service } = await prepare()
  const browser = new Browser(service)
  const token = await invite(admin, 'boss@example.com', { isAdmin: true })
  const { userId } = await expectStatus(200, browser.post('/api/invitations/accept', { token, password }))
  expect(await expectStatus(200, browser.get(`/api/users/${userId}`))).toMatchObject({
    isAdmin: true,
    balanceUsd: '0.0000',
  })
  expect(await expectStatus(200, browser.get(`/api/users/${userId}/transactions`))).toMatchObject({ total: 0 })
  await service.stop()
})

test('creates the account and posts its credit together or not at all', async () => {
  const { admin, service } = await prepare()
  const token = await invite(admin, 'ada@example.com', { creditUsd: '5' })
  await withRaw(service.dataDir, (raw) => raw.refuseInserts('transactions'))
  await expectStatus(500, accept(service, token))
  expect(await emails(service)).toEqual(['admin@example.com'])
  await withRaw(service.dataDir, (raw) => raw.allowInserts('transactions'))
  const { userId } = await expectStatus(200, accept(service, token))
  expect(await service.app.store.getAccount(userId)).toMatchObject({ balance: 50_000 })
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, transactions: 1 })
  await service.stop()
})

test('a newer invitation replaces only the earlier invitation to the same email address', async () => {
  const { admin, service } = await prepare()
  const first = await invite(admin, 'ada@example.com', { isAdmin: true, creditUsd: '100' })
  const other = await invite(admin, 'adam@example.com')
  const second = await invite(admin, 'ADA@example.com', { creditUsd: '1' })
  expect(await expectStatus(404, check(service, first))).toEqual(unusable)
  expect(await expectStatus(404, accept(service, first))).toEqual(unusable)
  expect(await expectStatus(200, admin.browser.get('/api/invitations'))).toMatchObject({ total: 2 })
  const { userId } = await expectStatus(200, accept(service, second))
  expect(await service.app.store.getUser(userId)).toMatchObject({ isAdmin: false, balance: 10_000 })
  await expectStatus(200, accept(service, other))
  await service.stop()
})

test('a revoked invitation stops working, and an accepted one cannot be revoked', async () => {
  const { admin, service } = await prepare()
  const create = (email: string) => expectStatus(200, admin.browser.post('/api/invitations', { email }))
  const [open, used] = [await create('open@example.com'), await create('used@example.com')]
  const revoke = ({ id }: { id: string }) => admin.browser.delete(`/api/invitations/${id}`)
  await expectStatus(200, accept(service, used.url.split('#')[1]))
  expect(await expectStatus(200, revoke(open))).toEqual({ message: 'The link no longer works.' })
  const token = open.url.split('#')[1]
  expect(await expectStatus(404, check(service, token))).toEqual(unusable)
  expect(await expectStatus(404, accept(service, token))).toEqual(unusable)
  for (const gone of [open, used]) {
    expect((await expectStatus(404, revoke(gone))).message).toBe('Invitation not found. Check the id.')
  }
  expect(await emails(service)).toEqual(['admin@example.com', 'used@example.com'])
  const { invitations } = await expectStatus(200, admin.browser.get('/api/invitations'))
  expect(invitations).toMatchObject([{ id: used.id }])
  await service.stop()
})

test('an invitation works for seven days and not a millisecond longer', async () => {
  const { admin, clock, service } = await prepare()
  const [first, second] = [await invite(admin, 'first@example.com'), await invite(admin, 'second@example.com')]
  clock.advance(7 * dayMs - 1)
  await expectStatus(200, check(service, second))
  await expectStatus(200, accept(service, first))
  clock.advance(1)
  expect(await expectStatus(404, check(service, second))).toEqual(unusable)
  expect(await expectStatus(404, accept(service, second))).toEqual(unusable)
  expect(await emails(service)).toEqual(['admin@example.com', 'first@example.com'])
  await service.stop()
})

test('only one of many parallel uses of a link creates the account', async () => {
  const { admin, service } = await prepare()
  const token = await invite(admin, 'ada@example.com', { creditUsd: '3' })
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) => accept(service, token, `password number ${index}`)),
  )
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404, 404, 404, 404, 404])
  const winner = answers.findIndex(({ status }) => status === 200)
  await expectStatus(
    200,
    new Browser(service).logIn({ email: 'ada@example.com', password: `password number ${winner}` }),
  )
  expect(await emails(service)).toEqual(['admin@example.com', 'ada@example.com'])
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, transactions: 1 })
  await service.stop()
})

test('returns 409 for a taken email address, both when inviting and when accepting', async () => {
  const { admin, service } = await prepare()
  const token = await invite(admin, 'ada@example.com', { creditUsd: '9', isAdmin: true })
  await service.createPerson({ email: 'ada@example.com', balanceUsd: '0' })
  const taken = {
    error: 'Conflict',
    message: 'A user with the email address ada@example.com already exists. Use a different address.',
    statusCode: 409,
    code: 'CONFLICT',
  }
  expect(await expectStatus(409, accept(service, token))).toEqual(taken)
  expect(await service.app.store.findUser('ada@example.com')).toMatchObject({ isAdmin: false })
  expect(await expectStatus(409, admin.browser.post('/api/invitations', { email: 'ada@example.com' }))).toEqual(taken)
  await expectStatus(409, admin.browser.post('/api/invitations', { email: 'ADA@EXAMPLE.COM' }))
  await service.stop()
})

test('rejects a weak password with 400, and the link keeps working', async () => {
  const { admin, service } = await prepare()
  const token = await invite(admin, 'ada.lovelace@example.com')
  const weak = ['short pw', 'x'.repeat(201), 'aaaaaaaaaaaaaaaa', 'ada.lovelace@example.com', 'ADA.Lovelace1', '']
  for (const chosen of weak) {
    const { details } = await expectStatus(400, accept(service, token, chosen))
    expect(details, chosen).toMatchObject([{ path: 'password' }])
  }
  await expectStatus(200, accept(service, token))
  await service.stop()
})

test('rejects requests from outside the site with 403, and the link keeps working', async () => {
  const { admin, service } = await prepare()
  const token = await invite(admin, 'ada@example.com')
  const path = '/api/invitations/accept'
  await expectStatus(403, service.post(path, { token, password }))
  await expectStatus(403, new Browser(service, { origin: 'https://evil.example' }).post(path, { token, password }))
  expect(await emails(service)).toEqual(['admin@example.com'])
  await expectStatus(200, accept(service, token))
  await service.stop()
})

test('returns 404 for an unknown token and 400 for an invalid one', async () => {
  const { service } = await prepare()
  for (const token of ['x', 'x'.repeat(43), 'ä'.repeat(43), "' OR 1=1", 'x'.repeat(200)]) {
    expect(await expectStatus(404, check(service, token))).toEqual(unusable)
    expect(await expectStatus(404, accept(service, token))).toEqual(unusable)
  }
  for (const token of ['', 'x'.repeat(201), 7, null]) {
    const { details } = await expectStatus(400, service.post('/api/invitations/check', { token }))
    expect(details).toMatchObject([{ path: 'token' }])
  }
  await service.stop()
})

test('returns 400 with the invalid field and creates no invitation', async () => {
  const { admin, service } = await prepare()
  const wrong: [string, unknown[]][] = [
    ['email', ['', 'ada', 'ada@', '@example.com', `${'a'.repeat(250)}@example.com`, null, undefined]],
    ['isAdmin', ['yes', 1, null]],
    ['creditUsd', ['-1', '1.00001', '1e3', '', '123456789012', 5]],
  ]
  for (const [field, values] of wrong) {
    for (const value of values) {
      const body = { email: 'ada@example.com', [field]: value }
      const { details } = await expectStatus(400, admin.browser.post('/api/invitations', body))
      expect(details, `${field} ${String(value)}`).toMatchObject([{ path: field }])
    }
  }
  expect(await expectStatus(200, admin.browser.get('/api/invitations'))).toMatchObject({ total: 0 })
  await service.stop()
})

test('lists invitations and password links newest first, in pages, with the total', async () => {
  const { admin, service } = await prepare()
  const person = await signUp(service, { email: 'has-account@example.com' })
  // Creates all of them within one millisecond.
  for (let index = 0; index < 4; index++) await invite(admin, `person-${index}@example.com`)
  await expectStatus(200, admin.browser.post(`/api/users/${person.userId}/password-link`, {}))
  const listed = async (query: string) => {
    const { invitations, ...rest } = await expectStatus(200, admin.browser.get(`/api/invitations${query}`))
    return [rest, invitations.map(({ email, kind }: { email: string; kind: string }) => `${kind} ${email}`)]
  }
  const all = [
    'password has-account@example.com',
    ...[3, 2, 1, 0].map((index) => `invitation person-${index}@example.com`),
  ]
  expect(await listed('')).toEqual([{ total: 5, limit: 50, offset: 0 }, all])
  expect(await listed('?limit=2&offset=3')).toEqual([{ total: 5, limit: 2, offset: 3 }, all.slice(3)])
  expect(await listed('?offset=5')).toEqual([{ total: 5, limit: 50, offset: 5 }, []])
  await service.stop()
})
