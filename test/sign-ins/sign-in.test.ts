import { expect, test } from 'vitest'
import { expectStatus, signIn as logIn, signUp } from '../api/signed-in.ts'
import { completeTask, createTask, endOf as endOfTask, expectSound, talkWith } from '../connectors/run-checks.ts'
import { ofTier } from '../run/tiers.ts'
import {
  begin,
  check,
  comeBack,
  createConnector,
  createOwner,
  endOf,
  read,
  signedIn,
  signIn,
  startSignInWorld,
  tabOf,
} from './sign-in-world.ts'

const use = { params: { calls: [{ name: 'use' }] } }

test.for(ofTier([true], [true, false]))(
  "a user signs in and runs use the connector's tools, in threads: %s",
  async (inThreads) => {
    const world = await startSignInWorld({ world: { inThreads } })
    const { mcp, oauth, service } = world
    const owner = await createOwner(service)
    const connectorId = await createConnector(world, owner)
    const address = await begin(service, owner, connectorId)
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      resource: mcp.url,
      scope: 'tools offline_access',
      redirect_uri: `${service.url}/connectors/sign-in/callback`,
    })
    const back = await comeBack(owner, address, service)
    expect(back.searchParams.get('iss')).toBe(oauth.issuer)
    expect(await endOf(owner, back)).toBe('done')
    expect(oauth.tokenBodies[0]!.get('resource')).toBe(mcp.url)
    expect(await read(service, owner, connectorId)).toMatchObject({ auth: { type: 'oauth' }, status: 'untested' })
    expect(await check(service, owner, connectorId)).toMatchObject({ status: 'ok', statusMessage: null })
    const call = service.post(`/api/connectors/${connectorId}/call`, { tool: 'use' }, { key: owner.key })
    expect((await expectStatus(200, call)).content).toEqual([{ type: 'text', text: 'used use' }])
    const connectorIds = [connectorId]
    const done = await completeTask(world, owner, { endpointId: 'code.call', ...use, connectorIds })
    expect(done.answers[0].text).toBe('used use')
    const talker = await talkWith(world, { agentId: 'model', connectorIds, person: owner })
    expect(JSON.stringify(await talker.chat(JSON.stringify(use.params.calls)))).toContain('used use')
    await expectSound(world)
    await world.stop()
  },
)

test('rejects runs of a connector that needs a sign-in, without charging, and explains how', async () => {
  const world = await startSignInWorld()
  const { provider, service } = world
  const owner = await createOwner(service)
  const connectorId = await createConnector(world, owner, { name: 'Mail' })
  expect(await read(service, owner, connectorId)).toMatchObject({ status: 'needs_sign_in', statusMessage: null })
  const { key } = owner
  const advice = `Connector "Mail": The connector needs a sign-in. Use the console or POST /api/connectors/${connectorId}/sign-in.`
  const refused = { code: 'CONNECTOR_FAILED', message: advice, statusCode: 424 }
  const task = { endpointId: 'model.call', ...use, connectorIds: [connectorId] }
  expect(await expectStatus(424, service.post('/api/tasks', task, { key }))).toMatchObject(refused)
  const talker = await talkWith(world, { agentId: 'model', connectorIds: [connectorId], person: owner })
  const reader = await talker.open('Hello')
  expect(reader.status).toBe(424)
  expect(await reader.all()).toMatchObject([{ type: 'error', ...refused, error: { code: 'CONNECTOR_FAILED' } }])
  expect(await check(service, owner, connectorId)).toMatchObject({ status: 'needs_sign_in' })
  const tools = await expectStatus(424, service.get(`/api/connectors/${connectorId}/tools`, key))
  expect(tools.message).toBe(advice)
  const call = service.post(`/api/connectors/${connectorId}/call`, { tool: 'use' }, { key })
  expect((await expectStatus(424, call)).message).toBe(advice)
  expect((await service.get('/api/account', key)).body).toMatchObject({ balanceUsd: '10.0000', heldUsd: '0.0000' })
  expect(provider.requests).toEqual([])
  await world.stop()
})

