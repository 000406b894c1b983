import { afterEach, expect, test } from 'vitest'
import { AutoRecharge } from '../../server/payments/auto-recharge.ts'
import { Browser, password } from './browser-login.ts'
import { startPaying, stopPaying } from './paying.ts'
import { PlatformCalls } from './platform-calls.ts'
import { expectStatus } from './signed-in.ts'

afterEach(stopPaying)

const refused = {
  status: 503,
  body: {
    code: 'SERVICE_UNAVAILABLE',
    message:
      'Could not remove the saved payment method at the payment provider. Nothing was erased. Try again later. If it can never be removed, an admin can erase the user with leaveSavedMethod.',
  },
}

/** Starts a service in which two persons have a saved card with auto-recharge. */
async function start() {
  const paying = await startPaying()
  const { service, stub, tell } = paying
  const save = async ({ key, userId }: { key: string; userId: string }) => {
    const draft = { amountUsd: '10.00', savesMethod: true }
    const topup = await expectStatus(200, service.post('/api/topups', draft, { key }))
    await tell(stub.pay(stub.sessionOf(topup.id)))
    const recharge = { below: 50_000, to: 250_000, monthlyMax: 450_000 }
    await service.app.store.payments.setRecharge({ userId, recharge })
    return stub.intentOf(topup.id).payment_method!
  }
  const admin = await service.createPerson({ isAdmin: true, password })
  const person = await service.createPerson({ balanceUsd: '0', password })
  return { ...paying, admin, person, save }
}

// Stripe's client retries after 500, but not after 401.
test.each([
  ['the person', 500],
  ['an admin', 401],
] as const)('an erasure by %s removes the saved card at the provider first, or erases nothing', async (by, failure) => {
  const { admin, person, save, service, stub } = await start()
  const methodId = await save(person)
  const isOwn = by === 'the person'
  const browser = await Browser.loggedIn(service, { email: isOwn ? person.email : admin.email, password })
  const path = isOwn ? '/api/account/erase' : `/api/users/${person.userId}/erase`
  const erase = (forfeitBalanceUsd: string) => browser.post(path, { forfeitBalanceUsd, ...(isOwn && { password }) })
  expect(await erase('9')).toMatchObject({ status: 409 })
  const account = async () => (await service.get('/api/account', person.key)).body
  expect((await account()).payments).toMatchObject({ savedMethod: 'visa 4242', autoRecharge: { toUsd: '25.0000' } })

  stub.failure = failure
  expect(await erase('10')).toMatchObject(refused)
  expect(await account()).toMatchObject({
    balanceUsd: '10.0000',
    payments: { savedMethod: 'visa 4242', autoRecharge: null },
  })
  expect([...stub.detached]).toEqual([])
  stub.failure = undefined
  await expectStatus(200, erase('10'))
  expect([...stub.detached]).toEqual([methodId])
  const { payments } = service.app.store
  expect(await payments.getAccount(person.userId)).toMatchObject({ methodId: null, recharge: null })
  await new AutoRecharge(service.app.services.payments).look()
  expect(stub.asked).not.toContain('POST /v1/payment_intents')
  expect((await service.get('/api/account', person.key)).status).toBe(401)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
})

