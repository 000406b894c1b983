import { expect, test, vi } from 'vitest'
import { FakeClock } from '../../../support/fake-clock.ts'
import { startService, type Answer } from '../../../support/test-service.ts'
import { Browser, password } from '../../browser-login.ts'

// The real password hashing, which also counts its comparisons.
const comparisons = vi.hoisted(() => ({ count: 0 }))
vi.mock('@node-rs/argon2', async (importReal) => {
  const real = await importReal<typeof import('@node-rs/argon2')>()
  return {
    ...real,
    verify: (...input: Parameters<typeof real.verify>) => {
      comparisons.count++
      return real.verify(...input)
    },
  }
})

const windowMs = 15 * 60_000
const wrongPassword = 'wrong horse battery'
const retryAfter = ({ headers, status }: Answer) => [status, headers.get('retry-after')]

async function compares(work: () => Promise<unknown>): Promise<number> {
  const before = comparisons.count
  await work()
  return comparisons.count - before
}

test('the eleventh attempt per email gets 429 with Retry-After, without checking or counting it', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { email } = await service.createPerson({ email: 'ada@example.com', password })
  const browser = new Browser(service)
  for (let tries = 0; tries < 10; tries++) {
    // Different spellings count as one email address.
    const typed = tries % 2 ? ` ${email.toUpperCase()} ` : email
    const input = { email: typed, password: wrongPassword }
    const answer = tries % 3 ? await browser.logIn(input) : await browser.logInOverRpc(input)
    expect(answer.status).toBe(401)
    clock.advance(1000)
  }
  const throttled = async () => {
    for (const typed of [wrongPassword, password]) {
      const answer = await browser.logIn({ email, password: typed })
      expect(retryAfter(answer)).toEqual([429, '890'])
      expect(answer.body).toEqual({
        error: 'Too many login attempts',
        message: 'Too many login attempts. Wait before you try again.',
        statusCode: 429,
        code: 'LOGIN_THROTTLED',
      })
      expect(answer.headers.getSetCookie()).toEqual([])
      const rpc = await browser.logInOverRpc({ email, password: typed })
      expect(retryAfter(rpc)).toEqual([429, '890'])
      expect(rpc.body.error.json.data).toMatchObject({ errorCode: 'LOGIN_THROTTLED', retryAfterSeconds: 890 })
    }
  }
  expect(await compares(throttled)).toBe(0)
  expect(browser.cookies.size).toBe(0)

  clock.advance(889_999)
  expect(retryAfter(await browser.logIn({ email, password }))).toEqual([429, '1'])
  clock.advance(1)
  // One attempt is now too old to count, so one more is allowed. Rejected attempts never counted.
  expect((await browser.logIn({ email, password: wrongPassword })).status).toBe(401)
  expect(retryAfter(await browser.logIn({ email, password }))).toEqual([429, '1'])
  clock.advance(1000)
  expect((await browser.logIn({ email, password })).status).toBe(200)
  await service.stop()
})

test('checks the password in exactly ten of thirty simultaneous attempts, for any email address', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { email } = await service.createPerson({ password })
  for (const tried of [email, 'nobody@example.com']) {
    const answers: Answer[] = []
    const count = await compares(async () => {
      const tries = Array.from({ length: 30 }, (_, index) => {
        const input = { email: tried, password: `${wrongPassword} ${index}` }
        return index % 2 ? new Browser(service).logIn(input) : new Browser(service).logInOverRpc(input)
      })
      answers.push(...(await Promise.all(tries)))
    })
    expect(count).toBe(10)
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20)
  }
  await service.stop()
})

test('counts each attempt in one RPC batch separately', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { email } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  const names = Array.from({ length: 20 }, () => 'login.create').join(',')
  const body = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [index, { json: { email, password: `${wrongPassword} ${index}` } }]),
  )
  const answers: Answer[] = []
  expect(await compares(async () => answers.push(await browser.post(`/trpc/${names}?batch=1`, body)))).toBe(10)
  const codes = answers[0]!.body.map((one: any) => one.error.json.data.httpStatus)
  expect(codes.toSorted()).toEqual([...Array(10).fill(401), ...Array(10).fill(429)])
  await service.stop()
})

test('a correct password resets the count of wrong ones', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { email } = await service.createPerson({ password })
  const browser = new Browser(service)
  for (let round = 0; round < 3; round++) {
    for (let tries = 0; tries < 9; tries++) {
      expect((await browser.logIn({ email, password: wrongPassword })).status).toBe(401)
    }
    expect((await browser.logIn({ email: ` ${email.toUpperCase()}`, password })).status).toBe(200)
  }
  await service.stop()
})

