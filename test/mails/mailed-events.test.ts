import { afterEach, beforeEach, expect, test } from 'vitest'
import { Browser, password } from '../api/browser-login.ts'
import { startPaying, stopPaying } from '../api/paying.ts'
import { expectStatus, signUpAdmin } from '../api/signed-in.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { queryRows } from '../support/test-engine.ts'
import { startService } from '../support/test-service.ts'
import { until, waitMsMax } from '../support/until.ts'
import { startReceiver } from '../webhooks/receiver.ts'
import { MailCatcher, tokenIn } from './mail-catcher.ts'

// The mails that users get, through a real mail server.

const day = 86_400_000
let catcher: MailCatcher

beforeEach(async () => {
  catcher = await MailCatcher.start()
})

afterEach(async () => {
  await stopPaying()
  await catcher.stop()
})

test('mails an invitation, whose link creates the account', async () => {
  const { service } = await startPaying({ mail: catcher.settings })
  const admin = await signUpAdmin(service)
  const email = 'Invited.Person@example.com'
  const invited = await expectStatus(200, admin.browser.request('POST', '/api/invitations', { body: { email } }))
  expect(invited.isMailed).toBe(true)
  const [mail] = await catcher.waitFor(email.toLowerCase())
  expect(mail!.subject).toBe('Your invitation to Acme Agents')
  expect(mail!.headers).toMatch(/^From: Acme Agents <agents@acme\.example>\r$/m)
  expect(mail!.headers).toMatch(/^Auto-Submitted: auto-generated\r$/m)
  expect(mail!.text).toContain(invited.url)
  expect(mail!.html).toContain(`href="${invited.url}"`)
  const body = { token: tokenIn(mail!), password }
  await expectStatus(200, new Browser(service).request('POST', '/api/invitations/accept', { body }))
  await Browser.loggedIn(service, { email, password })
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
})

test('stores the link of a mail only encrypted, and not after the mail was sent', async () => {
  const clock = new FakeClock(Date.now())
  const { service } = await startPaying({ mail: catcher.settings, clock })
  catcher.refuse = () => 451
  const admin = await signUpAdmin(service)
  const body = { email: 'sealed@example.com' }
  const invited = await expectStatus(200, admin.browser.request('POST', '/api/invitations', { body }))
  await until('it was tried', waitMsMax, () => catcher.asked.length > 0)
  const { mails } = service.app.store
  await until('its error is stored', waitMsMax, async () => (await mails.readState()).lastError !== null)
  const rows = () => queryRows(service.dataDir, 'SELECT * FROM mails')
  const [stored] = await rows()
  expect(stored).toMatchObject({ kind: 'invitation', email: body.email, status: 'pending', sealed: expect.any(String) })
  expect(JSON.stringify(stored)).not.toContain(invited.url.split('#')[1])
  catcher.refuse = () => undefined
  clock.advance(70_000)
  const [mail] = await catcher.waitFor(body.email)
  expect(mail!.text).toContain(invited.url)
  await until('it was sent', waitMsMax, async () => (await mails.readState()).pending === 0)
  expect(await rows()).toMatchObject([{ status: 'sent', sealed: null, error: null }])
})

test('mails a receipt, a refund, a dispute and a low balance', async () => {
  const { begin, person, service, stub, tell, updateByLogin } = await startPaying({ mail: catcher.settings })
  const topup = await begin('10.00')
  await tell(stub.pay(stub.sessionOf(topup.id)))
  const [receipt] = await catcher.waitFor(person.email)
  expect(receipt).toMatchObject({ subject: 'Receipt for your payment to Acme Agents' })
  expect(receipt!.text).toMatch(new RegExp(`Amount: \\$10\\.00\nDate: \\d{4}-.* UTC\nPayment ID: ${topup.id}`))
  expect(receipt!.text).toContain(`${service.url}/billing`)

  await expectStatus(200, updateByLogin({ notifyBelowUsd: '5.0000' }))
  const spent = { userId: person.userId, description: 'Spent', idempotencyKey: null }
  await service.app.store.credit({ ...spent, amount: -70_000 })
  const [, low] = await catcher.waitFor(person.email, 2)
  expect(low!.subject).toBe('Your Acme Agents balance is low')
  expect(low!.text).toContain('was $3.00 on')
  expect(low!.text).toContain('below your threshold of $5.00')

  const intent = stub.intentOf(topup.id)
  await tell(stub.refund(intent, 200))
  const [, , refund] = await catcher.waitFor(person.email, 3)
  expect(refund!.subject).toBe('Refund from Acme Agents')
  expect(refund!.text).toContain('A total of $2.00 of your $10.00 payment has been refunded.')
  expect(refund!.text).not.toContain('owes')

  await tell(stub.dispute(intent, 800).withdrawn)
  const [, , , dispute] = await catcher.waitFor(person.email, 4)
  expect(dispute!.subject).toBe('Your payment to Acme Agents is disputed')
  expect(dispute!.text).toContain('$8.00 of your $10.00 payment is now disputed.')
  expect(dispute!.text).toContain('returns to the balance if the dispute is withdrawn or rejected.')
  expect(dispute!.text).toContain('Your account owes $7.00.')
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
})

