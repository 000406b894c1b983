import { expect, test } from 'vitest'
import { say } from '../../support/chat-agents.ts'
import { unlimited } from '../../runner/task-checks.ts'
import { withRaw } from '../../support/test-engine.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { Browser, password } from '../browser-login.ts'
import { PlatformCalls } from '../platform-calls.ts'
import { expectStatus } from '../signed-in.ts'

const mark = 'zebra'

/** Rows of any table that contain the text, except the ledger's descriptions. */
async function rowsWith({ dataDir }: TestService, text: string): Promise<string[]> {
  return await withRaw(dataDir, async (raw) => {
    const found: string[] = []
    for (const table of await raw.tables()) {
      for (const row of await raw.query(`SELECT * FROM ${table}`)) {
        if (JSON.stringify(row).toLowerCase().includes(text)) found.push(`${table}: ${JSON.stringify(row)}`)
      }
    }
    return found
  })
}

test('a person erases the account: nothing that they wrote remains in the database, and the ledger adds up', async () => {
  const service = await startService({ limits: unlimited })
  await service.createPerson({ isAdmin: true })
  const email = `${mark}@example.com`
  const { key, userId } = await service.createPerson({ email, password })
  const browser = await Browser.loggedIn(service, { email, password })
  const post = (path: string, body: object) => expectStatus(200, browser.post(path, body))
  await post('/api/keys', { name: mark })
  await post('/api/webhooks', { url: `https://${mark}.example.com/`, description: mark })
  // Signs requests to callback URLs of all users.
  const platform = await PlatformCalls.open(service)
  await expectStatus(200, platform.post('/api/webhooks', { url: null }))
  await post('/api/connectors', { name: mark, url: `https://${mark}.example.com/` })
  const task = { endpointId: 'test.echo', params: { text: mark }, tags: { name: mark } }
  const { taskId } = await expectStatus(
    200,
    platform.post('/api/tasks', { ...task, webhookUrl: `https://${mark}.example.com/done` }, { user: userId }),
  )
  await service.runTask(key, 'test.fail', { message: mark })
  await service.runTask(key, 'test.large', { chars: 100_000, mark })
  expect((await service.get(`/api/tasks/${taskId}?wait=20`, key)).body.status).toBe('completed')
  const { sessionId } = await post('/api/sessions', { agentId: 'talk', metadata: { mark }, tags: { mark } })
  const chat = { sessionId, message: mark }
  expect((await service.post('/api/chat', chat, { key })).status).toBe(200)
  expect((await rowsWith(service, mark)).length).toBeGreaterThan(10)

  const { balanceUsd } = (await browser.get('/api/account')).body
  const erase = (body: object) => browser.post('/api/account/erase', body)
  const wrong = await erase({ password: 'not this one', forfeitBalanceUsd: balanceUsd })
  expect([wrong.status, wrong.body.details]).toEqual([
    400,
    [{ path: 'password', message: 'Must be the current password' }],
  ])
  const kept = await erase({ password })
  expect([kept.status, kept.body.message]).toEqual([
    409,
    `The account has ${balanceUsd} USD left. Set forfeitBalanceUsd to "${balanceUsd}" to give it up, or spend it first.`,
  ])
  expect((await browser.get('/api/account')).body.balanceUsd).toBe(balanceUsd)
  await expectStatus(200, erase({ password, forfeitBalanceUsd: balanceUsd }))
  expect((await browser.get('/api/account')).status).toBe(401)
  expect((await service.get('/api/account', key)).status).toBe(401)
  expect((await new Browser(service).logIn({ email, password })).status).toBe(401)
  while (await service.app.store.erasure.eraseMore(userId)) continue
  expect(await rowsWith(service, mark)).toEqual([])
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  expect((await service.app.store.audit.list({ userId, limit: 1 })).acts).toMatchObject([
    { action: 'user.erased', actor: 'user', actorId: userId, client: '127.0.0.1' },
  ])
  await service.stop()
})

test('a running chat blocks the erasure with a message that says what to do', async () => {
  const service = await startService()
  const { email, key } = await service.createPerson({ password, balanceUsd: '1' })
  const browser = await Browser.loggedIn(service, { email, password })
  const { sessionId } = (await service.post('/api/sessions', { agentId: 'talk' }, { key })).body
  const message = say({ do: 'text', delta: 'a' }, { do: 'await-abort' })
  const leaving = new AbortController()
  const chat = await fetch(`${service.url}/api/chat`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ sessionId, message }),
    signal: leaving.signal,
  })
  const answer = await browser.post('/api/account/erase', { password, forfeitBalanceUsd: '1' })
  expect([answer.status, answer.body.message]).toEqual([
    409,
    'The account has tasks or chats in progress. Cancel them or wait until they have ended.',
  ])
  expect((await browser.get('/api/account')).status).toBe(200)
  leaving.abort()
  await chat.text().catch(() => {})
  await service.stop()
})

test('only admins and platform keys erase users, a key cannot erase its own account, and the last admin stays', async () => {
  const service = await startService()
  const admin = await service.createPerson({ password, isAdmin: true })
  const person = await service.createPerson({ balanceUsd: '0' })
  const browser = await Browser.loggedIn(service, { email: admin.email, password })
  expect((await service.post('/api/account/erase', {}, { key: person.key })).status).toBe(403)
  expect((await service.post(`/api/users/${admin.userId}/erase`, {}, { key: person.key })).status).toBe(403)
  const platform = await PlatformCalls.open(service, { scopes: ['users', 'credit'] })
  expect((await platform.post(`/api/users/${admin.userId}/erase`, {})).status).toBe(404)
  const other = await PlatformCalls.open(service, { scopes: ['credit'] })
  expect((await other.post(`/api/users/${person.userId}/erase`, {})).status).toBe(403)
  const own = await browser.post('/api/account/erase', { password, forfeitBalanceUsd: '10' })
  expect([own.status, own.body.message]).toEqual([
    409,
    'This is the last active admin. Make another user an admin first.',
  ])
  const made = await platform.newUser('ada', '2')
  expect((await platform.post(`/api/users/${made}/erase`, { forfeitBalanceUsd: 'x' })).status).toBe(400)
  const erased = await expectStatus(200, platform.post(`/api/users/${made}/erase`, { forfeitBalanceUsd: '2' }))
  expect(erased).toMatchObject({ id: made, externalId: null, isSuspended: true, balanceUsd: '0.0000' })
  expect(erased.erasedAt).toMatch(/Z$/)
  expect(await expectStatus(200, platform.post(`/api/users/${made}/erase`, {}))).toEqual(erased)
  const resumed = await browser.request('PATCH', `/api/users/${made}`, { body: { isSuspended: false } })
  expect([resumed.status, resumed.body.message]).toEqual([409, 'This user was erased and cannot be changed.'])
  expect((await browser.post(`/api/users/${person.userId}/erase`, {})).status).toBe(200)
  expect((await browser.post('/api/users/user_0/erase', {})).status).toBe(404)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})
