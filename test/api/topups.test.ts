import { afterEach, expect, test } from 'vitest'
import { eventsPath, startPaying, stopPaying } from './paying.ts'
import { PlatformCalls } from './platform-calls.ts'
import { sessionAgents } from './session-calls.ts'
import { signUpAdmin } from './signed-in.ts'
import type { StubEvent } from '../payments/stripe-objects.ts'
import { signed } from '../payments/stripe-stub.ts'
import { FakeClock } from '../support/fake-clock.ts'
import type { TestService } from '../support/test-service.ts'
import type { PlatformScope } from '../../server/store/platform/platform-types.ts'

afterEach(stopPaying)

async function ledgerOf(service: TestService) {
  return await service.app.store.verifyLedger()
}

test('disables payments without provider secrets', async () => {
  const { person, service } = await startPaying({ payments: undefined })
  const { key } = person
  expect((await service.get('/api/account', key)).body.payments).toBeNull()
  for (const path of ['/api/topups', '/api/topups/top_1']) expect((await service.get(path, key)).status).toBe(404)
  expect((await service.post('/api/topups', { amountUsd: '10.00' }, { key })).status).toBe(404)
  expect((await service.post(eventsPath, {})).status).toBe(404)
})

test('credits a top-up when the provider reports payment, not when the user returns', async () => {
  const { account, begin, person, service, stub, tell } = await startPaying()
  const topup = await begin('25.50')
  expect(topup).toMatchObject({ status: 'open', amountUsd: '25.5000', receiptUrl: null, refundedUsd: '0.0000' })
  const session = stub.sessionOf(topup.id)
  expect(topup.checkoutUrl).toBe(session.url)
  expect(session).toMatchObject({ amount_total: 2550, currency: 'usd', metadata: { errand_topup: topup.id } })
  expect(session.success_url).toBe(`${service.url}/billing?topup=${topup.id}`)
  await service.get(`/billing?topup=${topup.id}`)
  expect((await account()).balanceUsd).toBe('0.0000')
  expect(await tell(stub.pay(session))).toBe(200)
  expect((await account()).balanceUsd).toBe('25.5000')
  const read = (await service.get(`/api/topups/${topup.id}`, person.key)).body
  expect(read).toMatchObject({ status: 'paid', checkoutUrl: null, receiptUrl: expect.stringContaining('/receipts/') })
  const { topups, total } = (await service.get('/api/topups', person.key)).body
  expect({ topups, total }).toEqual({ topups: [read], total: 1 })
  expect(await ledgerOf(service)).toMatchObject({ ok: true })
})

test('credits a delayed payment when it succeeds, but not if it fails', async () => {
  const { account, begin, stub, tell } = await startPaying()
  const [first, second] = [await begin(), await begin()]
  for (const { id } of [first, second]) await tell(stub.pay(stub.sessionOf(id), { isLater: true }))
  expect((await account()).balanceUsd).toBe('0.0000')
  await tell(stub.settle(stub.sessionOf(first.id), true))
  await tell(stub.settle(stub.sessionOf(second.id), false))
  expect((await account()).balanceUsd).toBe('10.0000')
})

test('refunds and disputes are debited and can cause debt, and a won dispute is credited back', async () => {
  const { account, begin, person, service, stub, tell } = await startPaying()
  const topup = await begin('10.00')
  const paid = stub.pay(stub.sessionOf(topup.id))
  await tell(paid)
  await service.app.store.credit({ userId: person.userId, amount: -60_000, description: 'Spent', idempotencyKey: null })
  const intent = stub.intentOf(topup.id)
  await tell(stub.refund(intent, 200))
  await tell(stub.refund(intent, 100))
  expect(await account()).toMatchObject({ balanceUsd: '1.0000', owedUsd: '0.0000' })
  const { created, id, withdrawn } = stub.dispute(intent, 700)
  await tell(withdrawn)
  await tell(created)
  expect(await account()).toMatchObject({ balanceUsd: '0.0000', owedUsd: '6.0000' })
  const refused = await service.createTask(person.key, 'test.echo', { text: 'Hello' })
  expect(refused).toMatchObject({ status: 403, body: { code: 'INSUFFICIENT_BALANCE' } })
  expect(refused.body.message).toContain('You owe 6.0000 USD')
  for (const event of stub.endDispute(id, 'won')) await tell(event)
  expect(await account()).toMatchObject({ balanceUsd: '1.0000', owedUsd: '0.0000' })
  const read = (await service.get(`/api/topups/${topup.id}`, person.key)).body
  expect(read).toMatchObject({ refundedUsd: '3.0000', disputedUsd: '0.0000' })
  expect(await ledgerOf(service)).toMatchObject({ ok: true })
})

