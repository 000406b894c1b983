import { expect, test } from 'vitest'
import { Browser, password } from '../api/browser-login.ts'
import { expectStatus, signIn, signUp, signUpAdmin } from '../api/signed-in.ts'
import { engine } from '../support/test-engine.ts'
import { resolveLimits } from '../../server/app/config.ts'
import type { TestService } from '../support/test-service.ts'
import { startNodes } from './start-nodes.ts'

const noRate = { limits: { executionsPerMinute: 0 } }

async function startTwo() {
  const { nodes, ...more } = await startNodes(noRate, noRate)
  const [first, second] = nodes as [TestService, TestService]
  return { first, second, ...more }
}

/** Returns a browser with the same login on another node, as behind a load balancer. */
function elsewhere(browser: Browser, service: TestService): Browser {
  const other = new Browser(service)
  for (const [name, value] of browser.cookies) other.cookies.set(name, value)
  return other
}

test('a key works on every node once created, and on none once revoked', async () => {
  const { first, second, stop } = await startTwo()
  const { browser } = await signUp(first)
  for (let round = 0; round < 5; round++) {
    const made = await expectStatus(200, browser.post('/api/keys', { name: `key ${round}` }))
    expect((await second.get('/api/account', made.key)).status).toBe(200)
    await expectStatus(200, elsewhere(browser, second).delete(`/api/keys/${made.id}`))
    expect((await first.get('/api/account', made.key)).status).toBe(401)
    expect((await second.get('/api/account', made.key)).status).toBe(401)
  }
  await stop()
})

test('a login works on every node until a logout, suspension or password change on any node', async () => {
  const { first, second, stop } = await startTwo()
  const person = await first.createPerson({ password })
  const { email, key, userId } = person
  const browser = await Browser.loggedIn(first, { email, password })
  expect(await elsewhere(browser, second).status()).toBe(200)
  const copy = elsewhere(browser, second)
  await expectStatus(200, browser.post('/api/logout', {}))
  expect(await copy.status()).toBe(401)

  const [one, two] = [await signIn(first, userId), await signIn(second, userId)]
  const change = { currentPassword: password, newPassword: 'another horse battery' }
  await expectStatus(200, two.request('POST', '/api/account/password', { body: change }))
  expect(await one.status()).toBe(401)
  expect(await elsewhere(two, first).status()).toBe(200)

  const admin = await signUpAdmin(second)
  const suspend = (isSuspended: boolean) =>
    expectStatus(200, admin.browser.request('PATCH', `/api/users/${userId}`, { body: { isSuspended } }))
  await suspend(true)
  expect(await elsewhere(two, first).status()).toBe(401)
  expect((await first.get('/api/account', key)).status).toBe(403)
  expect((await first.createTask(key, 'test.echo')).status).toBe(403)
  await suspend(false)
  expect((await first.createTask(key, 'test.echo')).status).toBe(200)
  await stop()
})

test('a link signed by one node is valid on the other', async () => {
  const { first, second, stop } = await startTwo()
  const { key } = await first.createPerson()
  const task = await first.runTask(key, 'test.large', { chars: 20_000 })
  const { responseUri } = (await second.get(`/api/tasks/${task.id}`, key)).body
  for (const uri of [task.responseUri, responseUri]) {
    const { pathname, search } = new URL(uri)
    for (const node of [first, second]) {
      const answer = await node.get(pathname + search)
      expect([answer.status, answer.body.text?.length]).toEqual([200, 20_000])
      expect((await node.get(pathname + search.slice(0, -1))).status).toBe(403)
    }
  }
  await stop()
})

test('a credit from another process counts on all nodes immediately', async () => {
  const { databaseOf, first, second, stop } = await startTwo()
  const { key, userId } = await first.createPerson({ balanceUsd: '0' })
  expect((await second.createTask(key, 'test.echo')).status).toBe(403)
  const command = await engine().openBeside(databaseOf, resolveLimits({}, {}))
  await command.credit({ userId, amount: 100, description: 'Beside', idempotencyKey: null })
  expect((await second.createTask(key, 'test.echo')).status).toBe(200)
  expect((await first.createTask(key, 'test.echo')).status).toBe(403)
  await command.close()
  await stop()
})
