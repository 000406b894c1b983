import { afterEach, expect, test } from 'vitest'
import { AutoRecharge } from '../../server/payments/auto-recharge.ts'
import { rechargePauseMs } from '../../server/store/payments/payment-types.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startPaying, stopPaying } from './paying.ts'

afterEach(stopPaying)

// Recharges happen only when the test calls `look`; a real service checks every 15 s.

const recharge = { belowUsd: '5', toUsd: '25', monthlyMaxUsd: '45' }

async function start(limits: { rechargeMonthlyMaxUsd?: number } = {}) {
  const clock = new FakeClock(Date.UTC(2026, 2, 10))
  const paying = await startPaying({ clock, limits })
  const { begin, person, service, stub, tell, updateByLogin: update } = paying
  stub.now = () => clock.now()
  const lookLater = () => {
    clock.advance(rechargePauseMs)
    return look()
  }
  const look = () => {
    // Lists are newest first, so each top-up needs a time of its own.
    clock.advance(1)
    return new AutoRecharge(service.app.services.payments).look()
  }
  const spend = (amount: number) =>
    service.app.store.credit({ userId: person.userId, amount: -amount, description: 'Spent', idempotencyKey: null })
  const topups = async () => (await service.get('/api/topups', person.key)).body.topups
  const save = async () => {
    const topup = await begin('10.00', { savesMethod: true })
    await tell(stub.pay(stub.sessionOf(topup.id)))
  }
  return { ...paying, clock, look, lookLater, save, spend, topups, update }
}

test('recharges a low balance to its target once, within the monthly maximum', async () => {
  const { account, clock, look, lookLater, person, save, service, spend, stub, tell, topups, update } = await start()
  expect(await update({ autoRecharge: recharge })).toMatchObject({ status: 409 })
  await save()
  for (const [field, wrong] of [
    ['belowUsd', { belowUsd: '0' }],
    ['toUsd', { toUsd: '5' }],
    ['toUsd', { toUsd: '1000.01' }],
    ['monthlyMaxUsd', { monthlyMaxUsd: '1' }],
    ['monthlyMaxUsd', { monthlyMaxUsd: '1000.01' }],
  ] as const) {
    const refused = await update({ autoRecharge: { ...recharge, ...wrong } })
    expect(refused).toMatchObject({ status: 400, body: { details: [{ path: `autoRecharge.${field}` }] } })
  }
  expect((await update({ autoRecharge: recharge })).body.payments).toMatchObject({
    savedMethod: 'visa 4242',
    autoRecharge: { belowUsd: '5.0000', toUsd: '25.0000', monthlyMaxUsd: '45.0000' },
  })
  await look()
  expect(await topups()).toHaveLength(1)
  await spend(60_050)
  await Promise.all([look(), look()])
  // The amount charged was rounded up to whole cents.
  expect(await account()).toMatchObject({ balanceUsd: '25.0050' })
  expect(await topups()).toMatchObject([{ isAuto: true, status: 'paid', amountUsd: '21.0100' }, { isAuto: false }])
  for (const event of stub.events) await tell(event)
  expect(await account()).toMatchObject({ balanceUsd: '25.0050' })
  await spend(250_000)
  await look()
  expect(await topups()).toHaveLength(2)
  await lookLater()
  expect((await topups())[0]).toMatchObject({ amountUsd: '23.9900' })
  await spend(239_900)
  await lookLater()
  expect(await topups()).toHaveLength(3)
  clock.advance(31 * 86_400_000)
  await look()
  expect((await topups())[0]).toMatchObject({ status: 'paid', amountUsd: '25.0000' })
  const removed = await service.request('DELETE', '/api/account/payment-method', { key: person.key })
  expect(removed.status).toBe(200)
  expect((await account()).payments).toMatchObject({ savedMethod: null, autoRecharge: null })
  expect(stub.asked.at(-1)).toMatch(/^POST .*\/detach$/)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
})

