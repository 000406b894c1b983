import { afterEach, expect, test } from 'vitest'
import { reconcilePayments } from '../../server/payments/reconcile-payments.ts'
import { startPaying, stopPaying } from './paying.ts'

afterEach(stopPaying)

test('what the provider knows and we do not is named, and taken in where it is asked for', async () => {
  const { account, begin, service, stub, tell } = await startPaying()
  const parts = service.app.services.payments
  const reconcile = (applies: boolean) => reconcilePayments(parts, { applies, days: 7 })
  const [lost, known, open, odd] = [
    await begin('10.00'),
    await begin('20.00'),
    await begin('5.00'),
    await begin('6.00'),
  ]
  stub.pay(stub.sessionOf(lost.id))
  await tell(stub.pay(stub.sessionOf(known.id)))
  expect(await reconcile(false)).toMatchObject({
    events: 2,
    topups: 4,
    // Its event and its state say the same.
    differences: [{ topupId: lost.id, what: expect.stringMatching(/^is paid at .* and open here/) }],
  })
  stub.refund(stub.intentOf(known.id), 700)
  stub.dispute(stub.intentOf(lost.id), 300)
  expect(await account()).toMatchObject({ balanceUsd: '20.0000' })
  const { differences } = await reconcile(true)
  expect(differences.filter(({ isApplied }) => !isApplied)).toEqual([])
  expect(differences.map(({ topupId, what }) => [topupId, what])).toEqual([
    [lost.id, expect.stringContaining('is paid at the provider')],
    [known.id, '7.0000 USD was refunded, and 0.0000 here'],
    [lost.id, '3.0000 USD is disputed, and 0.0000 here'],
  ])
  expect(await account()).toMatchObject({ balanceUsd: '20.0000' })
  expect((await reconcile(true)).differences).toEqual([])
  // An event of another amount is named each time, and never applied.
  const session = stub.sessionOf(odd.id)
  stub.pay(session)
  session.amount_total = 999_999
  stub.event('checkout.session.completed', session)
  const named = await reconcile(true)
  expect(named.differences).toContainEqual(
    expect.objectContaining({ topupId: odd.id, what: expect.stringContaining('another amount'), isApplied: false }),
  )
  expect((await service.get(`/api/topups/${open.id}`, null)).status).toBe(401)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
})
