import { expect, test } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { expectStatus } from '../../api/signed-in.ts'
import { completeTask, createTask, expectTaskFailed } from '../../connectors/run-checks.ts'
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
} from '../sign-in-world.ts'

const task = (connectorId: string) => ({
  endpointId: 'code.call',
  params: { calls: [{ name: 'use' }, { name: 'use' }] },
  connectorIds: [connectorId],
})

test('refreshes an expired access token once for concurrent runs', async () => {
  const world = await startSignInWorld({ oauth: { tokenSeconds: 2 } })
  const { mcp, oauth, service } = world
  const { connectorId, owner } = await signedIn(world)
  await completeTask(world, owner, task(connectorId))
  const [first] = mcp.shown.at(-1)!.split(' ')
  await expect.poll(() => oauth.isGood(first!, mcp.url), { timeout: 10_000, interval: 100 }).toBe(false)
  const before = oauth.grants.length
  await Promise.all(Array.from({ length: 6 }, () => completeTask(world, owner, task(connectorId))))
  // Each token is valid for two seconds, within which all tasks start.
  expect(oauth.grants.slice(before).filter((grant) => !grant.endsWith('200'))).toEqual([])
  expect(oauth.grants.slice(before).length).toBeLessThanOrEqual(3)
  expect(new Set(oauth.tokenBodies.slice(before).map((body) => body.get('resource')))).toEqual(new Set([mcp.url]))
  expect(mcp.shown.filter((shown) => shown.endsWith('401')).length).toBeLessThanOrEqual(6)
  expect(await read(service, owner, connectorId)).not.toMatchObject({ status: 'needs_sign_in' })
  await world.stop()
})

test.for([false, true])('refreshes a token rejected mid-run once, in threads: %s', async (inThreads) => {
  const world = await startSignInWorld({ world: { inThreads } })
  const { mcp, oauth } = world
  const { connectorId, owner } = await signedIn(world)
  const isGood = mcp.check
  let calls = 0
  const refused = new Set<string>()
  mcp.check = async (token) => {
    // The service had no warning: the token was accepted at first.
    if (++calls === 5) refused.add(token)
    return !refused.has(token) && (await isGood(token))
  }
  const done = await completeTask(world, owner, task(connectorId))
  expect(done.answers.map(({ text }: { text: string }) => text)).toEqual(['used use', 'used use'])
  expect(oauth.grants).toEqual(['authorization_code 200', 'refresh_token 200'])
  expect(mcp.shown.filter((shown) => shown.endsWith('401'))).toHaveLength(1)
  // A server that rejects every token gets two tries, then the run fails.
  mcp.check = () => false
  const taskId = await createTask(world, owner, task(connectorId))
  await expectTaskFailed(world, owner, { message: /rejected the credentials \(HTTP 401\)/, taskId })
  expect(oauth.grants).toHaveLength(3)
  await world.stop()
})

test('a denied refresh ends the sign-in, refunds the running task and rejects new tasks', async () => {
  const world = await startSignInWorld()
  const { mcp, oauth, service } = world
  const { connectorId, owner } = await signedIn(world)
  const isGood = mcp.check
  let isRefused = false
  mcp.check = async (token) => !isRefused && (await isGood(token))
  isRefused = true
  oauth.rogue.set('/token', (_request, response) =>
    response
      .writeHead(400, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: 'invalid_grant', error_description: 'grant is over\u0000\n'.repeat(99) })),
  )
  const taskId = await createTask(world, owner, task(connectorId))
  await expectTaskFailed(world, owner, {
    message: /needs a sign-in\. .*The sign-in is no longer valid.*invalid_grant/,
    taskId,
  })
  const now = await read(service, owner, connectorId)
  expect(now).toMatchObject({
    status: 'needs_sign_in',
    statusMessage: expect.stringMatching(
      /^The sign-in is no longer valid\. The authorization server returned an error \(invalid_grant: grant is over/,
    ),
  })
  expect(now.statusMessage.length).toBeLessThan(400)
  await expectStatus(424, service.post('/api/tasks', task(connectorId), { key: owner.key }))
  // The next sign-in needs no new client.
  oauth.rogue.clear()
  isRefused = false
  await signIn(service, owner, connectorId)
  expect(oauth.asked.filter((asked) => asked === 'POST /reg')).toHaveLength(1)
  expect(await check(service, owner, connectorId)).toMatchObject({ status: 'ok', statusMessage: null })
  await world.stop()
})

