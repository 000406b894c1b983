import { afterEach, expect, test } from 'vitest'
import { mailKinds } from '../../server/store/mails/mail-types.ts'
import type { Browser } from '../api/browser-login.ts'
import { expectStatus, signUp, signUpAdmin } from '../api/signed-in.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { until, waitMsMax } from '../support/until.ts'
import { MailCatcher } from './mail-catcher.ts'

// The mail page of admins.

const logoUrl = 'https://acme.example/logo.png?a=1&b="2'
let catcher: MailCatcher
let service: TestService
let browser: Browser

async function open(isConfigured = true): Promise<void> {
  catcher = await MailCatcher.start({
    allowInsecureAuth: true,
    onAuth: ({ username }, _session, done) => done(null, { user: username }),
  })
  const auth = { user: 'agents', pass: 'the mail password' }
  service = await startService(isConfigured ? { mail: { ...catcher.settings, auth, logoUrl } } : {})
  browser = (await signUpAdmin(service)).browser
}

afterEach(async () => {
  await service.stop()
  await catcher.stop()
})

test('shows the server without its password, and the newest mails without their links', async () => {
  await open()
  const body = { email: 'new@example.com' }
  const { url } = await expectStatus(200, browser.request('POST', '/api/invitations', { body }))
  catcher.refuse = () => 550
  await expectStatus(200, browser.request('POST', '/api/invitations', { body: { email: 'gone@example.com' } }))
  const read = () => expectStatus(200, browser.request('GET', '/api/admin/mail'))
  await until('both have ended', waitMsMax, async () =>
    (await read()).newest.every((mail: { status: string }) => mail.status !== 'pending'),
  )
  const mail = await read()
  expect(mail.server).toEqual({
    host: '127.0.0.1',
    port: catcher.port,
    tls: 'optional',
    from: 'Acme Agents <agents@acme.example>',
  })
  expect(mail.newest).toMatchObject([
    { kind: 'invitation', email: 'gone@example.com', status: 'failed', attempts: 1, userId: null },
    { kind: 'invitation', email: 'new@example.com', status: expect.stringMatching(/sent|failed/), attempts: 1 },
  ])
  expect(mail.newest[0].error).toContain('550')
  const text = JSON.stringify(mail)
  for (const secret of ['the mail password', url.split('#')[1]]) expect(text).not.toContain(secret)
})

test('sends a test mail, and reports why the server rejects it', async () => {
  await open()
  const send = (to: string) => browser.request('POST', '/api/admin/mail/test', { body: { to } })
  expect(await expectStatus(200, send('ada@example.com'))).toEqual({ isAccepted: true, error: null })
  expect(catcher.to('ada@example.com')).toMatchObject([{ subject: 'Test email' }])
  catcher.refuse = () => 452
  const refused = await expectStatus(200, send('ada@example.com'))
  expect(refused).toMatchObject({ isAccepted: false, error: expect.stringContaining('452') })
  for (const to of ['nobody', 'a@b.example\r\nBcc: other@example.com', 'ünï@example.com'])
    expect((await expectStatus(400, send(to))).details).toMatchObject([{ path: 'to' }])
  expect((await expectStatus(200, browser.request('GET', '/api/admin/mail'))).newest).toEqual([])
})

test('previews each kind of mail to admins, with the name and the logo of the operator', async () => {
  await open()
  const { previews } = await expectStatus(200, browser.request('GET', '/api/admin/mail'))
  expect(previews.map(({ kind }: { kind: string }) => kind)).toEqual(mailKinds)
  for (const { kind, subject } of previews) {
    const page = await browser.request('GET', `/admin/mail/preview/${kind}`)
    expect(page.status, kind).toBe(200)
    expect(page.body).toContain('Acme Agents')
    expect(page.body).toContain('<img src="https://acme.example/logo.png?a=1&amp;b=&quot;2" alt="Acme Agents"')
    expect(page.body + subject, kind).not.toMatch(/undefined|NaN|\$\s/)
    const policy = page.headers.get('content-security-policy')!
    for (const part of ["default-src 'none'", "frame-ancestors 'self'", 'sandbox']) expect(policy).toContain(part)
  }
  await expectStatus(404, browser.request('GET', '/admin/mail/preview/other'))
  const person = await signUp(service)
  await expectStatus(403, person.browser.request('GET', '/admin/mail/preview/invitation'))
  await expectStatus(401, service.get('/admin/mail/preview/invitation'))
})

test('without a mail server shows previews only', async () => {
  await open(false)
  const mail = await expectStatus(200, browser.request('GET', '/api/admin/mail'))
  expect(mail).toMatchObject({ server: null, newest: [] })
  expect(mail.previews[0].subject).toBe('Your invitation to Errand')
  await expectStatus(404, browser.request('POST', '/api/admin/mail/test', { body: { to: 'ada@example.com' } }))
})
