import { expect, test } from 'vitest'
import { TestBrowser } from '../oidc-browser.ts'
import { comeBack, expectRefused, signOn, startSignOn, whoIs } from '../sign-on.ts'

const ada = { email: 'ada@example.com', email_verified: true }

test('login URLs accept only GET; an unknown provider returns 404', async () => {
  const on = await startSignOn()
  for (const path of ['/login/oidc/corp', '/login/oidc/corp/callback']) {
    for (const method of ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const { headers, status } = await on.service.request(method, path)
      expect([method, path, status, headers.get('allow')]).toEqual([method, path, 405, 'GET, OPTIONS'])
      expect(headers.getSetCookie()).toEqual([])
    }
  }
  const unknown = ['/login/oidc/nobody', '/login/oidc/nobody/callback', '/login/oidc/__proto__', '/login/oidc/Corp']
  for (const path of unknown) {
    const { body, status } = await on.service.get(path)
    expect([path, status, body.message]).toEqual([
      path,
      404,
      'Single sign-on provider not found. GET /api/login lists the providers.',
    ])
  }
  expect(on.provider.asked).toEqual([])
  await on.stop()
})

test('returns only to a path of the service, regardless of returnTo', async () => {
  const on = await startSignOn()
  on.provider.people.set('subject-ada', ada)
  await on.service.createPerson({ email: ada.email })
  const cases: [returnTo: string, path: string][] = [
    ['/tasks?status=failed&offset=50#top', '/tasks?status=failed&offset=50#top'],
    [`/tasks/${'a'.repeat(494)}`, `/tasks/${'a'.repeat(494)}`],
    [`/tasks/${'a'.repeat(495)}`, '/'],
    ['/%2F%2Fevil.example', '/%2F%2Fevil.example'],
    ['//evil.example', '/'],
    ['///evil.example', '/'],
    ['/\\evil.example', '/'],
    ['/\\/evil.example', '/'],
    ['\\\\evil.example', '/'],
    ['/tasks\\evil', '/'],
    ['/\t/evil.example', '/'],
    ['/\n/evil.example', '/'],
    ['/tasks\r\nSet-Cookie: errand=evil', '/'],
    ['/tasks\u0000', '/'],
    ['/t\u00e4sks', '/'],
    ['https://evil.example', '/'],
    ['https:evil.example', '/'],
    ['javascript:alert(1)', '/'],
    ['.evil.example', '/'],
    ['@evil.example', '/'],
    [':80@evil.example', '/'],
    [' /tasks', '/'],
    ['tasks', '/'],
    ['', '/'],
    [`/${'a'.repeat(10_000)}`, '/'],
  ]
  const browser = new TestBrowser({ person: 'subject-ada' })
  for (const [returnTo, path] of cases) {
    const start = new URL(`${on.service.url}/login/oidc/corp`)
    start.searchParams.set('returnTo', returnTo)
    const { next: answer } = await browser.visit(start, { until: (url) => url.pathname.endsWith('/callback') })
    const { headers, setCookies } = await browser.step(answer!)
    expect([returnTo, headers['location']]).toEqual([returnTo, on.service.url + path])
    expect(setCookies).toHaveLength(2)
  }
  await on.stop()
})

test('ignores returnTo and redirect_uri added to the callback', async () => {
  const on = await startSignOn()
  on.provider.people.set('subject-ada', ada)
  await on.service.createPerson({ email: ada.email })
  const browser = new TestBrowser({ person: 'subject-ada' })
  const answer = await comeBack(on, browser)
  answer.searchParams.set('returnTo', '/tasks')
  answer.searchParams.set('redirect_uri', 'https://evil.example')
  expect((await browser.step(answer)).next?.href).toBe(`${on.service.url}/`)
  await on.stop()
})

test('the flow cookie is HttpOnly, lasts ten minutes and reveals nothing', async () => {
  const on = await startSignOn()
  on.provider.people.set('subject-ada', ada)
  await on.service.createPerson({ email: ada.email })
  const browser = new TestBrowser({ person: 'subject-ada' })
  const begun = await browser.step(`${on.service.url}/login/oidc/corp?returnTo=/tasks`)
  expect(begun.setCookies).toEqual([
    expect.stringMatching(/^errand-oidc=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/),
  ])
  const value = browser.cookie('errand-oidc')!
  const readable = [value, ...value.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))].join(
    '\n',
  )
  const { searchParams } = begun.next!
  const page = await browser.visit(begun.next!, { until: (url) => url.pathname === '/tasks' })
  const secrets = [
    searchParams.get('state')!,
    searchParams.get('nonce')!,
    searchParams.get('code_challenge')!,
    on.provider.tokenBodies[0]!.get('code_verifier')!,
    'returnTo',
    '/tasks',
  ]
  for (const secret of secrets) expect(readable).not.toContain(secret)
  expect(page.setCookies[0]).toBe('errand-oidc=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0')
  expect(page.setCookies[1]).toMatch(/^errand=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/)
  expect(page.setCookies).toHaveLength(2)
  await on.stop()
})