test('a server that forgot the client ends the sign-in; the next sign-in registers a new client', async () => {
  const world = await startSignInWorld({ oauth: { tokenSeconds: 1 } })
  const { oauth, service } = world
  const { connectorId, owner } = await signedIn(world)
  oauth.forget()
  await sleep(1100)
  expect(await check(service, owner, connectorId)).toMatchObject({
    status: 'needs_sign_in',
    statusMessage: expect.stringMatching(/invalid_client/),
  })
  await signIn(service, owner, connectorId)
  expect(oauth.asked.filter((asked) => asked === 'POST /reg')).toHaveLength(2)
  await world.stop()
})

test('a failed refresh request fails the run but keeps the sign-in', async () => {
  const world = await startSignInWorld()
  const { mcp, oauth, service } = world
  const { connectorId, owner } = await signedIn(world)
  const isGood = mcp.check
  mcp.check = () => false
  oauth.rogue.set('/token', (_request, response) => response.writeHead(503).end())
  const failed = await check(service, owner, connectorId)
  expect(failed).toMatchObject({
    status: 'failed',
    statusMessage: expect.stringMatching(/Could not refresh the access token/),
  })
  oauth.rogue.clear()
  mcp.check = isGood
  expect(await check(service, owner, connectorId)).toMatchObject({ status: 'ok' })
  expect(oauth.grants).toEqual(['authorization_code 200'])
  await world.stop()
})

test('revokes refreshed tokens if the connector was deleted or got another URL during the refresh', async () => {
  const world = await startSignInWorld()
  const { mcp, oauth, service } = world
  const owner = await createOwner(service)
  // The server claims to have revoked tokens but has not, so tokens that are being refreshed stay valid.
  oauth.rogue.set('/token/revocation', (_request, response) => response.writeHead(200).end())
  for (const end of ['url', 'delete']) {
    const connectorId = await createConnector(world, owner)
    await signIn(service, owner, connectorId)
    const isGood = mcp.check
    let isOver = false
    mcp.check = async (token) => !isOver && (await isGood(token))
    isOver = true
    const gate = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    oauth.hold = async () => {
      asked.resolve()
      await gate.promise
    }
    const checked = service.post(`/api/connectors/${connectorId}/test`, {}, { key: owner.key })
    await asked.promise
    const revoked = oauth.asked.filter((one) => one === 'POST /token/revocation').length
    const path = `/api/connectors/${connectorId}`
    if (end === 'delete') await expectStatus(200, service.request('DELETE', path, { key: owner.key }))
    else await expectStatus(200, service.request('PATCH', path, { key: owner.key, body: { url: `${mcp.url}/new` } }))
    gate.resolve()
    oauth.hold = undefined
    expect((await checked).status).toBe(end === 'delete' ? 404 : 200)
    expect(await service.app.store.grants.get({ userId: owner.userId, connectorId })).toBeUndefined()
    // Revokes both the earlier tokens and the new ones.
    expect(oauth.asked.filter((one) => one === 'POST /token/revocation')).toHaveLength(revoked + 2)
    if (end === 'url') expect(await read(service, owner, connectorId)).toMatchObject({ status: 'needs_sign_in' })
    mcp.check = isGood
  }
  await world.stop()
})

test('revokes tokens of a sign-in if the URL of its connector changed during the sign-in', async () => {
  const world = await startSignInWorld()
  const { mcp, oauth, service } = world
  const owner = await createOwner(service)
  const connectorId = await createConnector(world, owner)
  const back = await comeBack(owner, await begin(service, owner, connectorId), service)
  const gate = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  oauth.hold = async () => {
    asked.resolve()
    await gate.promise
  }
  const ended = endOf(owner, back)
  await asked.promise
  const body = { url: `${mcp.url}/new` }
  await expectStatus(200, service.request('PATCH', `/api/connectors/${connectorId}`, { key: owner.key, body }))
  gate.resolve()
  expect(await ended).toBe('expired')
  expect(await service.app.store.grants.get({ userId: owner.userId, connectorId })).toBeUndefined()
  expect(oauth.asked.filter((one) => one === 'POST /token/revocation')).toHaveLength(1)
  expect(await read(service, owner, connectorId)).toMatchObject({ status: 'needs_sign_in' })
  await world.stop()
})
