import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import {
  expectRefused,
  expectUnchanged,
  rawRequest,
  sendRaw,
  shareService,
  type Guarded,
} from '../../support/raw-http.ts'
import { startService } from '../../support/test-service.ts'

const guarded = shareService()

type Link = { id: string; expires: string; signature: string }

/** Returns the parts of a valid link to the response of a new task. */
async function createLink({ service }: Guarded = guarded): Promise<Link> {
  const { key } = await service.createPerson()
  const { responseUri } = await service.runTask(key, 'test.large', { chars: 20_000 })
  const { pathname, searchParams } = new URL(responseUri)
  const link = {
    id: pathname.slice('/api/payloads/'.length),
    expires: searchParams.get('expires')!,
    signature: searchParams.get('signature')!,
  }
  expect((await service.get(target(link))).status).toBe(200)
  return link
}

const target = ({ id, expires, signature }: Link) => `/api/payloads/${id}?expires=${expires}&signature=${signature}`

const get = (path: string) => sendRaw(guarded.service.url, rawRequest(`GET ${path}`, []))

function flip(text: string, at: number, bit: number): string {
  return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << bit)) + text.slice(at + 1)
}

test.each(['id', 'expires', 'signature'] as const)(
  'returns 403 if any single bit of the %s is changed',
  async (part) => {
    const link = await createLink()
    await expectUnchanged(guarded, async () => {
      for (let at = 0; at < link[part].length; at++) {
        for (let bit = 0; bit < 7; bit++) {
          const changed = { ...link, [part]: flip(link[part], at, bit) }
          // A character that ends the target early would change more than one bit of the link.
          if (!/^[!$'()*,.:;@~\w-]+$/.test(changed[part])) continue
          expect((await guarded.service.get(target(changed))).status, target(changed)).toBe(403)
        }
      }
    })
  },
)

const wrong: [title: string, path: (link: Link) => string][] = [
  ['no parameters', ({ id }) => `/api/payloads/${id}`],
  ['no signature', ({ id, expires }) => `/api/payloads/${id}?expires=${expires}`],
  ['no expiry', ({ id, signature }) => `/api/payloads/${id}?signature=${signature}`],
  ['an empty signature', (link) => target({ ...link, signature: '' })],
  ['an empty expiry', (link) => target({ ...link, expires: '' })],
  ['a later expiry', (link) => target({ ...link, expires: String(Number(link.expires) + 1) })],
  ['an expiry in the past', (link) => target({ ...link, expires: '1' })],
  ['an expiry of zero', (link) => target({ ...link, expires: '0' })],
  ['a negative expiry', (link) => target({ ...link, expires: '-1' })],
  ['an expiry with a leading zero', (link) => target({ ...link, expires: `0${link.expires}` })],
  ['an expiry with a fraction', (link) => target({ ...link, expires: `${link.expires}.0` })],
  ['an expiry with an exponent', (link) => target({ ...link, expires: `${link.expires}e0` })],
  ['an expiry of 400 digits', (link) => target({ ...link, expires: '9'.repeat(400) })],
  ['an expiry that is not a number', (link) => target({ ...link, expires: 'NaN' })],
  ['an expiry with a space', (link) => target({ ...link, expires: `%20${link.expires}` })],
  ['an expiry with a line break', (link) => target({ ...link, expires: `${link.expires}%0A` })],
  ['the expiry twice', (link) => `${target(link)}&expires=${link.expires}`],
  ['a second, later expiry in front', (link) => target(link).replace('?', '?expires=9999999999&')],
  ['the signature twice', (link) => `${target(link)}&signature=${link.signature}`],
  ['a signature with padding', (link) => target({ ...link, signature: `${link.signature}=` })],
  ['a truncated signature', (link) => target({ ...link, signature: link.signature.slice(0, -1) })],
  ['a signature in hexadecimal', (link) => target({ ...link, signature: hex(link.signature) })],
  ['a signature in base64', (link) => target({ ...link, signature: encodeURIComponent(base64(link.signature)) })],
  ['a signature of 10 KB', (link) => target({ ...link, signature: 'a'.repeat(10_000) })],
  ['a non-ASCII signature', (link) => target({ ...link, signature: `${link.signature.slice(0, -2)}%C3%A9` })],
  ['an uppercase parameter name', (link) => target(link).replace('signature', 'Signature')],
  ['a parameter as an array', (link) => target(link).replace('signature', 'signature[]')],
  ['an id in upper case', (link) => target({ ...link, id: link.id.toUpperCase() })],
  ['an encoded id', (link) => target({ ...link, id: `%70${link.id.slice(1)}` })],
  ['an id with a suffix', (link) => target({ ...link, id: `${link.id}.json` })],
  ['an unknown id', (link) => target({ ...link, id: `pay_${'0'.repeat(26)}` })],
  ['an empty id', (link) => target({ ...link, id: '' })],
  ['the parent folder', (link) => target({ ...link, id: '..' })],
  ['an encoded path traversal', (link) => target({ ...link, id: '..%2f..%2ferrand.db' })],
  ['an encoded path traversal with backslashes', (link) => target({ ...link, id: '..%5c..%5cerrand.db' })],
  ['a double-encoded path traversal', (link) => target({ ...link, id: '%252e%252e%252ferrand.db' })],
  ['an absolute path', (link) => target({ ...link, id: '%2fetc%2fpasswd' })],
  ['a NUL', (link) => target({ ...link, id: `${link.id}%00` })],
  ['broken percent-encoding', (link) => target({ ...link, id: '%zz' })],
]

const bytes = (signature: string) => Buffer.from(signature, 'base64url')
const hex = (signature: string) => bytes(signature).toString('hex')
const base64 = (signature: string) => bytes(signature).toString('base64')

test.each(wrong)('returns the same 403 for a link with %s', async (_title, path) => {
  const link = await createLink()
  await expectRefused(guarded, { status: 403, message: /^The link is invalid or has expired/ }, () => get(path(link)))
})

test.each(['../secret', '..', './', '../../errand.db', 'a/b', '/etc/passwd'])(
  'serves nothing for a path instead of a payload id: %s',
  async (path) => {
    const link = await createLink()
    const answer = await expectUnchanged(guarded, () =>
      get(`/api/payloads/${path}${target(link).slice(target(link).indexOf('?'))}`),
    )
    expect([403, 404]).toContain(answer!.status)
  },
)

test('a link opens only its own payload', async () => {
  const [one, other] = [await createLink(), await createLink()]
  for (const mixed of [
    { ...one, id: other.id },
    { ...one, signature: other.signature },
  ]) {
    await expectRefused(guarded, { status: 403 }, () => get(target(mixed)))
  }
})

test('a key does not replace a link, and a link works even with an invalid key', async () => {
  const link = await createLink()
  const { service, person } = guarded
  expect((await service.get(`/api/payloads/${link.id}`, person.key)).status).toBe(403)
  expect((await service.get(target(link), 'nonsense')).status).toBe(200)
})

test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'])(
  'returns 405 for %s with a valid link and keeps the payload',
  async (method) => {
    const link = await createLink()
    const answer = await expectRefused(guarded, { status: 405 }, () =>
      sendRaw(guarded.service.url, rawRequest(`${method} ${target(link)}`, [])),
    )
    expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    expect((await get(target(link)))!.status).toBe(200)
  },
)

test('HEAD also requires the signature and returns no body', async () => {
  const link = await createLink()
  const head = (path: string) => sendRaw(guarded.service.url, rawRequest(`HEAD ${path}`, []), { isHead: true })
  expect(await head(target(link))).toMatchObject({ status: 200, body: '' })
  expect(await head(`/api/payloads/${link.id}`)).toMatchObject({ status: 403, body: '' })
})

test('a payload is sent in full, as a JSON attachment that browsers do not execute', async () => {
  const link = await createLink()
  const { status, headers, body } = (await get(target(link)))!
  expect({ status, body }).toEqual({ status: 200, body: { text: 'x'.repeat(20_000) } })
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(headers.get('content-disposition')).toBe(`attachment; filename="${link.id}.json"`)
  expect(headers.get('x-content-type-options')).toBe('nosniff')
})

test('a link works until the millisecond before its expiry and not after', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const own = { service, person: await service.createPerson() }
  const link = await createLink(own)
  clock.advance(Number(link.expires) * 1000 - 1 - clock.now())
  expect((await service.get(target(link))).status).toBe(200)
  clock.advance(1)
  await expectRefused(own, { status: 403 }, () => service.get(target(link)))
  await service.stop()
})