test.each([
  ['declines', 'insufficient_funds'],
  ['needs-authentication', 'authentication_required'],
] as const)('a card that %s disables auto-recharge and stores the reason', async (card, reason) => {
  const { account, look, save, spend, stub, topups, update } = await start()
  await save()
  await update({ autoRecharge: recharge })
  await spend(60_000)
  stub.card = card
  await look()
  stub.card = 'accepts'
  await look()
  expect((await account()).payments).toMatchObject({ autoRecharge: null, autoRechargeOffReason: reason })
  expect(await topups()).toMatchObject([{ isAuto: true, status: 'failed' }, { isAuto: false }])
  expect(stub.asked.filter((asked) => asked === 'POST /v1/payment_intents')).toHaveLength(1)
  await update({ autoRecharge: recharge })
  expect((await account()).payments.autoRechargeOffReason).toBeNull()
  await look()
  expect(await account()).toMatchObject({ balanceUsd: '25.0000' })
})

test('a charge with a lost response or interrupted by a crash is made once', async () => {
  const { account, clock, look, person, save, service, spend, stub, topups, update } = await start()
  await save()
  await update({ autoRecharge: recharge })
  await spend(60_000)
  stub.losesAnswers = true
  await look()
  expect(await topups()).toMatchObject([{ isAuto: true, status: 'open' }, {}])
  stub.losesAnswers = false
  await look()
  expect(await account()).toMatchObject({ balanceUsd: '4.0000' })
  clock.advance(61_000)
  await look()
  expect(await account()).toMatchObject({ balanceUsd: '25.0000' })
  expect([...stub.intents.values()].filter(({ metadata }) => metadata['errand_auto'])).toHaveLength(1)
  // Simulates a process that dies after it writes the row and before it sends the request to the provider.
  await spend(250_000)
  clock.advance(rechargePauseMs)
  const { payments } = service.app.store
  const due = await payments.beginRecharge({
    userId: person.userId,
    topupId: 'top_crashed',
    least: 1,
    most: 1e7,
    monthlyMax: 1e7,
  })
  expect(due).toMatchObject({ isNew: true, topup: { id: 'top_crashed' } })
  clock.advance(61_000)
  await look()
  expect((await topups())[0]).toMatchObject({ id: 'top_crashed', status: 'paid' })
  // After a day the provider has forgotten the idempotency key, so the service abandons a recharge that was not
  // charged.
  clock.advance(31 * 86_400_000)
  await spend(235_000)
  await payments.beginRecharge({ userId: person.userId, topupId: 'top_old', least: 1, most: 1e7, monthlyMax: 1e7 })
  clock.advance(86_400_000)
  await look()
  expect((await topups())[0]).toMatchObject({ id: 'top_old', status: 'expired' })
  expect([...stub.intents.values()].filter(({ metadata }) => metadata['errand_auto'])).toHaveLength(2)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
}, 60_000)

test.each(['switched off', 'the method is taken away', 'suspended'] as const)(
  'a charge interrupted by a crash is not made once auto-recharge is disallowed: %s',
  async (what) => {
    const { account, clock, look, person, save, service, spend, stub, topups, update } = await start()
    await save()
    await update({ autoRecharge: recharge })
    await spend(60_000)
    const { payments } = service.app.store
    await payments.beginRecharge({
      userId: person.userId,
      topupId: 'top_crashed',
      least: 1,
      most: 1e7,
      monthlyMax: 1e7,
    })
    if (what === 'switched off') await update({ autoRecharge: null })
    if (what === 'suspended') await service.app.store.updateUser({ userId: person.userId, isSuspended: true })
    if (what === 'the method is taken away') {
      await service.request('DELETE', '/api/account/payment-method', { key: person.key })
      // The new card has not been approved for auto-recharge.
      await save()
    }
    clock.advance(61_000)
    await look()
    expect(stub.asked).not.toContain('POST /v1/payment_intents')
    if (what === 'suspended') await service.app.store.updateUser({ userId: person.userId, isSuspended: false })
    const auto = (await topups()).filter(({ isAuto }: { isAuto: boolean }) => isAuto)
    expect(auto).toMatchObject([{ status: 'expired' }])
    // After that, recharging may resume.
    if (what !== 'suspended') await update({ autoRecharge: recharge })
    if (what === 'the method is taken away') await spend(100_000)
    await look()
    expect(await account()).toMatchObject({ balanceUsd: '25.0000' })
    expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  },
)

