import { afterEach, expect, test } from 'vitest'
import { reconcilePayments } from '../../server/payments/reconcile-payments.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startPaying, stopPaying } from './paying.ts'

afterEach(stopPaying)

const dayMs = 86_400_000

async function start() {
  const clock = new FakeClock(Date.UTC(2026, 2, 10))
  const paying = await startPaying({ clock })
  paying.stub.now = () => clock.now()
  const parts = paying.service.app.services.payments
  const reconcile = (applies: boolean, days = 7) => reconcilePayments(parts, { applies, days })
  return { ...paying, clock, reconcile }
}

test('reports differences with the provider and applies them only with --apply', async () => {
  const { account, begin, reconcile, service, stub, tell } = await start()
  const [lost, known, open, odd] = [
    await begin('10.00'),
    await begin('20.00'),
    await begin('5.00'),
    await begin('6.00'),
  ]
  stub.pay(stub.sessionOf(lost.id))
  await tell(stub.pay(stub.sessionOf(known.id)))
  expect(await reconcile(false)).toEqual({
    topups: 4,
    differences: [
      expect.objectContaining({
        topupId: lost.id,
        what: expect.stringMatching(/^is paid at .* but open in this database/),
      }),
    ],
  })
  stub.refund(stub.intentOf(known.id), 700)
  stub.dispute(stub.intentOf(lost.id), 300)
  expect(await account()).toMatchObject({ balanceUsd: '20.0000' })
  const { differences } = await reconcile(true)
  expect(differences.filter(({ isApplied }) => !isApplied)).toEqual([])
  expect(Object.fromEntries(differences.map(({ topupId, what }) => [topupId, what]))).toEqual({
    [lost.id]: expect.stringMatching(
      /is paid at the provider.*3\.0000 USD is disputed at the provider but 0\.0000 USD in this database/,
    ),
    [known.id]: '7.0000 USD was refunded at the provider but 0.0000 USD in this database',
  })
  expect(await account()).toMatchObject({ balanceUsd: '20.0000' })
  expect((await reconcile(true)).differences).toEqual([])
  // This difference is reported every time but never applied.
  stub.pay(stub.sessionOf(odd.id))
  stub.intentOf(odd.id).amount_received = 999_999
  expect((await reconcile(true)).differences).toEqual([
    expect.objectContaining({ topupId: odd.id, what: expect.stringContaining('another amount'), isApplied: false }),
  ])
  expect((await service.get(`/api/topups/${open.id}`, null)).status).toBe(401)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
})

test("finds an old payment's dispute even after the provider has deleted its event", async () => {
  const { account, begin, clock, reconcile, stub, tell } = await start()
  const topup = await begin('10.00')
  await tell(stub.pay(stub.sessionOf(topup.id)))
  clock.advance(60 * dayMs)
  stub.dispute(stub.intentOf(topup.id), 400)
  clock.advance(60 * dayMs)
  // The provider retains events for 30 days.
  stub.events.splice(0)
  expect((await reconcile(true, 30)).differences).toEqual([])
  expect((await reconcile(true, 121)).differences).toMatchObject([{ topupId: topup.id, isApplied: true }])
  expect(await account()).toMatchObject({ balanceUsd: '6.0000' })
})

test('reports a paid top-up missing from a restored backup and credits it once', async () => {
  const before = await start()
  const after = await start()
  const { stub } = before
  const paying = await before.begin('10.00')
  const unpaid = await before.begin('5.00')
  await before.tell(stub.pay(stub.sessionOf(paying.id)))
  stub.refund(stub.intentOf(paying.id), 100)
  // The database of `after` uses the same provider but does not contain this top-up.
  for (const name of ['sessions', 'intents', 'refunds', 'disputes'] as const) {
    for (const [id, object] of stub[name]) (after.stub[name] as Map<string, object>).set(id, object)
  }
  const intent = after.stub.intentOf(paying.id)
  const missing = { topupId: paying.id, userId: before.person.userId, isApplied: false }
  expect((await after.reconcile(true)).differences).toEqual([
    { ...missing, what: expect.stringMatching(/missing from this database\. The account \S+ is missing too/) },
  ])
  delete intent.metadata['errand_user']
  expect((await after.reconcile(true)).differences).toEqual([
    {
      ...missing,
      userId: null,
      what: expect.stringMatching(/missing from this database\. The payment does not name an account/),
    },
  ])
  const { userId } = after.person
  intent.metadata['errand_user'] = userId
  expect((await after.reconcile(false)).differences).toEqual([
    { ...missing, userId, what: 'is paid at the provider (10.0000 USD) but missing from this database' },
  ])
  expect(await after.account()).toMatchObject({ balanceUsd: '0.0000' })
  const applied = await Promise.all([after.reconcile(true), after.reconcile(true)])
  expect(applied.flatMap(({ differences }) => differences)).toMatchObject([{ isApplied: true }, { isApplied: true }])
  expect((await after.reconcile(true)).differences).toEqual([])
  // When the late event arrives, the top-up is already credited.
  await after.tell(stub.event('payment_intent.succeeded', intent))
  expect(await after.account()).toMatchObject({ balanceUsd: '9.0000' })
  const { topups } = (await after.service.get('/api/topups', after.person.key)).body
  expect(topups).toMatchObject([{ id: paying.id, status: 'paid', refundedUsd: '1.0000' }])
  expect(topups).not.toContainEqual(expect.objectContaining({ id: unpaid.id }))
  expect(await after.service.app.store.verifyLedger()).toMatchObject({ ok: true })
})