test('accepts a callback once and only from the login that started it', async () => {
  const world = await startSignInWorld()
  const { oauth, service } = world
  const owner = await createOwner(service)
  const connectorId = await createConnector(world, owner)
  const back = await comeBack(owner, await begin(service, owner, connectorId), service)
  const stranger = { tab: tabOf(await signUp(service)) }
  const otherLogin = { tab: tabOf({ browser: await logIn(service, owner.userId) }) }
  const nobody = { tab: tabOf(await signUp(service)) }
  nobody.tab.cookies = []
  expect(await endOf(stranger, back)).toBe('other-login')
  expect(await endOf(otherLogin, back)).toBe('other-login')
  expect(await endOf(nobody, back)).toBe('no-login')
  const altered = new URL(back)
  altered.searchParams.set('state', 'x'.repeat(43))
  expect(await endOf(owner, altered)).toBe('expired')
  expect(oauth.grants).toEqual([])
  expect(await read(service, owner, connectorId)).toMatchObject({ status: 'needs_sign_in' })
  expect(await endOf(owner, back)).toBe('done')
  for (const who of [owner, stranger, otherLogin]) expect(await endOf(who, back)).toBe('expired')
  expect(oauth.grants).toEqual(['authorization_code 200'])
  await world.stop()
})

test("a sign-in started with a key can be finished in the same user's browser", async () => {
  const world = await startSignInWorld()
  const { service } = world
  const owner = await createOwner(service)
  const connectorId = await createConnector(world, owner)
  const path = `/api/connectors/${connectorId}/sign-in`
  const begun = await expectStatus(200, service.post(path, {}, { key: owner.key }))
  const stranger = { tab: tabOf(await signUp(service)) }
  const back = await comeBack(stranger, new URL(begun.authorizationUrl), service)
  expect(await endOf(stranger, back)).toBe('other-login')
  expect(await endOf(owner, back)).toBe('done')
  expect((await service.post(path, {}, { key: (await service.createPerson()).key })).status).toBe(404)
  await world.stop()
})

test('signing out, deleting or changing a connector revokes its tokens and pending sign-ins', async () => {
  const world = await startSignInWorld()
  const { mcp, oauth, service } = world
  const ends: Record<string, (path: string, key: string) => Promise<unknown>> = {
    'sign-out': (path, key) => expectStatus(200, service.request('DELETE', `${path}/sign-in`, { key })),
    'another address': (path, key) =>
      expectStatus(200, service.request('PATCH', path, { key, body: { url: `${mcp.url}/other` } })),
    'other secrets': (path, key) =>
      expectStatus(200, service.request('PATCH', path, { key, body: { auth: { type: 'oauth' } } })),
    'the end': (path, key) => expectStatus(200, service.request('DELETE', path, { key })),
  }
  for (const [what, end] of Object.entries(ends)) {
    const { connectorId, owner } = await signedIn(world)
    await check(service, owner, connectorId)
    const token = mcp.shown.at(-1)!.split(' ')[0]!
    expect(await oauth.isGood(token, mcp.url), what).toBe(true)
    const pending = await comeBack(owner, await begin(service, owner, connectorId), service)
    await end(`/api/connectors/${connectorId}`, owner.key)
    expect(await oauth.isGood(token, mcp.url), what).toBe(false)
    expect(await endOf(owner, pending), what).toBe('expired')
    const { store } = service.app
    expect(await store.grants.get({ userId: owner.userId, connectorId }), what).toBeUndefined()
    if (what !== 'the end') expect(await read(service, owner, connectorId)).toMatchObject({ status: 'needs_sign_in' })
  }
  await world.stop()
})

