import { expect, test, vi } from 'vitest'
import { FakeClock } from '../../../support/fake-clock.ts'
import { startService, type Answer } from '../../../support/test-service.ts'
import { Browser, password } from '../../browser-login.ts'

// The real password hashing, which also records each comparison.
const compared = vi.hoisted(() => [] as string[])
vi.mock('@node-rs/argon2', async (importReal) => {
  const real = await importReal<typeof import('@node-rs/argon2')>()
  return {
    ...real,
    verify: (...[hash, ...rest]: Parameters<typeof real.verify>) => {
      compared.push(String(hash))
      return real.verify(hash, ...rest)
    },
  }
})

const wrong = {
  error: 'Unauthorized',
  message: 'The email address or password is wrong. Check both and try again.',
  statusCode: 401,
  code: 'UNAUTHORIZED',
}

/** Returns the sorted attributes of a Set-Cookie header, without the cookie's name and value. */
const attributes = (line: string) => line.split('; ').slice(1).toSorted()

test('returns user and expiry and sets a host-only HttpOnly cookie', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { email, userId } = await service.createPerson({ email: 'ada@example.com', password })
  const expiresAt = new Date(clock.now() + 30 * 86_400_000).toISOString()
  const browser = new Browser(service)
  for (const [answer, data] of [
    [await browser.logIn({ email, password }), (body: any) => body],
    [await browser.logInOverRpc({ email, password }), (body: any) => body.result.data.json],
    [
      await browser.post('/trpc/login.create?batch=1', { 0: { json: { email, password } } }),
      (body: any) => body[0].result.data.json,
    ],
  ] as [Answer, (body: any) => unknown][]) {
    expect([answer.status, data(answer.body)]).toEqual([200, { userId, email, expiresAt }])
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const lines = answer.headers.getSetCookie()
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/^errand=[\w-]{43}; /)
    expect(attributes(lines[0]!)).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax'])
    expect(JSON.stringify(answer.body)).not.toContain(browser.token)
    expect(await browser.status()).toBe(200)
  }
  await service.stop()
})

test('an https base URL makes the cookie Secure with the __Host- prefix', async () => {
  const origin = 'https://errand.example.com'
  const service = await startService({ baseUrl: `${origin}/` })
  const { email } = await service.createPerson({ password })
  const browser = new Browser(service, { origin })
  const [line] = (await browser.logIn({ email, password })).headers.getSetCookie()
  expect(line).toMatch(/^__Host-errand=[\w-]{43}; /)
  expect(attributes(line!)).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax', 'Secure'])
  expect(await browser.status()).toBe(200)
  const headers = { Cookie: `errand=${browser.token}` }
  expect((await service.request('GET', '/api/account', { headers })).status).toBe(401)
  const [removal] = (await browser.post('/api/logout', {})).headers.getSetCookie()
  expect(removal).toMatch(/^__Host-errand=; /)
  expect(attributes(removal!)).toEqual(['HttpOnly', 'Max-Age=0', 'Path=/', 'SameSite=Lax', 'Secure'])
  await service.stop()
})

test('rejects logins over a remote http base URL with 403 without checking the password', async () => {
  const origin = 'http://errand.example.com'
  const service = await startService({ baseUrl: origin })
  const { email } = await service.createPerson({ password })
  const browser = new Browser(service, { origin })
  compared.length = 0
  for (const answer of [await browser.logIn({ email, password }), await browser.logInOverRpc({ email, password })]) {
    expect(answer.status).toBe(403)
    expect(answer.headers.getSetCookie()).toEqual([])
    expect(JSON.stringify(answer.body)).toContain(
      'Logging in requires HTTPS, but the base URL is an http URL. Set ERRAND_BASE_URL to an https URL.',
    )
  }
  expect(compared).toEqual([])
  await service.stop()
})