test('a password change resets the count of wrong passwords, including those at login', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  let current = password
  for (let round = 0; round < 4; round++) {
    const change = { currentPassword: wrongPassword, newPassword: `${password} ${round}` }
    for (let tries = 0; tries < 2; tries++) {
      expect((await browser.post('/api/account/password', change)).status).toBe(400)
    }
    expect((await browser.logIn({ email, password: wrongPassword })).status).toBe(401)
    const right = { ...change, currentPassword: current }
    expect((await browser.post('/api/account/password', right)).status).toBe(200)
    current = change.newPassword
  }
  expect((await browser.logIn({ email, password: current })).status).toBe(200)
  await service.stop()
})

test("a correct password does not reset another user's attempts", async () => {
  const service = await startService({ clock: new FakeClock() })
  const victim = await service.createPerson({ password })
  const own = await service.createPerson({ password })
  const browser = new Browser(service)
  for (let tries = 0; tries < 10; tries++) {
    expect((await browser.logIn({ email: victim.email, password: wrongPassword })).status).toBe(401)
    expect((await browser.logIn({ email: own.email, password })).status).toBe(200)
  }
  expect((await browser.logIn({ email: victim.email, password })).status).toBe(429)
  expect((await browser.logIn({ email: own.email, password })).status).toBe(200)
  await service.stop()
})

test("a suspended user's correct password does not reset the count", async () => {
  const service = await startService({ clock: new FakeClock() })
  const { email, userId } = await service.createPerson({ password })
  await service.app.store.updateUser({ userId, isSuspended: true })
  const browser = new Browser(service)
  for (let tries = 0; tries < 10; tries++) expect((await browser.logIn({ email, password })).status).toBe(403)
  expect((await browser.logIn({ email, password })).status).toBe(429)
  await service.stop()
})

test('throttles an email address after 50 attempts from any client and a client after 100', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { email } = await service.createPerson({ password })
  const other = await service.createPerson({ password })
  const { store } = service.app
  const outcomes = async (tries: number, of: (index: number) => { email: string; client: string }) => {
    const results = await Promise.all(Array.from({ length: tries }, (_, index) => store.admitLogin(of(index))))
    return results.filter(({ outcome }) => outcome === 'admitted').length
  }
  for (let client = 1; client <= 4; client++) {
    expect(await outcomes(15, () => ({ email, client: `192.0.2.${client}` }))).toBe(10)
  }
  const browser = new Browser(service)
  // After 40 attempts from elsewhere, this client can still log in. Its login does not reset the count of those
  // attempts.
  expect((await browser.logIn({ email, password })).status).toBe(200)
  expect(await outcomes(15, () => ({ email: email.toUpperCase(), client: '192.0.2.5' }))).toBe(10)
  expect(
    await compares(async () => expect(retryAfter(await browser.logIn({ email, password }))).toEqual([429, '900'])),
  ).toBe(0)
  expect((await browser.logIn({ email: other.email, password })).status).toBe(200)
  clock.advance(windowMs)
  expect((await browser.logIn({ email, password })).status).toBe(200)

  const spray = (index: number) => ({ email: `user-${index}@example.com`, client: '192.0.2.9' })
  expect(await outcomes(120, spray)).toBe(100)
  expect(await outcomes(1, () => ({ email: other.email, client: '192.0.2.9' }))).toBe(0)
  expect(await outcomes(1, () => ({ email: other.email, client: '192.0.2.10' }))).toBe(1)
  // Requests from this machine come through a proxy that everyone shares.
  const fromHere = Array.from({ length: 120 }, (_, index) =>
    store.admitLogin({ email: `user-${index}@example.org`, client: null }),
  )
  expect((await Promise.all(fromHere)).every(({ outcome }) => outcome === 'admitted')).toBe(true)
  await service.stop()
})

test('rejects a login from another site with 403 before counting it or checking the password', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { email } = await service.createPerson({ password })
  const foreign = new Browser(service, { origin: 'https://evil.example' })
  const count = await compares(async () => {
    for (let tries = 0; tries < 12; tries++) {
      const typed = tries % 2 ? password : wrongPassword
      for (const answer of [
        await foreign.logIn({ email, password: typed }),
        await foreign.logInOverRpc({ email, password: typed }),
        await foreign.request('POST', '/api/login', { body: { email, password: typed }, isBare: true }),
      ]) {
        expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []])
      }
    }
  })
  expect(count).toBe(0)
  const own = new Browser(service)
  for (let tries = 0; tries < 9; tries++) {
    expect((await own.logIn({ email, password: wrongPassword })).status).toBe(401)
  }
  expect((await own.logIn({ email, password })).status).toBe(200)
  await service.stop()
})

test('purges attempts only once they no longer count', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { store } = service.app
  const of = { email: 'ada@example.com', client: null }
  for (let tries = 0; tries < 10; tries++) await store.admitLogin(of)
  await store.purgeExpired()
  expect((await store.admitLogin(of)).outcome).toBe('refused')
  clock.advance(windowMs)
  await store.purgeExpired()
  for (let tries = 0; tries < 10; tries++) expect((await store.admitLogin(of)).outcome).toBe('admitted')
  await service.stop()
})
