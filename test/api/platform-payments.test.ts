import { afterEach, expect, test } from 'vitest'
import { AutoRecharge } from '../../server/payments/auto-recharge.ts'
import type { PlatformScope } from '../../server/store/platform/platform-types.ts'
import { startReceiver } from '../webhooks/receiver.ts'
import { startPaying, stopPaying } from './paying.ts'
import { PlatformCalls } from './platform-calls.ts'
import { expectStatus } from './signed-in.ts'

afterEach(stopPaying)

const autoRecharge = { belowUsd: '5', toUsd: '25', monthlyMaxUsd: '45' }

async function start(options: Parameters<typeof startPaying>[0] = {}) {
  const paying = await startPaying({ privateHosts: ['127.0.0.1'], ...options })
  const platform = await PlatformCalls.open(paying.service)
  const userId = await platform.newUser('customer-1', '10')
  const update = (body: object, by = platform) => by.call('PATCH', '/api/account', { body, user: 'ext:customer-1' })
  const removeMethod = (by = platform) => by.call('DELETE', '/api/account/payment-method', { user: 'ext:customer-1' })
  const account = async () => (await platform.get('/api/account', 'ext:customer-1')).body
  const saveMethod = async (body: object = {}) => {
    const draft = { amountUsd: '10.00', savesMethod: true, ...body }
    const topup = await expectStatus(200, platform.post('/api/topups', draft, { user: 'ext:customer-1' }))
    await paying.tell(paying.stub.pay(paying.stub.sessionOf(topup.id)))
    return topup
  }
  return { ...paying, account, platform, removeMethod, saveMethod, update, userId }
}

test("a product saves its user's payment method, recharges the balance, and removes the method", async () => {
  const { account, platform, removeMethod, saveMethod, service, stub, update, userId, person } = await start()
  const receiver = await startReceiver()
  await platform.post('/api/webhooks', { url: receiver.url, types: ['balance.low', 'payment.succeeded'] })
  expect(await update({ autoRecharge })).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
  const topup = await saveMethod({ returnUrl: 'https://app.example.com/paid' })
  expect(stub.sessionOf(topup.id).success_url).toBe(`https://app.example.com/paid?topup=${topup.id}`)
  const wrong = await update({ autoRecharge: { ...autoRecharge, toUsd: '5' }, notifyBelowUsd: '8' })
  expect(wrong).toMatchObject({ status: 400, body: { details: [{ path: 'autoRecharge.toUsd' }] } })
  expect(await account()).toMatchObject({ balanceUsd: '20.0000', notifyBelowUsd: null })
  const set = await expectStatus(200, update({ autoRecharge, notifyBelowUsd: '8' }))
  expect(set).toMatchObject({
    userId,
    notifyBelowUsd: '8.0000',
    payments: { savedMethod: 'visa 4242', autoRecharge: { toUsd: '25.0000' } },
  })
  await service.app.store.credit({ userId, amount: -160_000, description: 'Spent', idempotencyKey: null })
  await new AutoRecharge(service.app.services.payments).look()
  expect(await account()).toMatchObject({ balanceUsd: '25.0000' })
  const bodies = (await receiver.waitFor(3)).map(({ body }) => JSON.parse(body))
  const of = { userId, externalId: 'customer-1' }
  expect(bodies).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ ...of, type: 'balance.low', data: { balanceUsd: '4.0000', notifyBelowUsd: '8.0000' } }),
      expect.objectContaining({ ...of, type: 'payment.succeeded' }),
    ]),
  )
  await expectStatus(200, removeMethod())
  expect(await account()).toMatchObject({ payments: { savedMethod: null, autoRecharge: null } })
  expect(stub.asked.at(-1)).toMatch(/^POST .*\/detach$/)
  expect((await service.get('/api/account', person.key)).body).toMatchObject({
    balanceUsd: '0.0000',
    notifyBelowUsd: null,
  })
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await receiver.stop()
})

test('without the scopes act and pay, nothing about payments can be changed', async () => {
  const { account, platform, removeMethod, saveMethod, service, update } = await start()
  await saveMethod()
  await expectStatus(200, update({ autoRecharge, notifyBelowUsd: '8' }))
  const before = await account()
  const scopes: PlatformScope[][] = [
    ['act', 'users', 'credit', 'limits', 'webhooks'],
    ['pay', 'users'],
  ]
  for (const some of scopes) {
    const unscoped = await PlatformCalls.open(service, { scopes: some })
    for (const body of [{ autoRecharge: null }, { notifyBelowUsd: null }]) {
      expect(await update(body, unscoped)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
    }
    expect(await removeMethod(unscoped)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
  }
  // A page could otherwise charge the card again and again.
  const page = { scopes: ['read', 'execute', 'pay'] }
  const { token } = await expectStatus(200, platform.post('/api/client-tokens', page, { user: 'ext:customer-1' }))
  const sent = { key: token, body: { autoRecharge } }
  for (const answer of [
    await service.request('PATCH', '/api/account', sent),
    await service.request('DELETE', '/api/account/payment-method', { key: token }),
    await platform.call('PATCH', '/api/account', { body: { notifyBelowUsd: '1' } }),
  ]) {
    expect(answer).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
  }
  expect(await account()).toEqual(before)
})