test('a lost dispute keeps the withdrawn money, and later credit pays the debt', async () => {
  const { account, begin, person, service, stub, tell } = await startPaying()
  const topup = await begin('10.00')
  await tell(stub.pay(stub.sessionOf(topup.id)))
  await service.app.store.credit({ userId: person.userId, amount: -60_000, description: 'Spent', idempotencyKey: null })
  const { id, withdrawn } = stub.dispute(stub.intentOf(topup.id), 700)
  await tell(withdrawn)
  const indebted = { balanceUsd: '0.0000', owedUsd: '3.0000' }
  expect(await account()).toMatchObject(indebted)
  for (const event of stub.endDispute(id, 'lost')) await tell(event)
  expect(await account()).toMatchObject(indebted)
  const read = (await service.get(`/api/topups/${topup.id}`, person.key)).body
  expect(read).toMatchObject({ refundedUsd: '0.0000', disputedUsd: '7.0000' })
  await service.app.store.credit({ userId: person.userId, amount: 50_000, description: 'Paid', idempotencyKey: null })
  expect(await account()).toMatchObject({ balanceUsd: '2.0000', owedUsd: '0.0000' })
  expect(await ledgerOf(service)).toMatchObject({ ok: true })
})

test('an event of any kind syncs the full provider state, in any order and repeatedly', async () => {
  const { account, begin, person, service, stub, tell } = await startPaying()
  const topup = await begin('10.00')
  stub.pay(stub.sessionOf(topup.id))
  const intent = stub.intentOf(topup.id)
  const { id, withdrawn } = stub.dispute(intent, 400)
  // The event names a payment that the service does not know yet.
  expect(await tell(withdrawn)).toBe(200)
  expect(await account()).toMatchObject({ balanceUsd: '6.0000', owedUsd: '0.0000' })
  stub.refund(intent, 100)
  stub.endDispute(id, 'won')
  await Promise.all([...stub.events, ...stub.events].toReversed().map((event) => tell(event)))
  expect(await account()).toMatchObject({ balanceUsd: '9.0000', owedUsd: '0.0000' })
  const read = (await service.get(`/api/topups/${topup.id}`, person.key)).body
  expect(read).toMatchObject({ refundedUsd: '1.0000', disputedUsd: '0.0000' })
  expect(await ledgerOf(service)).toMatchObject({ ok: true })
  stub.failure = 500
  const unknown = { ...withdrawn, data: { object: { ...(withdrawn.data.object as object), payment_intent: 'pi_x' } } }
  expect(await tell(unknown)).toBe(503)
}, 60_000)

test('a refund that fails at the provider is credited again', async () => {
  const { account, begin, stub, tell } = await startPaying()
  const topup = await begin('10.00')
  await tell(stub.pay(stub.sessionOf(topup.id)))
  const intent = stub.intentOf(topup.id)
  await tell(stub.refund(intent, 300))
  await tell(stub.refund(intent, 200))
  expect((await account()).balanceUsd).toBe('5.0000')
  expect(await tell(stub.failRefund(intent))).toBe(200)
  expect((await account()).balanceUsd).toBe('7.0000')
})

test('accepts an event only with a valid signature for this body, secret and time', async () => {
  const clock = new FakeClock(Date.now())
  const { account, begin, service, stub, tell } = await startPaying({ clock })
  stub.now = () => clock.now()
  const topup = await begin()
  const paid = stub.pay(stub.sessionOf(topup.id))
  const body = JSON.stringify(paid)
  const now = Math.floor(clock.now() / 1000)
  for (const send of [
    { signature: null },
    { signature: '' },
    { signature: 'v1=00' },
    { signature: `t=${now},v1=${'0'.repeat(64)}` },
    { secret: 'whsec_other' },
    { at: now - 301 },
  ]) {
    expect(await tell(body, send), JSON.stringify(send)).toBe(400)
  }
  expect(await tell(`${body} `, { signature: signed(body, 'whsec_stub', now) })).toBe(400)
  expect(await tell('{"id":', {})).toBe(400)
  expect(await tell(JSON.stringify({ padding: 'x'.repeat(300_000) }))).toBe(413)
  expect((await account()).balanceUsd).toBe('0.0000')
  expect(await tell(body)).toBe(200)
  expect((await account()).balanceUsd).toBe('10.0000')
  // A year later, the same body is sent again with a new signature.
  clock.advance(366 * 86_400_000)
  while (await service.app.store.purgeExpired()) continue
  expect(await tell(body, { at: now })).toBe(400)
  expect(await tell(body)).toBe(200)
  expect((await account()).balanceUsd).toBe('10.0000')
})