test('wrong passwords, unknown emails and users without passwords get the same 401 after equal work', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const withoutPassword = await service.createPerson()
  const suspended = await service.createPerson({ password })
  await service.app.store.updateUser({ userId: suspended.userId, isSuspended: true })
  const tries = [
    { email, password: 'wrong horse battery' },
    { email, password: password.toUpperCase() },
    { email, password: `${password} ` },
    { email: 'nobody@example.com', password },
    { email: 'no address at all', password },
    { email: withoutPassword.email, password },
    { email: suspended.email, password: 'wrong horse battery' },
  ]
  for (const input of tries) {
    compared.length = 0
    const browser = new Browser(service)
    const answer = await browser.logIn(input)
    expect([answer.status, answer.body], JSON.stringify(input)).toEqual([401, wrong])
    expect(answer.headers.getSetCookie()).toEqual([])
    expect(answer.headers.get('x-ratelimit-limit')).toBe(null)
    const { body, headers, status } = await browser.logInOverRpc(input)
    expect([status, body.error.json.message]).toEqual([401, wrong.message])
    expect(headers.getSetCookie()).toEqual([])
    expect(compared).toHaveLength(2)
    for (const hash of compared) expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  }
  await service.stop()
})

test('a suspended user gets 403 and no login with the correct password', async () => {
  const service = await startService()
  const { email, userId } = await service.createPerson({ password })
  await service.app.store.updateUser({ userId, isSuspended: true })
  const browser = new Browser(service)
  const answer = await browser.logIn({ email, password })
  expect([answer.status, answer.body.message]).toEqual([403, 'This account is suspended. Contact an admin.'])
  expect((await browser.logInOverRpc({ email, password })).status).toBe(403)
  expect(browser.cookies.size).toBe(0)
  expect((await service.app.store.listLogins({ userId, limit: 10, offset: 0 })).total).toBe(0)
  await service.app.store.updateUser({ userId, isSuspended: false })
  expect((await browser.logIn({ email, password })).status).toBe(200)
  await service.stop()
})

test('accepts the email address in any case and with surrounding whitespace', async () => {
  const service = await startService()
  await service.createPerson({ email: 'Grace.Hopper@Example.com', password })
  for (const email of ['grace.hopper@example.com', 'GRACE.HOPPER@EXAMPLE.COM', '  Grace.Hopper@example.com\n']) {
    const answer = await new Browser(service).logIn({ email, password })
    expect([answer.status, answer.body.email], email).toEqual([200, 'grace.hopper@example.com'])
  }
  await service.stop()
})

test('an invalid body names its fields; objects and arrays are never accepted as strings', async () => {
  const service = await startService()
  const browser = new Browser(service)
  const table: [object, string[]][] = [
    [{}, ['email', 'password']],
    [{ email: 'ada@example.com' }, ['password']],
    [{ email: '   ', password }, ['email']],
    [{ email: 'ada@example.com', password: '' }, ['password']],
    [{ email: `${'a'.repeat(251)}@b.c`, password }, ['email']],
    [{ email: 'ada@example.com', password: 'x'.repeat(1025) }, ['password']],
    [{ email: { $ne: null }, password: ['x'] }, ['email', 'password']],
  ]
  for (const [body, fields] of table) {
    const answer = await browser.post('/api/login', body)
    expect(answer.status, JSON.stringify(body)).toBe(400)
    expect(answer.body.details.map(({ path }: { path: string }) => path)).toEqual(fields)
    expect(JSON.stringify(answer.body)).not.toContain(password)
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
    const sent = { body: 'email=ada@example.com', headers: { 'Content-Type': type } }
    expect((await browser.request('POST', '/api/login', sent)).status, type).toBe(415)
    expect((await browser.request('POST', '/trpc/login.create', sent)).status, type).toBeGreaterThanOrEqual(400)
  }
  await service.stop()
})

test('lists login methods for any caller, regardless of credentials', async () => {
  const service = await startService()
  for (const headers of [{}, { Authorization: 'Bearer wrong' }, { Cookie: 'errand=wrong' }, { Origin: 'null' }]) {
    const rest = await service.request('GET', '/api/login', { headers })
    expect([rest.status, rest.body]).toEqual([200, { providers: [], canResetPassword: false, canSignUp: false }])
    const rpc = await service.request('GET', '/trpc/login.options?input=%7B%7D', { headers })
    expect([rpc.status, rpc.body.result.data.json]).toEqual([
      200,
      { providers: [], canResetPassword: false, canSignUp: false },
    ])
  }
  await service.stop()
})
