import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resolveBrand } from '../../server/app/resolve-brand.ts'
import { brandAttribute } from '../../server/http/files/brand.ts'
import { renderMail } from '../../server/mails/mail-texts.ts'
import { temporaryFolder } from '../support/resources.ts'

const folder = temporaryFolder('brand')
const image = (name: string, content: string | Buffer) => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}
const svg = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>'
const mail = { ERRAND_SMTP_URL: 'smtp://mail.example', ERRAND_MAIL_FROM: 'Acme Agents <agents@acme.example>' }

test('the name of the service is its own, that of its emails, or Errand', () => {
  expect(resolveBrand({})).toEqual({ name: 'Errand', seller: [] })
  expect(resolveBrand(mail)).toEqual({ name: 'Acme Agents', seller: ['Acme Agents'] })
  const named = { ...mail, ERRAND_SERVICE_NAME: 'Acme', ERRAND_SUPPORT: 'help@acme.example' }
  expect(resolveBrand({ ...named, ERRAND_SELLER: 'Acme GmbH | Main Street 1 || VAT DE1' })).toEqual({
    name: 'Acme',
    support: 'help@acme.example',
    seller: ['Acme GmbH', 'Main Street 1', 'VAT DE1'],
  })
})

test('reads logos by content, whatever the file is called', () => {
  const png = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1')
  const webp = Buffer.from('RIFF\0\0\0\0WEBPrest', 'latin1')
  const logoOf = (file: string) => resolveBrand({ ERRAND_LOGO: file }).logo
  expect(logoOf(image('a', svg))).toEqual({ type: 'image/svg+xml', content: Buffer.from(svg) })
  expect(logoOf(image('b.svg', png))).toEqual({ type: 'image/png', content: png })
  expect(logoOf(image('c', webp))).toEqual({ type: 'image/webp', content: webp })
  const both = resolveBrand({ ERRAND_LOGO: image('a', svg), ERRAND_LOGO_DARK: image('d', png) })
  expect([both.logo?.type, both.darkLogo?.type]).toEqual(['image/svg+xml', 'image/png'])
})

test.each([
  [{ ERRAND_SERVICE_NAME: 'x'.repeat(61) }, 'ERRAND_SERVICE_NAME: must have at most 60 characters on one line'],
  [{ ERRAND_SERVICE_NAME: 'two\nlines' }, 'ERRAND_SERVICE_NAME: must have at most 60 characters on one line'],
  [{ ERRAND_SUPPORT: 'javascript:alert(1)' }, 'ERRAND_SUPPORT: must be an email address or an https URL'],
  [{ ERRAND_SELLER: 'x|'.repeat(9) }, 'ERRAND_SELLER: must have at most 8 lines of at most 100 characters'],
  [{ ERRAND_LOGO_DARK: 'x' }, 'ERRAND_LOGO: must be set if ERRAND_LOGO_DARK is set'],
  [{ ERRAND_LOGO: join(folder, 'none.png') }, 'none.png" (ENOENT). Set the path of an image file'],
  [{ ERRAND_LOGO: folder }, '(EISDIR). Set the path of an image file'],
  [{ ERRAND_LOGO: image('page.svg', '<!doctype html>') }, 'must be an SVG, PNG or WebP image of at most 256 KB'],
  [{ ERRAND_LOGO: image('large.svg', svg.padEnd(262_145)) }, 'must be an SVG, PNG or WebP image of at most 256 KB'],
])('rejects %j', (env, message) => {
  expect(() => resolveBrand(env)).toThrow(message)
})

test('a name cannot break out of the page', () => {
  const attribute = brandAttribute({ name: '"><script>&quot;', seller: [] })
  expect(attribute).not.toMatch(/["<]/)
  expect(attribute).toContain('&amp;quot;')
})

test('emails name the support address', () => {
  const facts = { name: 'Acme', baseUrl: 'https://acme.example', support: 'help@acme.example', url: '' }
  const of = { kind: 'balance.low', email: 'ada@example.com', data: {}, createdAt: 0, expiresAt: 0 } as const
  const { html, text } = renderMail({ ...facts, ...of })
  for (const body of [html, text]) expect(body).toContain('automated email from Acme. Support: help@acme.example')
})