test('trusts an event only to name its top-up and reads the rest from the provider', async () => {
  const { account, begin, stub, tell } = await startPaying()
  const topup = await begin()
  const session = stub.sessionOf(topup.id)
  const paid = { ...stub.event('checkout.session.completed', session) }
  const object = paid.data.object as object
  const other = (changes: object, of: Partial<StubEvent> = {}): StubEvent => {
    return { ...paid, id: `evt_${Math.random()}`, ...of, data: { object: { ...object, ...changes } } }
  }
  const claims = other({ payment_status: 'paid', status: 'complete', amount_total: 1000, payment_intent: 'pi_x' })
  expect(await tell(claims)).toBe(200)
  expect((await account()).balanceUsd).toBe('0.0000')
  stub.pay(session)
  for (const event of [
    other({}, { account: 'acct_other' }),
    other({}, { livemode: true }),
    other({ metadata: { errand_topup: 'top_other' } }),
    other({ metadata: {} }),
    other({}, { type: 'invoice.paid' }),
    other({}, { type: 'constructor' }),
  ]) {
    expect(await tell(event), JSON.stringify(event)).toBe(200)
  }
  for (const odd of ['{}', '{"id":"evt_1","object":"event","type":"charge.refunded","livemode":false,"data":{}}']) {
    expect(await tell(odd)).toBe(200)
  }
  expect((await account()).balanceUsd).toBe('0.0000')
  const intent = stub.intentOf(topup.id)
  for (const wrong of [{ amount_received: 999 }, { amount_received: 100_000 }, { currency: 'eur' }]) {
    const { amount_received, currency } = intent
    Object.assign(intent, wrong)
    expect(await tell(paid)).toBe(200)
    expect((await account()).balanceUsd).toBe('0.0000')
    Object.assign(intent, { amount_received, currency })
  }
  await tell(other({ amount_total: 99_999, currency: 'eur' }))
  expect((await account()).balanceUsd).toBe('10.0000')
  const refund = stub.refund(intent, 100)
  const tooMuch = { ...(refund.data.object as object), amount_refunded: 99_999 }
  await tell({ ...refund, id: 'evt_more', data: { object: tooMuch } })
  expect(await account()).toMatchObject({ balanceUsd: '9.0000', owedUsd: '0.0000' })
})

test("another product's checkout that names a top-up by client_reference_id credits nothing", async () => {
  const { account, begin, person, service, stub, tell } = await startPaying()
  const own = stub.sessionOf((await begin()).id)
  // The service does not know this top-up's own checkout, so the checkout's id does not show that it is foreign.
  stub.failure = 400
  await begin()
  stub.failure = undefined
  const [{ id }] = (await service.get('/api/topups', person.key)).body.topups
  const theirs = { ...own, id: 'cs_theirs', metadata: {}, intentMetadata: {}, client_reference_id: id }
  stub.sessions.set(theirs.id, theirs)
  expect(await tell(stub.pay(theirs))).toBe(200)
  const intent = stub.intents.get(theirs.payment_intent!)!
  expect(await tell(stub.event('payment_intent.succeeded', intent))).toBe(200)
  expect(await tell(stub.refund(intent, 100))).toBe(200)
  expect(await account()).toMatchObject({ balanceUsd: '0.0000', owedUsd: '0.0000' })
})

