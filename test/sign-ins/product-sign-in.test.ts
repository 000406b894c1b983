import { afterEach, expect, test } from 'vitest'
import { PlatformCalls } from '../api/platform-calls.ts'
import { expectStatus } from '../api/signed-in.ts'
import { TestBrowser } from '../login/oidc-browser.ts'
import { startService } from '../support/test-service.ts'
import { OAuthServer } from './oauth-server.ts'
import { startProtectedServer } from './protected-server.ts'

const origin = 'https://shop.example.com'
const returnUrl = `${origin}/connected?tab=services`
const ada = 'ext:ada'

const started: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of started.splice(0)) await one.stop()
})

async function start() {
  const oauth = await OAuthServer.start()
  const mcp = await startProtectedServer({ issuer: () => oauth.issuer })
  mcp.check = (token) => oauth.isGood(token, mcp.url)
  const service = await startService({ privateHosts: ['127.0.0.1'] })
  started.push(service, mcp, oauth)
  const platform = await PlatformCalls.open(service)
  for (const name of ['ada', 'bob']) await platform.openUser(name)
  const connect = async (user = ada, name = 'Mail'): Promise<string> => {
    const connector = { name, url: mcp.url, auth: { type: 'oauth' } }
    return (await expectStatus(200, platform.post('/api/connectors', connector, { user }))).id
  }
  /** Signs in at the server in a browser that knows only the product, and returns the URL that it ends on. */
  const comeBack = async (connectorId: string): Promise<URL> => {
    const path = `/api/connectors/${connectorId}/sign-in`
    const { authorizationUrl } = await expectStatus(200, platform.post(path, { returnUrl }, { user: ada }))
    const page = await new TestBrowser().visit(new URL(authorizationUrl), { until: (url) => url.origin === origin })
    return page.next!
  }
  const finish = (connectorId: string, signIn: string | null, user = ada) =>
    platform.call('PUT', `/api/connectors/${connectorId}/sign-in`, { body: { signIn }, user })
  const read = async (connectorId: string) => (await platform.get(`/api/connectors/${connectorId}`, ada)).body
  return { comeBack, connect, finish, mcp, oauth, platform, read, service }
}

test("a product connects its user's account at a server, without a login in the console", async () => {
  const { comeBack, connect, finish, oauth, platform, read } = await start()
  const connectorId = await connect()
  const back = await comeBack(connectorId)
  expect(back.href.startsWith(`${returnUrl}&connector=${connectorId}&signIn=`)).toBe(true)
  expect([oauth.grants, (await read(connectorId)).status]).toEqual([[], 'needs_sign_in'])
  const signIn = back.searchParams.get('signIn')
  expect(await finish(connectorId, signIn)).toMatchObject({
    status: 200,
    body: { id: connectorId, status: 'untested' },
  })
  const path = `/api/connectors/${connectorId}`
  expect((await platform.post(`${path}/test`, {}, { user: ada })).body).toMatchObject({ status: 'ok' })
  expect(await finish(connectorId, signIn)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
  expect(oauth.grants).toEqual(['authorization_code 200'])
  await expectStatus(200, platform.call('DELETE', `${path}/sign-in`, { user: ada }))
  expect((await read(connectorId)).status).toBe('needs_sign_in')
  await expectStatus(200, platform.call('DELETE', path, { user: ada }))
  expect((await platform.get('/api/connectors', ada)).body.total).toBe(0)
})

test('only the user for whom a product started a sign-in can finish it', async () => {
  const { comeBack, connect, finish, oauth, read, service } = await start()
  const [connectorId, ofBob] = [await connect(), await connect('ext:bob')]
  const signIn = (await comeBack(connectorId)).searchParams.get('signIn')
  expect(await finish(connectorId, signIn, 'ext:bob')).toMatchObject({ status: 404 })
  expect(await finish(ofBob, signIn, 'ext:bob')).toMatchObject({ status: 409 })
  expect(await finish(await connect(ada, 'Other'), signIn)).toMatchObject({ status: 409 })
  const unscoped = await PlatformCalls.open(service, { scopes: ['act'] })
  const key = await service.createKey((await unscoped.get('/api/account', ada)).body.userId)
  const path = `/api/connectors/${connectorId}/sign-in`
  for (const answer of [
    await unscoped.call('PUT', path, { body: { signIn }, user: ada }),
    await service.request('PUT', path, { key, body: { signIn } }),
  ]) {
    expect(answer).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
  }
  // The same response at the callback, as if the product did not exist.
  const callback = await fetch(`${service.url}/connectors/sign-in/callback?${signIn}`, { redirect: 'manual' })
  expect(callback.headers.get('location')).toContain(origin)
  expect([oauth.grants, (await read(connectorId)).status]).toEqual([[], 'needs_sign_in'])
  expect((await finish(connectorId, signIn)).status).toBe(200)
})

test('a rejected sign-in returns 424 with the reason, and an unusable returnUrl 400', async () => {
  const { comeBack, connect, finish, platform, read, service } = await start()
  const connectorId = await connect()
  const answer = new URLSearchParams((await comeBack(connectorId)).searchParams.get('signIn')!)
  answer.delete('code')
  answer.set('error', 'access_denied')
  const denied = await finish(connectorId, answer.toString())
  expect(denied).toMatchObject({ status: 424, body: { code: 'CONNECTOR_FAILED' } })
  expect(denied.body.message).toMatch(/^Connector "Mail": The sign-in failed\. /)
  expect(await read(connectorId)).toMatchObject({ status: 'needs_sign_in' })
  for (const signIn of ['', 'x'.repeat(16_001), null]) {
    expect(await finish(connectorId, signIn)).toMatchObject({ status: 400, body: { details: [{ path: 'signIn' }] } })
  }
  expect((await finish(connectorId, 'state=nothing')).status).toBe(409)
  const path = `/api/connectors/${connectorId}/sign-in`
  const bad = ['', '/connected', 'javascript:alert(1)', 'https://a:b@shop.example.com', `${origin}/${'x'.repeat(2000)}`]
  for (const body of [{}, ...bad.map((url) => ({ returnUrl: url }))]) {
    const refused = await platform.post(path, body, { user: ada })
    expect(refused, JSON.stringify(body)).toMatchObject({ status: 400, body: { details: [{ path: 'returnUrl' }] } })
  }
  const { userId } = (await platform.get('/api/account', ada)).body
  const byKey = await service.post(path, { returnUrl }, { key: await service.createKey(userId) })
  expect(byKey).toMatchObject({ status: 400, body: { details: [{ path: 'returnUrl' }] } })
})
