import { expect, test } from 'vitest'
import { describedRouter, proceduresOf } from '../../../server/edge/root-router.ts'
import type { ProcedureMeta } from '../../../server/procedures/procedure.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { Browser, password } from '../browser-login.ts'

type Headers = Record<string, string>

const operations = Object.entries(proceduresOf(describedRouter)).map(([name, procedure]) => {
  const { meta, type } = procedure._def as unknown as { type: string; meta: ProcedureMeta | undefined }
  return { name, type, rest: meta?.openapi, isPublic: meta?.isPublic === true }
})

/** Returns headers that browsers send for requests from other sites or unknown origins. */
function foreignHeaders({ url }: TestService): Headers[] {
  const { port } = new URL(url)
  const foreign = [
    'https://evil.example',
    'null',
    '',
    `https://127.0.0.1:${port}`,
    'http://127.0.0.1',
    `http://127.0.0.1:${Number(port) + 1}`,
    `http://127.0.0.1.evil.example:${port}`,
  ]
  return [
    {},
    ...foreign.flatMap((Origin): Headers[] => [{ Origin }, { Origin, 'Sec-Fetch-Site': 'same-origin' }]),
    ...['cross-site', 'same-site', 'none', 'nonsense'].flatMap((site): Headers[] => [
      { 'Sec-Fetch-Site': site },
      { 'Sec-Fetch-Site': site, Origin: url },
      { 'Sec-Fetch-Site': site, Origin: 'https://evil.example' },
    ]),
    // No other header proves the origin.
    { Referer: `${url}/`, Host: 'evil.example', 'X-Forwarded-Host': new URL(url).host },
  ]
}

test('rejects changes by cookie from other origins with 403 and writes nothing', async () => {
  const service = await startService()
  const { email, key, userId } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  const { sessionId } = (await service.post('/api/sessions', { agentId: 'talk' }, { key })).body
  const state = async () => [
    (await service.get('/api/tasks', key)).body.total,
    (await service.get('/api/keys', key)).body.total,
    (await service.get('/api/transactions', key)).body.total,
    (await service.get(`/api/sessions/${sessionId}`, key)).body,
    (await service.get('/api/logins', key)).body.logins.map(({ id }: { id: string }) => id),
    (await service.app.store.getUser(userId))!.passwordHash,
  ]
  const before = await state()
  const task = { endpointId: 'test.echo', params: {} }
  const change = { currentPassword: password, newPassword: 'another horse battery' }
  const changes: [string, string, unknown?][] = [
    ['POST', '/api/tasks', task],
    ['POST', '/trpc/tasks.create', { json: task }],
    ['POST', '/trpc/tasks.create,keys.create?batch=1', { 0: { json: task }, 1: { json: { name: 'x' } } }],
    ['POST', '/api/chat', { sessionId, message: 'hello' }],
    ['POST', '/trpc/chat.stream', { json: { sessionId, message: 'hello' } }],
    ['POST', '/api/keys', { name: 'x' }],
    ['PATCH', `/api/sessions/${sessionId}`, { metadata: { a: 1 } }],
    ['DELETE', `/api/sessions/${sessionId}`],
    ['POST', '/api/account/password', change],
    ['POST', '/api/logout', {}],
    ['DELETE', '/api/logins'],
    ['POST', '/trpc/login.end', { json: {} }],
  ]
  for (const headers of foreignHeaders(service)) {
    for (const [method, path, body] of changes) {
      const answer = await browser.request(method, path, { body, headers, isBare: true })
      const what = `${method} ${path} with ${JSON.stringify(headers)}`
      expect([answer.status, answer.headers.getSetCookie()], what).toEqual([403, []])
      expect(JSON.stringify(answer.body)).toContain(`A browser login works only from pages of ${service.url}.`)
    }
  }
  expect(await state()).toEqual(before)
  await service.stop()
})

test('rejects a streamed batch from another origin without running any call', async () => {
  const service = await startService()
  const { email, key } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  const answer = await fetch(`${service.url}/trpc/tasks.create?batch=1`, {
    method: 'POST',
    headers: {
      Cookie: browser.cookieHeader,
      Origin: 'https://evil.example',
      'Content-Type': 'application/json',
      'trpc-accept': 'application/jsonl',
    },
    body: JSON.stringify({ 0: { json: { endpointId: 'test.echo', params: {} } } }),
  })
  const text = await answer.text()
  expect(text).toContain('A browser login works only from pages of')
  expect(text).not.toContain('task_')
  expect((await service.get('/api/tasks', key)).body.total).toBe(0)
  await service.stop()
})

