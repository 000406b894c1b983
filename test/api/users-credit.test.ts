import { expect, test } from 'vitest'
import { parseUsd } from '../../server/kernel/money.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { sessionAgents, SessionCalls } from './session-calls.ts'
import { expectStatus, signUpAdmin, type SignedIn } from './signed-in.ts'

async function prepare(balanceUsd = '0') {
  const service = await startService({ config: sessionAgents })
  const admin = await signUpAdmin(service)
  const person = await service.createPerson({ balanceUsd })
  return { service, admin, person }
}

function crediting({ browser }: SignedIn, userId: string) {
  return (amountUsd: string, headers: Record<string, string> = {}, reason = 'Top-up') =>
    browser.post(`/api/users/${userId}/credit`, { amountUsd, reason }, headers)
}

async function totalOf(service: TestService, key: string): Promise<number> {
  return (await service.get('/api/transactions', key)).body.total
}

test('amounts are exact to the ten-thousandth, for credits and debits', async () => {
  const { admin, person, service } = await prepare()
  const credit = crediting(admin, person.userId)
  let balance = 0
  for (const amountUsd of ['0.0001', '0.1', '0.2', '12.3456', '-0.0001', '99999999', '-3', '-12.6456', '-99999996']) {
    const { balanceUsd, transactionId } = await expectStatus(200, credit(amountUsd))
    balance += parseUsd(amountUsd)!
    expect(parseUsd(balanceUsd)).toBe(balance)
    const { transactions } = (await service.get('/api/transactions?limit=1', person.key)).body
    expect(transactions).toMatchObject([{ id: transactionId, balanceAfterUsd: balanceUsd }])
    expect(parseUsd(transactions[0].amountUsd)).toBe(parseUsd(amountUsd))
  }
  expect((await service.get('/api/account', person.key)).body.balanceUsd).toBe('0.0000')
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('the user and the admin see the reason in the transaction', async () => {
  const { admin, person, service } = await prepare()
  const credit = crediting(admin, person.userId)
  await expectStatus(200, credit('5', {}, '  Welcome, «Ada» — 5 USD  '))
  await expectStatus(200, credit('-1.5', {}, 'Paid twice'))
  const own = (await service.get('/api/transactions', person.key)).body
  expect(own.transactions).toMatchObject([
    { type: 'adjustment', amountUsd: '-1.5000', balanceAfterUsd: '3.5000', description: 'Paid twice' },
    { type: 'credit', amountUsd: '5.0000', balanceAfterUsd: '5.0000', description: 'Welcome, «Ada» — 5 USD' },
  ])
  const path = `/api/users/${person.userId}/transactions`
  expect(await expectStatus(200, admin.browser.get(path))).toEqual(own)
  expect(await expectStatus(200, admin.browser.get(`${path}?limit=1&offset=1`))).toEqual({
    transactions: [own.transactions[1]],
    total: 2,
    limit: 1,
    offset: 1,
  })
  await service.stop()
})

test('an adjustment never takes the balance below its holds, and a rejection writes nothing', async () => {
  const { admin, person, service } = await prepare('1.0000')
  const credit = crediting(admin, person.userId)
  const { store } = service.app
  const sessionId = await new SessionCalls(service, person.key).open()
  const hold = { required: 1, hold: 4000, idempotency: null }
  expect(await store.openTurn({ turnId: 'turn_1', userId: person.userId, sessionId, ...hold })).toMatchObject({
    outcome: 'opened',
    held: 4000,
  })
  const read = () => expectStatus(200, admin.browser.get(`/api/users/${person.userId}`))
  expect(await read()).toMatchObject({ balanceUsd: '1.0000', heldUsd: '0.4000' })
  for (const amountUsd of ['-0.6001', '-1', '-99999999999']) {
    const { details, message } = await expectStatus(400, credit(amountUsd))
    expect(details).toMatchObject([{ path: 'amountUsd' }])
    expect(message).toContain('held')
  }
  expect(await totalOf(service, person.key)).toBe(1)
  expect(await expectStatus(200, credit('-0.6'))).toMatchObject({ balanceUsd: '0.4000' })
  await expectStatus(400, credit('-0.0001'))
  expect(await read()).toMatchObject({ balanceUsd: '0.4000', heldUsd: '0.4000' })
  await service.stop()
})

test('rejects a balance above 100 billion USD', async () => {
  const { admin, person, service } = await prepare()
  const credit = crediting(admin, person.userId)
  expect(await expectStatus(200, credit('99999999999.9999'))).toMatchObject({ balanceUsd: '99999999999.9999' })
  await expectStatus(200, credit('0.0001'))
  expect((await expectStatus(400, credit('0.0001'))).details).toMatchObject([{ path: 'amountUsd' }])
  await service.stop()
})

test('returns 400 with the invalid field and credits nothing', async () => {
  const { admin, person, service } = await prepare()
  const amounts = [
    '',
    '0',
    '0.0000',
    '-0',
    '1.00001',
    '1e3',
    '+1',
    ' 1',
    '1 ',
    '.5',
    '1.',
    '0x1',
    '1,5',
    '123456789012',
  ]
  const post = (body: object) => admin.browser.post(`/api/users/${person.userId}/credit`, body)
  for (const amountUsd of amounts) {
    const { details } = await expectStatus(400, post({ amountUsd, reason: 'Top-up' }))
    expect(details, amountUsd).toMatchObject([{ path: 'amountUsd' }])
  }
  for (const amountUsd of [1, null, undefined]) {
    const { details } = await expectStatus(400, post({ amountUsd, reason: 'Top-up' }))
    expect(details).toMatchObject([{ path: 'amountUsd' }])
  }
  for (const reason of ['', '   ', 'x'.repeat(501), 1, undefined]) {
    const { details } = await expectStatus(400, post({ amountUsd: '1', reason }))
    expect(details).toMatchObject([{ path: 'reason' }])
  }
  for (const key of ['two words', 'x'.repeat(256)]) {
    await expectStatus(400, crediting(admin, person.userId)('1', { 'Idempotency-Key': key }))
  }
  expect(await totalOf(service, person.key)).toBe(0)
  await service.stop()
})

test('an Idempotency-Key credits each user once, even in parallel; another amount gets 409', async () => {
  const { admin, person, service } = await prepare()
  const other = await service.createPerson({ balanceUsd: '0' })
  const credit = crediting(admin, person.userId)
  const named = { 'Idempotency-Key': 'invoice-7' }
  const answers = await Promise.all(Array.from({ length: 12 }, () => credit('2.5', named)))
  const bodies = await Promise.all(answers.map((answer) => expectStatus(200, answer)))
  expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1)
  expect(bodies[0]).toMatchObject({ balanceUsd: '2.5000' })
  expect(await totalOf(service, person.key)).toBe(1)
  // The response remains the same after the balance has changed, as long as the transaction exists.
  await expectStatus(200, credit('1'))
  expect(await expectStatus(200, credit('2.50', named))).toEqual(bodies[0])
  expect(await expectStatus(409, credit('2.5001', named))).toEqual({
    error: 'Conflict',
    message: 'This Idempotency-Key was already used for this user with a different amount. Send a new key.',
    statusCode: 409,
    code: 'CONFLICT',
  })
  expect(await totalOf(service, person.key)).toBe(2)
  expect(await expectStatus(200, crediting(admin, other.userId)('7', named))).toMatchObject({ balanceUsd: '7.0000' })
  await service.stop()
})

test('credits on every request without an Idempotency-Key', async () => {
  const { admin, person, service } = await prepare()
  const credit = crediting(admin, person.userId)
  await Promise.all(Array.from({ length: 8 }, () => credit('0.5')))
  expect((await service.get('/api/account', person.key)).body.balanceUsd).toBe('4.0000')
  await service.stop()
})