test('a disputed payment disables auto-recharge instead of recharging the missing amount', async () => {
  const { account, look, lookLater, save, service, spend, stub, tell, topups, update } = await start()
  await save()
  await update({ autoRecharge: recharge })
  await spend(60_000)
  await look()
  const [auto] = await topups()
  const { id, withdrawn } = stub.dispute(stub.intentOf(auto.id))
  await tell(withdrawn)
  await look()
  expect(await topups()).toHaveLength(2)
  expect(await account()).toMatchObject({
    balanceUsd: '4.0000',
    payments: { autoRecharge: null, autoRechargeOffReason: 'disputed' },
  })
  for (const event of stub.endDispute(id, 'won')) await tell(event)
  expect(await account()).toMatchObject({ balanceUsd: '25.0000', payments: { autoRecharge: null } })
  await update({ autoRecharge: recharge })
  await spend(210_000)
  await lookLater()
  expect(await topups()).toHaveLength(3)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
})

test('waits for a slow payment before charging again, and never charges a suspended user', async () => {
  const { account, clock, look, person, save, service, spend, stub, tell, update } = await start()
  await save()
  await update({ autoRecharge: recharge })
  await spend(60_000)
  await service.app.store.updateUser({ userId: person.userId, isSuspended: true })
  await look()
  expect(stub.asked).not.toContain('POST /v1/payment_intents')
  await service.app.store.updateUser({ userId: person.userId, isSuspended: false })
  stub.card = 'processes'
  await look()
  clock.advance(61_000)
  await look()
  const auto = [...stub.intents.values()].find(({ metadata }) => metadata['errand_auto'])!
  expect(await account()).toMatchObject({ balanceUsd: '4.0000' })
  Object.assign(auto, { status: 'succeeded', amount_received: auto.amount })
  await tell(stub.event('payment_intent.succeeded', auto))
  expect(await account()).toMatchObject({ balanceUsd: '25.0000' })
})

test('a key can disable auto-recharge, but only a browser login can enable or change it', async () => {
  const { account, look, person, save, service, spend, stub, update } = await start()
  await save()
  const byKey = (body: object) => service.request('PATCH', '/api/account', { key: person.key, body })
  const refused = await byKey({ autoRecharge: recharge, notifyBelowUsd: '3' })
  expect(refused).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
  expect(refused.body.message).toContain('browser login')
  expect(await account()).toMatchObject({ notifyBelowUsd: null, payments: { autoRecharge: null } })
  expect((await update({ autoRecharge: recharge })).status).toBe(200)
  expect((await byKey({ autoRecharge: { ...recharge, monthlyMaxUsd: '500' } })).status).toBe(403)
  expect((await account()).payments).toMatchObject({ autoRecharge: { monthlyMaxUsd: '45.0000' } })
  expect(await byKey({ notifyBelowUsd: '3' })).toMatchObject({ status: 200 })
  expect((await byKey({ autoRecharge: null })).body.payments).toMatchObject({ autoRecharge: null })
  await spend(60_000)
  await look()
  expect(stub.asked).not.toContain('POST /v1/payment_intents')
})

test("charges an account at most the service's monthly maximum, with a pause between charges", async () => {
  const paying = await start({ rechargeMonthlyMaxUsd: 60 })
  const { clock, look, lookLater, person, save, service, spend, topups, update } = paying
  await save()
  expect((await update({ autoRecharge: { ...recharge, monthlyMaxUsd: '61' } })).status).toBe(400)
  await update({ autoRecharge: { ...recharge, monthlyMaxUsd: '60' } })
  const drain = async () => {
    const { balance } = (await service.app.store.getAccount(person.userId))!
    if (balance > 0) await spend(balance)
  }
  const charged = async () => {
    const auto = (await topups()).filter(({ isAuto }: { isAuto: boolean }) => isAuto)
    return auto.reduce((sum: number, { amountUsd }: { amountUsd: string }) => sum + Number(amountUsd), 0)
  }
  // A leaked key is used to spend as fast as possible for a minute.
  for (let n = 0; n < 4; n++) {
    await drain()
    await look()
    clock.advance(15_000)
  }
  expect(await charged()).toBe(25)
  for (let n = 0; n < 5; n++) {
    await drain()
    await lookLater()
  }
  expect(await charged()).toBe(60)
})
