import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { unwrap, webhooks } from '../../client/webhooks.ts'
import { rejection } from './rejection.ts'

// The test vector of the Standard Webhooks specification, which all its libraries share.
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
const sentAt = 1_614_265_330
const body = '{"test": 2432232314}'
const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='

const headers = { 'webhook-id': id, 'webhook-timestamp': String(sentAt), 'webhook-signature': signature }
const event = { test: 2432232314 }

beforeEach(() => void vi.useFakeTimers({ now: sentAt * 1000, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** Signs any string, independently of the implementation under test. */
function sign(text: string, { at = sentAt, key = secret } = {}): string {
  const bytes = Buffer.from(key.replace(/^whsec_/, ''), 'base64')
  return `v1,${createHmac('sha256', bytes).update(`${id}.${at}.${text}`).digest('base64')}`
}

test('accepts the Standard Webhooks test vector in every form of body and headers', async () => {
  expect(sign(body)).toBe(signature)
  const bytes = new TextEncoder().encode(body)
  for (const given of [body, bytes, bytes.buffer, Buffer.from(body)]) {
    expect(await unwrap(given, headers, secret)).toEqual(event)
  }
  const capitals = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]))
  for (const given of [new Headers(headers), capitals]) expect(await unwrap(body, given, secret)).toEqual(event)
  expect(await webhooks.unwrap(body, headers, secret.slice('whsec_'.length))).toEqual(event)
})

test('one of several signatures must match; other versions do not count', async () => {
  const other = sign(body, { key: `whsec_${Buffer.alloc(24, 7).toString('base64')}` })
  const given = (text: string) => ({ ...headers, 'webhook-signature': text })
  for (const text of [`${other} ${signature}`, `${signature} ${other}`, `v1a,xxxx v1,%%% ${signature}`]) {
    expect(await unwrap(body, given(text), secret)).toEqual(event)
  }
  const many = Array.from({ length: 20 }, () => other).join(' ')
  const unfit = [
    other,
    signature.replace('v1,', 'v2,'),
    signature.slice(0, -5),
    'v1,',
    'nonsense',
    `${many} ${signature}`,
  ]
  for (const text of unfit) {
    expect(await rejection(unwrap(body, given(text), secret)), text).toMatchObject({ code: 'INVALID_SIGNATURE' })
  }
})

test('rejects a body, id, timestamp or secret other than the signed one', async () => {
  const otherSecret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
  const others: Parameters<typeof unwrap>[] = [
    [`${body} `, headers, secret],
    [body, { ...headers, 'webhook-id': 'msg_2' }, secret],
    [body, { ...headers, 'webhook-timestamp': String(sentAt + 1) }, secret],
    [body, headers, otherSecret],
  ]
  for (const other of others) {
    const error = await rejection(unwrap(...other))
    expect(error).toMatchObject({ code: 'INVALID_SIGNATURE' })
    expect(error.message).toContain('no signature matches')
  }
})

test('accepts a timestamp up to five minutes in the past or future', async () => {
  for (const [seconds, isAccepted] of [
    [-301, false],
    [-300, true],
    [300, true],
    [301, false],
  ] as const) {
    const at = sentAt - seconds
    const given = { ...headers, 'webhook-timestamp': String(at), 'webhook-signature': sign(body, { at }) }
    const outcome = unwrap(body, given, secret)
    if (isAccepted) expect(await outcome).toEqual(event)
    else expect((await rejection(outcome)).message).toContain('five minutes')
  }
})

test('names a missing or malformed header', async () => {
  for (const name of Object.keys(headers)) {
    for (const value of [undefined, '', ['a', 'b']]) {
      const error = await rejection(unwrap(body, { ...headers, [name]: value }, secret))
      expect(error).toMatchObject({ code: 'INVALID_SIGNATURE' })
      expect(error.message).toContain(name)
    }
  }
  const soon = await rejection(unwrap(body, { ...headers, 'webhook-timestamp': 'soon' }, secret))
  expect(soon.message).toContain('webhook-timestamp')
})

test('an invalid secret gives INVALID_ARGUMENT without echoing it; signed non-JSON gives BAD_RESPONSE', async () => {
  for (const wrong of ['', 'whsec_', 'whsec_§§§', undefined as never]) {
    const error = await rejection(unwrap(body, headers, wrong))
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', details: [{ path: 'secret' }] })
    expect(error.message).not.toContain('§')
  }
  const text = 'not JSON'
  const signed = { ...headers, 'webhook-signature': sign(text) }
  expect(await rejection(unwrap(text, signed, secret))).toMatchObject({ code: 'BAD_RESPONSE' })
})
