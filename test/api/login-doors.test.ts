import { expect, test } from 'vitest'
import { describedRouter, proceduresOf } from '../../server/edge/root-router.ts'
import type { ProcedureMeta } from '../../server/procedures/procedure.ts'
import { RawConnection } from '../support/raw-http.ts'
import { startService, type Answer } from '../support/test-service.ts'
import { Browser, password } from './browser-login.ts'

const operations = Object.entries(proceduresOf(describedRouter)).map(([name, procedure]) => {
  const { meta, type } = procedure._def as unknown as { type: string; meta: ProcedureMeta | undefined }
  return { name, type, rest: meta?.openapi, isPublic: meta?.isPublic === true }
})

test('exactly six operations are public, and the OpenAPI document agrees', async () => {
  expect(
    operations
      .filter(({ isPublic }) => isPublic)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual([
    'invitations.accept',
    'invitations.check',
    'invitations.requestPasswordReset',
    'invitations.requestSignUp',
    'login.create',
    'login.options',
  ])
  for (const { isPublic, name, rest } of operations) if (rest) expect(rest.protect, name).toBe(!isPublic)
})

test('every other operation returns 401 without credentials over REST, RPC, batches and streamed batches', async () => {
  const service = await startService()
  for (const { isPublic, name, rest, type } of operations) {
    if (isPublic) continue
    const method = type === 'query' ? 'GET' : 'POST'
    const body = method === 'POST' ? { json: {} } : undefined
    for (const path of [`/trpc/${name}`, `/trpc/${name}?batch=1`, `/trpc/login.options,${name}?batch=1`]) {
      for (const headers of [{}, { 'trpc-accept': 'application/jsonl' }]) {
        expect((await service.request(method, path, { body, headers })).status, `${method} ${path}`).toBe(401)
      }
    }
    if (!rest) continue
    const path = rest.path.replaceAll(/\{\w+\}/g, 'some_0')
    const sent = rest.method === 'POST' || rest.method === 'PATCH' ? {} : undefined
    expect((await service.request(rest.method, path, { body: sent })).status, name).toBe(401)
  }
  await service.stop()
})

test('combining a public name with another operation grants no access', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const input = encodeURIComponent(JSON.stringify({ 0: { json: {} }, 1: { json: {} } }))
  const paths = [
    `/trpc/login.options,account.get?batch=1&input=${input}`,
    `/trpc/account.get,login.options?batch=1&input=${input}`,
    `/trpc/login.options%2Caccount.get?batch=1&input=${input}`,
    `/trpc/login.options%2caccount.get?batch=1&input=${input}`,
    `/trpc/login.options,account.get?input=${input}`,
    '/trpc/login.options/../account.get',
    '/trpc/login.options/%2e%2e/account.get',
    '/trpc/login.options//account.get',
    '/trpc/../trpc/account.get',
    '/trpc/login.options;account.get',
    '/trpc/login.options%00account.get',
    '/trpc/login.options,',
    '/trpc/,login.options',
    '/trpc/login%2Eoptions',
    '/trpc/LOGIN.OPTIONS',
    '/trpc/constructor',
    '/trpc/__proto__',
    '/trpc/',
  ]
  using connection = await RawConnection.open(service.url)
  for (const path of paths) {
    // Sent as raw bytes, because URL classes would normalize the path.
    await connection.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    const answer = (await connection.readAnswer())!
    expect(answer.status, path).toBe(401)
    expect(JSON.stringify(answer.body), path).not.toContain('providers')
  }
  for (const path of [
    '/api/login/../account',
    '/api/login/%2e%2e/account',
    '/api/login/',
    '/api//login',
    '/api/LOGIN',
  ]) {
    await connection.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    expect((await connection.readAnswer())!.status, path).toBe(404)
  }
  const login = { json: { email, password } }
  const beside = await new Browser(service).post('/trpc/login.create,keys.create?batch=1', {
    0: login,
    1: { json: { name: 'x' } },
  })
  expect([beside.status, beside.headers.getSetCookie()]).toEqual([401, []])
  await service.stop()
})

test('a public operation answers wrong methods with 405 and sets no cookie', async () => {
  const service = await startService()
  const { email } = await service.createPerson({ password })
  const browser = new Browser(service)
  const input = encodeURIComponent(JSON.stringify({ json: { email, password } }))
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await browser.request(method, `/trpc/login.create?input=${input}`)
    expect([answer.status, answer.headers.getSetCookie()], method).toEqual([405, []])
  }
  expect((await browser.post('/trpc/login.options', { json: {} })).status).toBe(405)
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const answer = await browser.request(method, '/api/login', { body: { email, password } })
    expect([answer.status, answer.headers.get('allow')], method).toEqual([405, 'GET, HEAD, POST, OPTIONS'])
  }
  expect((await browser.get('/api/logout')).status).toBe(405)
  await service.stop()
})

test('rejects a streamed login, which could not set its cookie, and creates no login', async () => {
  const service = await startService()
  const { email, userId } = await service.createPerson({ password })
  const answer = await fetch(`${service.url}/trpc/login.create?batch=1`, {
    method: 'POST',
    headers: { Origin: service.url, 'Content-Type': 'application/json', 'trpc-accept': 'application/jsonl' },
    body: JSON.stringify({ 0: { json: { email, password } } }),
  })
  expect(await answer.text()).toContain('trpc-accept: Must not be application/jsonl, because')
  expect(answer.headers.getSetCookie()).toEqual([])
  expect((await service.app.store.listLogins({ userId, limit: 10, offset: 0 })).total).toBe(0)
  await service.stop()
})

test('no other operation sets a cookie, with a login, a key or no credential', async () => {
  const service = await startService()
  const { email, key } = await service.createPerson({ password, isAdmin: true })
  const browser = await Browser.loggedIn(service, { email, password })
  const setting = new Set(['login.create', 'login.end', 'logins.endAll', 'invitations.accept'])
  const expectNone = (answer: Answer, what: string) => expect(answer.headers.getSetCookie(), what).toEqual([])
  for (const { name, rest, type } of operations) {
    if (setting.has(name)) continue
    const method = type === 'query' ? 'GET' : 'POST'
    const body = method === 'POST' ? { json: {} } : undefined
    expectNone(await browser.request(method, `/trpc/${name}`, { body }), name)
    expectNone(await service.request(method, `/trpc/${name}`, { body, key }), name)
    if (!rest) continue
    const path = rest.path.replaceAll(/\{\w+\}/g, 'some_0')
    const sent = rest.method === 'POST' || rest.method === 'PATCH' ? {} : undefined
    expectNone(await browser.request(rest.method, path, { body: sent }), path)
    expectNone(await service.request(rest.method, path, { body: sent }), path)
  }
  for (const path of ['/openapi.json', '/healthz', '/docs', '/nothing']) expectNone(await browser.get(path), path)
  await service.stop()
})