test('accepts only whole cents within the limits and allowed return URLs', async () => {
  const { person, service, stub } = await startPaying({ limits: { topupMinUsd: 5, topupMaxUsd: 100 } })
  const { key } = person
  for (const amountUsd of ['0', '0.00', '-5', '4.99', '100.01', '10.001', '1e3', 'ten', 10, null]) {
    const refused = await service.post('/api/topups', { amountUsd }, { key })
    expect(refused, String(amountUsd)).toMatchObject({ status: 400, body: { details: [{ path: 'amountUsd' }] } })
  }
  for (const returnUrl of [
    'https://evil.example',
    'javascript:alert(1)',
    '/billing',
    'https://a@app.example.com/',
    `${service.url}.evil.example/`,
  ]) {
    const refused = await service.post('/api/topups', { amountUsd: '5', returnUrl }, { key })
    expect(refused, returnUrl).toMatchObject({ status: 400, body: { details: [{ path: 'returnUrl' }] } })
  }
  expect((await service.get('/api/topups', key)).body.total).toBe(0)
  expect(stub.asked).toEqual([])
  const ownApp = 'https://app.example.com/done?a=b'
  const made = await service.post('/api/topups', { amountUsd: '5', returnUrl: ownApp }, { key })
  expect(stub.sessionOf(made.body.id).success_url).toBe(`${ownApp}&topup=${made.body.id}`)
  const reader = await service.createKey(person.userId, ['read', 'execute'])
  expect((await service.post('/api/topups', { amountUsd: '5' }, { key: reader })).status).toBe(403)
  await service.app.store.updateUser({ userId: person.userId, isSuspended: true })
  expect((await service.post('/api/topups', { amountUsd: '5' }, { key })).status).toBe(403)
})

test('a retried request returns the first checkout page, even if its response was lost', async () => {
  const { person, service, stub } = await startPaying()
  const { key } = person
  const headers = { 'Idempotency-Key': 'one' }
  stub.losesAnswers = true
  expect((await service.post('/api/topups', { amountUsd: '5' }, { key, headers })).status).toBe(503)
  stub.losesAnswers = false
  const first = await service.post('/api/topups', { amountUsd: '5' }, { key, headers })
  const second = await service.post('/api/topups', { amountUsd: '5' }, { key, headers })
  expect(second.body).toEqual(first.body)
  expect(stub.sessions.size).toBe(1)
  expect((await service.get('/api/topups', key)).body.total).toBe(1)
  expect((await service.post('/api/topups', { amountUsd: '6' }, { key, headers })).status).toBe(409)
}, 60_000)

test('closes a top-up if its checkout cannot be created; a retry reopens it', async () => {
  const { person, service, stub } = await startPaying()
  const { key } = person
  const statuses = async () => {
    const { topups } = (await service.get('/api/topups', key)).body
    return topups.map(({ checkoutUrl, status }: Record<string, unknown>) => [status, checkoutUrl !== null])
  }
  stub.failure = 400
  const headers = { 'Idempotency-Key': 'one' }
  expect((await service.post('/api/topups', { amountUsd: '5' }, { key, headers })).status).toBe(503)
  expect(await statuses()).toEqual([['expired', false]])
  stub.failure = undefined
  const made = await service.post('/api/topups', { amountUsd: '5' }, { key, headers })
  expect(made).toMatchObject({ status: 200, body: { status: 'open', checkoutUrl: expect.any(String) } })
  expect(await statuses()).toEqual([['open', true]])
})

test('rejects a return URL that is too long once encoded, and creates nothing', async () => {
  const { person, service, stub } = await startPaying()
  const { key } = person
  const at = (length: number) => `https://app.example.com/?q=${'€'.repeat(length)}`
  const refused = await service.post('/api/topups', { amountUsd: '5', returnUrl: at(600) }, { key })
  expect(refused).toMatchObject({ status: 400, body: { details: [{ path: 'returnUrl' }] } })
  expect((await service.get('/api/topups', key)).body.total).toBe(0)
  expect(stub.asked).toEqual([])
  const made = await service.post('/api/topups', { amountUsd: '5', returnUrl: at(500) }, { key })
  expect(made.status).toBe(200)
  expect(stub.sessionOf(made.body.id).cancel_url.length).toBeGreaterThan(4500)
})

