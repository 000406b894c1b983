import { expect, test } from 'vitest'
import { resolveMail } from '../../server/app/config.ts'
import { requiresTls } from '../../server/mails/mail-settings.ts'
import { renderMail } from '../../server/mails/mail-texts.ts'
import { mailKinds } from '../../server/store/mails/mail-types.ts'

const from = 'Acme Agents <agents@acme.example>'
const resolve = (url: string, sender = from) => resolveMail({ ERRAND_SMTP_URL: url, ERRAND_MAIL_FROM: sender })

test('reads a mail server with its port, encryption and credentials', () => {
  const sender = { name: 'Acme Agents', address: 'agents@acme.example' }
  expect(resolve('smtp://mail.example')).toEqual({ host: 'mail.example', port: 587, isSecure: false, from: sender })
  expect(resolve('smtps://us%40er:p%2Fw@mail.example/', 'agents@acme.example')).toEqual({
    host: 'mail.example',
    port: 465,
    isSecure: true,
    auth: { user: 'us@er', pass: 'p/w' },
    from: { ...sender, name: '' },
  })
  expect(resolve('smtp://[::1]:2525')).toMatchObject({ host: '[::1]', port: 2525 })
  expect(resolveMail({})).toBeUndefined()
})

test('sends a password unencrypted only within the machine', () => {
  const needs = (url: string) => requiresTls(resolve(url)!)
  expect(needs('smtp://user:secret@mail.example')).toBe(true)
  for (const url of ['smtp://user:secret@localhost', 'smtp://a:b@[::1]', 'smtp://mail.example', 'smtps://a:b@c']) {
    expect(needs(url)).toBe(false)
  }
})

test.each([
  'http://mail.example',
  'smtp://',
  'smtp://user@mail.example',
  'smtp://user:sec%ret@mail.example',
  'smtp://mail.example/path',
  'smtps://user:secret@mail.example?x=1',
  'mail.example:25',
])('rejects the mail server %s without quoting it', (url) => {
  expect(() => resolve(url)).toThrow(/^ERRAND_SMTP_URL: must be a URL such as/)
  expect(() => resolve(url)).not.toThrow(/secret@mail\.example\?x/)
})

test.each([
  '',
  'Acme',
  'a@b',
  'A <a@b.example',
  'A\r\nBcc: x <a@b.example>',
  '<<a@b.example>>',
  'a@b.example, c@d.example',
])('rejects the sender %j', (sender) => {
  expect(() => resolve('smtp://mail.example', sender)).toThrow(/^ERRAND_MAIL_FROM: must be/)
})

test('reads the logo, which must be an https URL', () => {
  const logo = (url: string) => ({
    ERRAND_SMTP_URL: 'smtp://mail.example',
    ERRAND_MAIL_FROM: from,
    ERRAND_MAIL_LOGO_URL: url,
  })
  expect(resolveMail(logo('https://acme.example/logo.png'))).toMatchObject({ logoUrl: 'https://acme.example/logo.png' })
  for (const url of ['http://acme.example/logo.png', 'data:image/png;base64,AA', 'logo.png'])
    expect(() => resolveMail(logo(url))).toThrow('ERRAND_MAIL_LOGO_URL: must be an https URL')
  expect(() => resolveMail({ ERRAND_MAIL_LOGO_URL: 'https://acme.example/logo.png' })).toThrow(
    /^ERRAND_SMTP_URL: must be/,
  )
})

test('requires a mail server for a sender', () => {
  expect(() => resolve('')).toThrow(/^ERRAND_SMTP_URL: must be set/)
})

test('no mail contains markup or line breaks of its data where they could do harm', () => {
  const hostile = '<b>"x"</b>\r\nBcc: other@example.com'
  const names = ['balanceUsd', 'amountUsd', 'url', 'reason', 'name', 'hint', 'expiresAt', 'topupId', 'owedUsd']
  for (const kind of mailKinds) {
    const data = Object.fromEntries(names.map((name) => [name, hostile]))
    const of = { kind, email: hostile, data, createdAt: 0, expiresAt: 0 }
    const { html, subject, text } = renderMail({ ...of, name: hostile, baseUrl: 'https://a.example', url: hostile })
    expect(subject).not.toMatch(/[\r\n]/)
    expect(html).not.toContain('<b>')
    expect(text.endsWith('\n')).toBe(true)
  }
})