test('with leaveSavedMethod, an admin erases a user whose card cannot be removed, and learns what remains', async () => {
  const { admin, person, save, service, stub } = await start()
  const methodId = await save(person)
  const { customerId } = await service.app.store.payments.getAccount(person.userId)
  const browser = await Browser.loggedIn(service, { email: admin.email, password })
  const path = `/api/users/${person.userId}/erase`
  const body = { forfeitBalanceUsd: '10', leaveSavedMethod: true }
  stub.failure = 401
  expect(await browser.post(path, { ...body, leaveSavedMethod: 'yes' })).toMatchObject({ status: 400 })
  expect(await browser.post(path, { ...body, leaveSavedMethod: false })).toMatchObject(refused)
  const platform = await PlatformCalls.open(service, { scopes: ['users'] })
  expect(await platform.post(path, body)).toMatchObject({
    status: 403,
    body: { message: 'A platform key cannot leave a saved payment method. Omit leaveSavedMethod.' },
  })
  const own = await Browser.loggedIn(service, { email: person.email, password })
  expect(await own.post('/api/account/erase', { ...body, password })).toMatchObject(refused)
  expect((await service.get('/api/account', person.key)).body).toMatchObject({ balanceUsd: '10.0000' })

  const leftMethod = { customerId, methodId }
  expect(await expectStatus(200, browser.post(path, body))).toMatchObject({ id: person.userId, leftMethod })
  expect(await expectStatus(200, browser.post(path, body))).toMatchObject({ leftMethod: null })
  expect([...stub.detached]).toEqual([])
  const { store } = service.app
  const { acts } = await store.audit.list({ userId: person.userId, action: 'user.erased', limit: 9 })
  expect(acts.map(({ change }) => JSON.parse(change))).toEqual([{ forfeitedUsd: '10.0000', leftMethod }])
  while (await store.erasure.eraseMore(person.userId)) continue
  expect(await store.payments.getAccount(person.userId)).toMatchObject({ customerId: null, methodId: null })
  expect(await store.verifyLedger()).toMatchObject({ ok: true })
})

test('a card of another Stripe account does not count as removed', async () => {
  const { admin, person, save, service, stub } = await start()
  const methodId = await save(person)
  const browser = await Browser.loggedIn(service, { email: admin.email, password })
  const erase = (leaveSavedMethod: boolean) =>
    browser.post(`/api/users/${person.userId}/erase`, { forfeitBalanceUsd: '10', leaveSavedMethod })
  stub.isOtherAccount = true
  expect(await erase(false)).toMatchObject(refused)
  expect(await expectStatus(200, erase(true))).toMatchObject({ leftMethod: { methodId } })
})

test('with leaveSavedMethod, a card that can be removed is removed', async () => {
  const { admin, person, save, service, stub } = await start()
  const methodId = await save(person)
  const browser = await Browser.loggedIn(service, { email: admin.email, password })
  const body = { forfeitBalanceUsd: '10', leaveSavedMethod: true }
  const erased = await expectStatus(200, browser.post(`/api/users/${person.userId}/erase`, body))
  expect([erased.leftMethod, ...stub.detached]).toEqual([null, methodId])
})

test('a card that is saved while another is removed is removed too', async () => {
  const { admin, person, save, service, stub } = await start()
  const first = await save(person)
  const { payments } = service.app.store
  const { forgetMethod } = payments
  let second = ''
  payments.forgetMethod = async (input) => {
    payments.forgetMethod = forgetMethod
    second = await save(person)
    return await payments.forgetMethod(input)
  }
  const browser = await Browser.loggedIn(service, { email: admin.email, password })
  const erase = (forfeitBalanceUsd: string) => browser.post(`/api/users/${person.userId}/erase`, { forfeitBalanceUsd })
  // The second payment has changed the balance.
  expect(await erase('10')).toMatchObject({ status: 409 })
  await expectStatus(200, erase('20'))
  expect([...stub.detached]).toEqual([first, second])
})

test('an erasure that is interrupted after the card is removed can be repeated', async () => {
  const { admin, person, save, service, stub } = await start()
  const methodId = await save(person)
  const { payments } = service.app.store
  const { forgetMethod } = payments
  payments.forgetMethod = () => {
    payments.forgetMethod = forgetMethod
    return Promise.reject(new Error('the process dies here'))
  }
  const browser = await Browser.loggedIn(service, { email: admin.email, password })
  const erase = () => browser.post(`/api/users/${person.userId}/erase`, { forfeitBalanceUsd: '10' })
  expect(await erase()).toMatchObject({ status: 500 })
  expect([...stub.detached]).toEqual([methodId])
  expect((await service.get('/api/account', person.key)).body).toMatchObject({
    balanceUsd: '10.0000',
    payments: { savedMethod: 'visa 4242', autoRecharge: null },
  })
  await expectStatus(200, erase())
  expect((await service.get('/api/account', person.key)).status).toBe(401)
})