test('clears the flow cookie also after a rejected login', async () => {
  const on = await startSignOn()
  on.provider.people.set('subject-eve', { email: 'eve@example.com', email_verified: true })
  const { browser, page } = await signOn(on, 'subject-eve')
  expectRefused(page, 'sign-up-closed')
  expect(page.setCookies).toEqual(['errand-oidc=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0'])
  expect(browser.cookie('errand-oidc')).toBeUndefined()
  await on.stop()
})

test('a person who opened the service as localhost returns there', async () => {
  const on = await startSignOn()
  on.provider.people.set('subject-ada', ada)
  await on.service.createPerson({ email: ada.email })
  const local = on.service.url.replace('127.0.0.1', 'localhost')
  const browser = new TestBrowser({ person: 'subject-ada' })
  const begun = await browser.step(`${local}/login/oidc/corp`)
  expect(begun.next!.searchParams.get('redirect_uri')).toBe(`${local}/login/oidc/corp/callback`)
  const page = await browser.visit(begun.next!, { until: (url) => url.pathname === '/' })
  expect(page.next?.href).toBe(`${local}/`)
  const { text } = await browser.step(`${local}/api/account`)
  expect(JSON.parse(text)).toMatchObject({ email: ada.email })
  await on.stop()
})

test('with an https base URL, redirects use it and cookies have the __Host- prefix', async () => {
  const baseUrl = 'https://errand.example'
  const on = await startSignOn({ service: { baseUrl } })
  on.provider.people.set('subject-ada', ada)
  await on.service.createPerson({ email: ada.email })
  const ports = { [baseUrl]: new URL(on.service.url).port }
  const browser = new TestBrowser({ person: 'subject-ada', ports })
  const begun = await browser.step(`${baseUrl}/login/oidc/corp`)
  expect(begun.next!.searchParams.get('redirect_uri')).toBe(`${baseUrl}/login/oidc/corp/callback`)
  expect(begun.setCookies).toEqual([expect.stringMatching(/^__Host-errand-oidc=\S+; .*; Secure$/)])
  const page = await browser.visit(begun.next!, { until: (url) => url.pathname === '/' })
  expect(page.next?.href).toBe(`${baseUrl}/`)
  expect(page.setCookies[0]).toMatch(/^__Host-errand-oidc=; .*; Max-Age=0; Secure$/)
  expect(page.setCookies[1]).toMatch(/^__Host-errand=[\w-]+; .*; Secure$/)
  expect(JSON.parse((await browser.step(`${baseUrl}/api/account`)).text)).toMatchObject({ email: ada.email })
  // A cookie with the plain name, which a sibling domain could set, is ignored.
  const planted = new TestBrowser({ person: 'subject-ada', ports })
  const { next: answer } = await planted.visit(`${baseUrl}/login/oidc/corp`, {
    until: (url) => url.pathname.endsWith('/callback'),
  })
  for (const cookie of planted.cookies) cookie.name = cookie.name.replace('__Host-', '')
  expect((await planted.step(answer!)).next?.href).toBe(`${baseUrl}/login?error=expired`)
  await on.stop()
})

test('never uses Host or forwarding headers in redirect URLs', async () => {
  for (const baseUrl of [undefined, 'https://errand.example']) {
    const on = await startSignOn({ service: { ...(baseUrl !== undefined && { baseUrl }) } })
    const base = baseUrl ?? on.service.url
    const { port } = new URL(on.service.url)
    for (const host of ['evil.example', `evil.example:${port}`, 'localhost.evil.example']) {
      const headers = { host, 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' }
      const begun = await new TestBrowser().step(`${on.service.url}/login/oidc/corp`, { headers })
      expect(begun.next!.searchParams.get('redirect_uri')).toBe(`${base}/login/oidc/corp/callback`)
      const refused = await new TestBrowser().step(`${on.service.url}/login/oidc/corp/callback?code=x`, { headers })
      expect(refused.headers['location']).toBe(`${base}/login?error=expired`)
    }
    await on.stop()
  }
})

test('rejects logins if the base URL would send cookies unencrypted', async () => {
  const on = await startSignOn({ service: { baseUrl: 'http://errand.example' } })
  for (const path of ['/login/oidc/corp', '/login/oidc/corp/callback?code=x&state=y']) {
    const { body, headers, status } = await on.service.get(path)
    expect([status, body.message]).toEqual([
      403,
      'Logging in requires HTTPS, but the base URL is an http URL. Set ERRAND_BASE_URL to an https URL.',
    ])
    expect(headers.getSetCookie()).toEqual([])
  }
  expect(on.provider.asked).toEqual([])
  await on.stop()
})

test('an existing login cookie does not bypass the provider', async () => {
  const on = await startSignOn()
  on.provider.people.set('subject-ada', ada)
  await on.service.createPerson({ email: ada.email })
  const { browser } = await signOn(on, 'subject-ada')
  expectRefused(await browser.step(`${on.service.url}/login/oidc/corp/callback?code=x&state=y`), 'expired')
  expect(await whoIs(on, browser)).toMatchObject({ email: ada.email })
  await on.stop()
})
