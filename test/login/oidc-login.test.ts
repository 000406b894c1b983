import { expect, test } from 'vitest'
import { TestBrowser } from './oidc-browser.ts'
import { clientId, clientSecret } from './oidc-server.ts'
import { comeBack, expectRefusal, expectRefused, signOn, signOnAs, startSignOn, whoIs } from './sign-on.ts'

const ada = { email: 'ada@example.com', email_verified: true }

test('single sign-on logs the user in, redirects to the requested page and records the login method', async () => {
  const on = await startSignOn()
  const { provider, service } = on
  provider.people.set('subject-ada', ada)
  const { userId } = await service.createPerson({ email: 'ada@example.com' })
  const browser = new TestBrowser({ person: 'subject-ada' })
  const page = await browser.visit(`${service.url}/login/oidc/corp?returnTo=%2Ftasks%3Fstatus%3Dfailed`, {
    until: (url) => url.pathname === '/tasks',
  })
  expect(page.status, page.text).toBe(303)
  expect(page.next?.href).toBe(`${service.url}/tasks?status=failed`)
  expect(page.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  expect(await whoIs(on, browser)).toMatchObject({ userId, email: 'ada@example.com' })
  const { logins } = JSON.parse((await browser.step(`${service.url}/api/logins`)).text)
  expect(logins).toMatchObject([{ method: 'oidc', provider: 'corp', userAgent: 'Test browser', current: true }])
  await on.stop()
})

test('the login page receives the providers without any secrets', async () => {
  const on = await startSignOn()
  const { body } = await on.service.get('/api/login')
  expect(body).toEqual({
    canResetPassword: false,
    canSignUp: false,
    providers: [
      { id: 'corp', name: 'Corp', url: '/login/oidc/corp' },
      { id: 'other', name: 'Other', url: '/login/oidc/other' },
    ],
  })
  await on.stop()
})

test('the authorization request uses PKCE with S256 and a fresh state and nonce', async () => {
  const on = await startSignOn({ login: { scopes: ['openid', 'email'] } })
  const seen = new Set<string | null>()
  for (const _ of [1, 2]) {
    const { next } = await new TestBrowser().step(`${on.service.url}/login/oidc/corp`)
    const { origin, pathname, searchParams } = next!
    expect(origin + pathname).toBe(`${on.provider.issuer}/auth`)
    const { code_challenge: challenge, nonce, state, ...others } = Object.fromEntries(searchParams)
    expect(others).toEqual({
      client_id: clientId,
      response_type: 'code',
      redirect_uri: `${on.service.url}/login/oidc/corp/callback`,
      scope: 'openid email',
      code_challenge_method: 'S256',
    })
    for (const value of [challenge, nonce, state]) {
      expect(value).toMatch(/^[\w-]{43}$/)
      seen.add(value!)
    }
  }
  expect(seen.size).toBe(6)
  await on.stop()
})

test('authenticates the client with HTTP Basic if the provider supports it', async () => {
  const on = await startSignOn({ provider: { authMethods: ['client_secret_post', 'client_secret_basic'] } })
  on.provider.people.set('subject-ada', ada)
  const { userId } = await on.service.createPerson({ email: 'ada@example.com' })
  expect(await signOnAs(on, 'subject-ada')).toMatchObject({ userId })
  expect(on.provider.tokenAuthorizations).toEqual([expect.stringMatching(/^Basic /)])
  expect(on.provider.tokenBodies[0]!.has('client_secret')).toBe(false)
  await on.stop()
})

test('authenticates the client in the body if the provider supports nothing else', async () => {
  const authMethods = ['client_secret_post'] as const
  const client = { token_endpoint_auth_method: 'client_secret_post' } as const
  const on = await startSignOn({ provider: { authMethods, client } })
  on.provider.people.set('subject-ada', ada)
  const { userId } = await on.service.createPerson({ email: 'ada@example.com' })
  expect(await signOnAs(on, 'subject-ada')).toMatchObject({ userId })
  expect(on.provider.tokenAuthorizations).toEqual([undefined])
  expect(on.provider.tokenBodies[0]!.get('client_secret')).toBe(clientSecret)
  await on.stop()
})

test('a public client sends no secret and relies on PKCE', async () => {
  const on = await startSignOn({
    login: { clientSecret: undefined as never },
    provider: { client: { token_endpoint_auth_method: 'none', client_secret: undefined } },
  })
  on.provider.people.set('subject-ada', ada)
  const { userId } = await on.service.createPerson({ email: 'ada@example.com' })
  expect(await signOnAs(on, 'subject-ada')).toMatchObject({ userId })
  expect(on.provider.tokenAuthorizations).toEqual([undefined])
  expect(on.provider.tokenBodies[0]!.has('client_secret')).toBe(false)
  expect(on.provider.tokenBodies[0]!.get('code_verifier')).toMatch(/^[\w-]{43}$/)
  await on.stop()
})

test('rejects the login if the client secret is wrong', async () => {
  const on = await startSignOn({ login: { clientSecret: 'a secret of another client' } })
  on.provider.people.set('subject-ada', ada)
  await on.service.createPerson({ email: 'ada@example.com' })
  await expectRefusal(on, 'subject-ada', 'oidc-failed')
  await on.stop()
})

test('queries the userinfo endpoint only if the ID token has no email', async () => {
  const on = await startSignOn({ provider: { tellsInIdToken: false } })
  on.provider.people.set('subject-ada', ada)
  const { userId } = await on.service.createPerson({ email: 'ada@example.com' })
  expect(await signOnAs(on, 'subject-ada')).toMatchObject({ userId })
  expect(on.provider.asked.filter((path) => path === '/me')).toEqual(['/me'])
  on.provider.people.set('subject-ben', { email: 'ben@example.com', email_verified: false })
  await on.service.createPerson({ email: 'ben@example.com' })
  await expectRefusal(on, 'subject-ben', 'email-unverified')
  on.provider.downAt = /^\/me/
  await expectRefusal(on, 'subject-ada', 'oidc-failed')
  await on.stop()

  const telling = await startSignOn()
  telling.provider.people.set('subject-ada', ada)
  await telling.service.createPerson({ email: 'ada@example.com' })
  await signOnAs(telling, 'subject-ada')
  expect(telling.provider.asked).not.toContain('/me')
  await telling.stop()
})

test('login fails while the provider is down and works after it recovers', async () => {
  const on = await startSignOn()
  const { provider, service } = on
  provider.people.set('subject-ada', ada)
  const { userId } = await service.createPerson({ email: 'ada@example.com' })
  for (const downAt of [/^/, /^\/\.well-known/, /^\/token/, /^\/jwks/]) {
    provider.downAt = downAt
    await expectRefusal(on, 'subject-ada', 'oidc-failed')
  }
  provider.downAt = undefined
  expect(await signOnAs(on, 'subject-ada')).toMatchObject({ userId })
  // The discovery document is cached.
  provider.asked.length = 0
  await signOnAs(on, 'subject-ada')
  expect(provider.asked.filter((path) => path.startsWith('/.well-known'))).toEqual([])
  await on.stop()
})

test('tells the user about denied access; logs other errors of the provider as failures', async () => {
  const lines: object[] = []
  const log = { debug() {}, info() {}, error() {}, warn: (fields: object) => void lines.push(fields) }
  const on = await startSignOn({ service: { log } })
  const { page } = await signOn(on, undefined as never)
  expectRefused(page, 'oidc-refused')
  expect(lines).toEqual([])
  on.provider.answerWith('temporarily_unavailable')
  await expectRefusal(on, 'subject-ada', 'oidc-failed')
  expect(lines).toMatchObject([{ provider: 'corp', err: { error: 'temporarily_unavailable' } }])
  await on.stop()
})

test("a new login ends the browser's previous login", async () => {
  const on = await startSignOn()
  const { provider, service } = on
  provider.people.set('subject-ada', ada)
  const { userId } = await service.createPerson({ email: 'ada@example.com' })
  const { browser } = await signOn(on, 'subject-ada')
  const earlier = browser.cookie('errand')
  await browser.step(await comeBack(on, browser))
  expect(browser.cookie('errand')).not.toBe(earlier)
  const { logins, total } = await service.app.store.listLogins({ userId, limit: 10, offset: 0 })
  expect(total).toBe(1)
  expect(logins).toHaveLength(1)
  await on.stop()
})