test('a page with the scope pay tops up its own user and reads the balance; other pages cannot', async () => {
  const { service } = await startPaying({ config: sessionAgents })
  const open = async (scopes: PlatformScope[]) => {
    const platform = await PlatformCalls.open(service, { scopes })
    return { platform, userId: (await platform.openUser('customer-1')).body.id as string }
  }
  const paying = await open(['users', 'act', 'pay'])
  const pageOf = async ({ platform, userId }: typeof paying, scopes: string[]) =>
    await platform.post('/api/client-tokens', { scopes }, { user: userId })
  const { token } = (await pageOf(paying, ['read', 'pay'])).body
  const begun = await service.post('/api/topups', { amountUsd: '10.00' }, { key: token })
  expect(begun).toMatchObject({ status: 200, body: { amountUsd: '10.0000', status: 'open' } })
  expect((await service.get(`/api/topups/${begun.body.id}`, token)).body).toEqual(begun.body)
  expect((await service.get('/api/account', token)).body).toMatchObject({ userId: paying.userId, balanceUsd: '0.0000' })
  expect((await service.request('PATCH', '/api/account', { key: token, body: { notifyBelowUsd: '1' } })).status).toBe(
    403,
  )

  const saving = await service.post('/api/topups', { amountUsd: '10.00', savesMethod: true }, { key: token })
  expect(saving).toMatchObject({ status: 403, body: { message: expect.stringContaining('savesMethod') } })

  const withoutPay = await open(['users', 'act'])
  expect(await pageOf(withoutPay, ['read', 'pay'])).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
  const reading = (await pageOf(paying, ['read'])).body.token
  expect((await service.post('/api/topups', { amountUsd: '10.00' }, { key: reading })).status).toBe(403)
  const { sessionId } = (await paying.platform.post('/api/sessions', { agentId: 'one' }, { user: paying.userId })).body
  const bound = await paying.platform.post(
    '/api/client-tokens',
    { scopes: ['read', 'pay'], sessionId },
    { user: paying.userId },
  )
  expect((await service.post('/api/topups', { amountUsd: '10.00' }, { key: bound.body.token })).status).toBe(403)
})

test('admins read the top-ups and daily totals of a period, with links to the provider', async () => {
  const { begin, person, service, stub, tell } = await startPaying()
  const [paid, open] = [await begin('10.00'), await begin('20.00')]
  await tell(stub.pay(stub.sessionOf(paid.id)))
  const intent = stub.intentOf(paid.id)
  await tell(stub.refund(intent, 200))
  const { browser } = await signUpAdmin(service)
  const read = async (query: string) => (await browser.request('GET', `/api/payments?${query}`)).body
  const [date, dayBefore] = [0, 1].map((days) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10))
  const now = await read(`from=${dayBefore}&to=${date}`)
  const sums = { topups: 1, paidUsd: '10.0000', refundedUsd: '2.0000', disputedUsd: '0.0000' }
  expect(now).toMatchObject({ totals: { ...sums, owedUsd: '0.0000' }, days: [{ date: expect.any(String), ...sums }] })
  expect(now.topups).toMatchObject([
    { id: open.id, userId: person.userId, dashboardUrl: null },
    { id: paid.id, dashboardUrl: `https://dashboard.stripe.com/test/payments/${intent.id}` },
  ])
  const headers = { Accept: 'text/csv', Cookie: browser.cookieHeader }
  const csv = await fetch(`${service.url}/api/payments?limit=1`, { headers })
  const rows = (await csv.text()).split('\r\n')
  expect(rows).toEqual([Object.keys(now.topups[0]).join(','), expect.stringMatching(`^${open.id},open,20.0000,`), ''])
  expect(await read('days=30')).toMatchObject({ topups: now.topups, totals: now.totals, days: now.days })
  expect(await read('from=2026-01-01&to=2026-01-31')).toMatchObject({ topups: [], totals: { topups: 0 }, days: [] })
  expect(await read('to=2026-01-31')).toMatchObject({ topups: [], days: [] })
  expect(await read(`from=${dayBefore}`)).toMatchObject({ topups: now.topups, days: now.days })
  for (const [query, field] of [
    ['from=9999-01-01', 'from'],
    ['from=2026-01-02&to=2026-01-01', 'to'],
    ['from=2020-01-01&to=2026-01-01', 'from'],
    ['from=x&to=2026-01-01', 'from'],
  ]) {
    expect(await read(query!)).toMatchObject({ code: 'BAD_REQUEST', message: expect.stringContaining(`${field}:`) })
  }
})