test('every mutation by cookie from another site gets 403, over REST and RPC', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password, isAdmin: true })
  const browser = await Browser.loggedIn(service, { email, password })
  const headers = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
  const mutations = operations.filter(({ isPublic, type }) => type === 'mutation' && !isPublic)
  expect(mutations.length).toBeGreaterThan(15)
  for (const { name, rest } of mutations) {
    const overRpc = await browser.request('POST', `/trpc/${name}`, { body: { json: {} }, headers, isBare: true })
    expect(overRpc.status, name).toBe(403)
    expect(overRpc.body.error.json.message, name).toContain('A browser login works only from pages of')
    if (!rest) continue
    expect(rest.method, `${name} over REST is no GET`).not.toBe('GET')
    const path = rest.path.replaceAll(/\{\w+\}/g, 'some_0')
    const overRest = await browser.request(rest.method, path, { body: {}, headers, isBare: true })
    expect([overRest.status, overRest.body.message], name).toEqual([
      403,
      expect.stringContaining('A browser login works only from pages of'),
    ])
  }
  expect(await browser.status()).toBe(200)
  await service.stop()
})

test('GET never reaches a mutation, neither in a batch nor with a method override', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password, isAdmin: true })
  const browser = await Browser.loggedIn(service, { email, password })
  const input = encodeURIComponent(JSON.stringify({ json: {} }))
  for (const { name } of operations.filter(({ type }) => type === 'mutation')) {
    for (const path of [`/trpc/${name}?input=${input}`, `/trpc/${name}?batch=1&input=%7B%220%22%3A${input}%7D`]) {
      for (const headers of [{}, { 'X-HTTP-Method-Override': 'POST' }, { 'X-HTTP-Method': 'POST' }]) {
        const answer = await browser.request('GET', path, { headers })
        // This operation rejects a browser login before it checks the method.
        const status = name === 'connectors.finishSignIn' ? 403 : 405
        expect([answer.status, answer.headers.getSetCookie()], path).toEqual([status, []])
      }
    }
  }
  for (const { name, rest, type } of operations) {
    if (rest) expect(rest.method === 'GET', name).toBe(type === 'query')
  }
  for (const { rest } of operations.filter(({ type }) => type === 'mutation')) {
    if (rest && !operations.some(({ rest: other, type }) => type === 'query' && other?.path === rest.path)) {
      const path = rest.path.replaceAll(/\{\w+\}/g, 'some_0')
      expect([404, 405], path).toContain((await browser.get(path)).status)
    }
  }
  expect(await browser.status()).toBe(200)
  await service.stop()
})

test('accepts same-origin changes under each local host name, and reads from any origin', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  const { port } = new URL(service.url)
  const task = { endpointId: 'test.free', params: {} }
  const own: Headers[] = [
    { 'Sec-Fetch-Site': 'same-origin' },
    ...['localhost', '127.0.0.1', '[::1]'].flatMap((host): Headers[] => {
      const Origin = `http://${host}:${port}`
      return [{ Origin }, { Origin, 'Sec-Fetch-Site': 'same-origin' }]
    }),
  ]
  for (const headers of own) {
    const created = await browser.request('POST', '/api/tasks', { body: task, headers, isBare: true })
    expect(created.status, JSON.stringify(headers)).toBe(200)
    const credentials = { email, password }
    const login = await new Browser(service).request('POST', '/api/login', { body: credentials, headers, isBare: true })
    expect(login.status, JSON.stringify(headers)).toBe(200)
  }
  for (const headers of foreignHeaders(service)) {
    expect((await browser.request('GET', '/api/account', { headers, isBare: true })).status).toBe(200)
  }
  await service.stop()
})

test('with an https base URL, accepts only that origin and no local origins', async () => {
  const origin = 'https://errand.example.com'
  const service = await startService({ baseUrl: origin })
  const { email } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password }, { origin })
  const task = { endpointId: 'test.free', params: {} }
  const { port } = new URL(service.url)
  const foreign = [
    service.url,
    `http://localhost:${port}`,
    `https://localhost:${port}`,
    'https://localhost',
    'https://127.0.0.1',
    'http://errand.example.com',
    'https://errand.example.com:8443',
    'https://sub.errand.example.com',
    'https://example.com',
  ]
  for (const other of foreign) {
    expect((await browser.post('/api/tasks', task, { Origin: other })).status, other).toBe(403)
    expect((await new Browser(service, { origin: other }).logIn({ email, password })).status, other).toBe(403)
  }
  expect((await browser.post('/api/tasks', task)).status).toBe(200)
  await service.stop()
})

test('no response lets another origin read it with cookies', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const browser = await Browser.loggedIn(service, { email, password })
  const origin = { Origin: 'https://evil.example' }
  for (const path of ['/api/account', '/trpc/account.get', '/api/login', '/api/keys']) {
    const { headers } = await browser.request('GET', path, { headers: origin, isBare: true })
    expect(headers.get('access-control-allow-origin'), path).toBe('*')
    expect(headers.get('access-control-allow-credentials'), path).toBe(null)
  }
  const preflight = await browser.request('OPTIONS', '/api/login', { headers: origin, isBare: true })
  expect(preflight.headers.get('access-control-allow-credentials')).toBe(null)
  await service.stop()
})
