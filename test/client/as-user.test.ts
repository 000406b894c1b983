import { expect, test } from 'vitest'
import { createClient, isErrandError } from '../../client/client.ts'
import { PlatformCalls } from '../api/platform-calls.ts'
import { sessionAgents } from '../api/session-calls.ts'
import { startService } from '../support/test-service.ts'

test('a platform creates and credits users, acts for them and issues client tokens', async () => {
  const service = await startService({ config: sessionAgents })
  const { key } = await PlatformCalls.open(service)
  const errand = createClient({ baseUrl: service.url, apiKey: key })
  const ada = await errand.users.getOrCreate({ externalId: 'ada/1, ü' })
  expect(ada).toMatchObject({ created: true, externalId: 'ada/1, ü' })
  expect(await errand.users.getOrCreate({ externalId: 'ada/1, ü' })).toEqual({ ...ada, created: false })
  await errand.users.credit({ userId: ada.id, amountUsd: '5', reason: 'Top-up' }, { idempotencyKey: 'order-1' })
  await errand.users.credit({ userId: ada.id, amountUsd: '5', reason: 'Top-up' }, { idempotencyKey: 'order-1' })
  const bob = await errand.users.getOrCreate({ externalId: 'bob' })

  const asAda = errand.asUser('ada/1, ü')
  expect(await asAda.account.get()).toMatchObject({ userId: ada.id, balanceUsd: '5.0000' })
  const task = await asAda.tasks.run({ endpointId: 'mute.run', params: {} })
  expect(task).toMatchObject({ userId: ada.id, status: 'completed' })
  const { sessionId } = await asAda.sessions.create({ agentId: 'one' })
  const asBob = errand.asUser({ userId: bob.id })
  // Simultaneous reads on behalf of one user share a request, but never one of another user.
  const [ofAda, ofBob] = await Promise.all([asAda.account.get(), asBob.account.get()])
  expect([ofAda.userId, ofBob.userId]).toEqual([ada.id, bob.id])
  expect(await asBob.tasks.get({ taskId: task.id }).catch((error: unknown) => error)).toMatchObject({
    code: 'NOT_FOUND',
  })
  await expect(errand.account.get()).rejects.toMatchObject({ code: 'FORBIDDEN' })

  const { token, id } = await asAda.clientTokens.create({ sessionId, maxCostUsd: '1', expiresInSeconds: 60 })
  const browser = createClient({ baseUrl: service.url, apiKey: token })
  const reply = await browser.chat.text({ sessionId, message: 'Hello' })
  expect(reply.text).toBe('0: Hello')
  expect((await browser.sessions.messages({ sessionId })).total).toBe(2)
  expect((await asAda.account.get()).balanceUsd).toBe('4.9800')
  await expect(browser.tasks.list()).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await asAda.clientTokens.revoke({ tokenId: id })
  await expect(browser.sessions.get({ sessionId })).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  await service.stop()
})

test('credits a user by external id, and creates the user if there is none', async () => {
  const service = await startService({ config: sessionAgents })
  const { key } = await PlatformCalls.open(service)
  const errand = createClient({ baseUrl: service.url, apiKey: key })
  const credit = (idempotencyKey: string) =>
    errand.users.credit({ externalId: 'ada/1', amountUsd: '5', reason: 'Top-up' }, { idempotencyKey })
  const [first, same] = await Promise.all([credit('order-1'), credit('order-1')])
  expect(same).toEqual(first)
  const { data, status } = await errand.users
    .credit({ externalId: 'ada/1', amountUsd: '1', reason: 'Gift' })
    .withResponse()
  expect([status, data.balanceUsd]).toEqual([200, '6.0000'])
  expect(await errand.asUser('ada/1').account.get()).toMatchObject({ balanceUsd: '6.0000' })
  await service.stop()
})

test.each(['', '\ud800', { userId: 'a b' }, {}, null, 7])('asUser rejects %j', (user) => {
  const errand = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'key' })
  try {
    errand.asUser(user as string)
    expect.unreachable()
  } catch (error) {
    expect(isErrandError(error) && error.code).toBe('INVALID_ARGUMENT')
  }
})