test('mails once that an endpoint is gone and its webhook disabled', async () => {
  const receiver = await startReceiver()
  const service = await startService({ mail: catcher.settings, privateHosts: ['127.0.0.1'] })
  try {
    const person = await service.createPerson()
    receiver.answers.set('/gone', 410)
    await expectStatus(200, service.post('/api/webhooks', { url: `${receiver.url}/gone` }, { key: person.key }))
    for (const text of ['a', 'b']) await service.runTask(person.key, 'test.echo', { text })
    const [mail] = await catcher.waitFor(person.email)
    expect(mail!.subject).toBe('Your Acme Agents webhook was disabled')
    expect(mail!.text).toContain(`The webhook ${receiver.url}/gone of the account ${person.email} was disabled.`)
    expect(mail!.text).toContain('responded with status 410')
    expect(catcher.to(person.email)).toHaveLength(1)
  } finally {
    await service.stop()
    await receiver.stop()
  }
})

test('mails at most once a day that keys expire within a week', async () => {
  const clock = new FakeClock(Date.now())
  const service = await startService({ mail: catcher.settings, clock })
  try {
    const { store } = service.app
    const person = await service.createPerson()
    await service.createKey(person.userId, ['read'], clock.now() + 30 * day)
    await service.createKey(person.userId, ['read'], clock.now() + 29 * day)
    expect(await store.mails.noteExpiringKeys()).toBe(false)
    clock.advance(22 * day + 1)
    await store.mails.noteExpiringKeys()
    await store.mails.noteExpiringKeys()
    const [mail] = await catcher.waitFor(person.email)
    expect(mail!.subject).toBe('Your Acme Agents API key expires soon')
    clock.advance(day)
    await store.mails.noteExpiringKeys()
    await catcher.waitFor(person.email, 2)
    clock.advance(day)
    await store.mails.noteExpiringKeys()
    await until('all were sent', waitMsMax, async () => (await store.mails.readState()).pending === 0)
    expect(catcher.to(person.email)).toHaveLength(2)
  } finally {
    await service.stop()
  }
})

test('sends nothing to users without an address, and little that they can cause for free', async () => {
  const service = await startService({ mail: catcher.settings })
  try {
    const { store } = service.app
    const nobody = await store.createUser({ email: null, passwordHash: null, isAdmin: false })
    const person = await service.createPerson({ balanceUsd: '0' })
    const users = [person.userId, 'userId' in nobody ? nobody.userId : '']
    for (const userId of users) {
      for (let turn = 0; turn < 15; turn++) {
        await store.payments.setNotifyBelow({ userId, notifyBelow: 20_000 })
        for (const amount of [30_000, -30_000]) {
          await store.credit({ userId, amount, description: 'Moved', idempotencyKey: null })
        }
      }
    }
    await catcher.waitFor(person.email, 10)
    await until('all were sent', waitMsMax, async () => (await store.mails.readState()).pending === 0)
    expect(catcher.caught).toHaveLength(10)
  } finally {
    await service.stop()
  }
})

test('records no mail if the service sends none', async () => {
  const { begin, service, stub, tell } = await startPaying()
  const admin = await signUpAdmin(service)
  const body = { email: 'by-hand@example.com' }
  const invited = await expectStatus(200, admin.browser.request('POST', '/api/invitations', { body }))
  expect(invited.isMailed).toBe(false)
  await tell(stub.pay(stub.sessionOf((await begin()).id)))
  await expectStatus(404, service.post('/api/password-resets', { email: 'by-hand@example.com' }))
  expect((await service.get('/api/login')).body.canResetPassword).toBe(false)
  expect(await service.app.store.mails.readState()).toEqual({ pending: 0, failed: 0, lastError: null })
})