test('registers a client once, and again if the server has forgotten it', async () => {
  const world = await startSignInWorld()
  const { oauth, service } = world
  const { connectorId, owner } = await signedIn(world)
  const registered = () => oauth.asked.filter((asked) => asked === 'POST /reg').length
  await signIn(service, owner, connectorId)
  expect(registered()).toBe(1)
  oauth.forget()
  // Only the browser sees that the client is unknown.
  const lost = await owner.tab.visit(await begin(service, owner, connectorId))
  expect([lost.status, lost.next]).toEqual([400, undefined])
  expect(registered()).toBe(1)
  await signIn(service, owner, connectorId)
  expect(registered()).toBe(2)
  expect(await check(service, owner, connectorId)).toMatchObject({ status: 'ok' })
  await world.stop()
})

test.for(['client_secret_basic', 'client_secret_post', 'none'] as const)(
  "uses a client registered by the connector's owner: %s",
  async (method) => {
    const redirects: string[] = []
    const client = {
      client_id: 'given',
      ...(method !== 'none' && { client_secret: 'a+secret/of-the:client%20&=' }),
      token_endpoint_auth_method: method,
      redirect_uris: redirects,
      grant_types: ['authorization_code', 'refresh_token'],
    }
    const world = await startSignInWorld({ oauth: { clients: [client], registers: false } })
    const { oauth, service } = world
    redirects.push(`${service.url}/connectors/sign-in/callback`)
    oauth.forget()
    const owner = await createOwner(service)
    const unregistered = await createConnector(world, owner)
    const refused = await expectStatus(424, owner.browser.post(`/api/connectors/${unregistered}/sign-in`, {}))
    expect(refused.message).toContain(`with the redirect URI ${service.url}/connectors/sign-in/callback`)
    const auth = {
      type: 'oauth',
      clientId: 'given',
      ...(method !== 'none' && { clientSecret: 'a+secret/of-the:client%20&=' }),
    }
    if (method === 'client_secret_post') oauth.offer(['client_secret_post'])
    const bad = { name: 'Bad', url: world.mcp.url, auth: { type: 'oauth', clientSecret: 'x' } }
    await expectStatus(400, service.post('/api/connectors', bad, { key: owner.key }))
    const connectorId = await createConnector(world, owner, { auth })
    await signIn(service, owner, connectorId)
    expect(await check(service, owner, connectorId)).toMatchObject({ status: 'ok' })
    await world.stop()
  },
)

test('requests missing scopes in the next sign-in, but only once', async () => {
  const world = await startSignInWorld()
  const { mcp, oauth, service } = world
  const { connectorId, owner } = await signedIn(world)
  const task = { endpointId: 'code.call', ...use, connectorIds: [connectorId] }
  const call = async () => await endOfTask(world, owner, await createTask(world, owner, task))
  const registered = () => oauth.asked.filter((asked) => asked === 'POST /reg').length
  mcp.callScope = 'tools write'
  const told = async () => (await call()).response.answers[0]
  expect(await told()).toMatchObject({ isError: true, text: expect.stringContaining('needs a sign-in') })
  const asksForMore = 'The server requires more permissions than the sign-in granted. Sign in again to grant them.'
  const needed = { status: 'needs_sign_in', statusMessage: asksForMore }
  expect(await read(service, owner, connectorId)).toMatchObject(needed)
  const address = await begin(service, owner, connectorId)
  expect(address.searchParams.get('scope')!.split(' ').toSorted()).toEqual(['offline_access', 'tools', 'write'])
  expect(registered()).toBe(2)
  expect(await endOf(owner, await comeBack(owner, address, service))).toBe('done')
  const text = expect.stringContaining('rejected the call, because the sign-in does not permit it (HTTP 403)')
  expect(await told()).toMatchObject({ isError: true, text })
  expect(await read(service, owner, connectorId)).toMatchObject({ status: 'untested' })
  mcp.callScope = undefined
  expect(await call()).toMatchObject({ status: 'completed' })
  await expectSound(world)
  await world.stop()
})
