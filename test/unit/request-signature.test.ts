import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { signRequest } from '../../server/outbound/request-signature.ts'
import { parseWebhookSecret } from '../../server/agents/config/webhook-secret.ts'
import { must } from '../../server/kernel/assert.ts'

const keyOf = (secret: string) => must(parseWebhookSecret(secret), 'a secret')

test('reproduces the published test vector of Standard Webhooks', () => {
  const key = keyOf('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  const at = new Date(1_614_265_330_000)
  expect(signRequest([key], { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}', at })).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

// printf '%s' 'task_1.1700000000.{"text":"Grüße ☃ 🚀"}' | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102…3f -binary | base64
test('signs a non-ASCII body as UTF-8 with a 64-byte key', () => {
  const key = Buffer.from(Array.from({ length: 64 }, (_, at) => at))
  const at = new Date(1_700_000_000_999)
  const signed = signRequest([keyOf(`whsec_${key.toString('base64')}`)], {
    id: 'task_1',
    body: '{"text":"Grüße ☃ 🚀"}',
    at,
  })
  expect(signed['webhook-timestamp']).toBe('1700000000')
  expect(signed['webhook-signature']).toBe('v1,bOZiCYngeam0lZPhoeIEWqnqHwJu+om2rVhc4YdbGy8=')
})

test('accepts whsec_ secrets of 24 to 64 base64 bytes, with or without padding', () => {
  const secretOf = (bytes: number) => `whsec_${randomBytes(bytes).toString('base64')}`
  for (const bytes of [24, 25, 26, 32, 63, 64]) {
    expect(parseWebhookSecret(secretOf(bytes))?.length).toBe(bytes)
    expect(parseWebhookSecret(secretOf(bytes).replaceAll('=', ''))?.length).toBe(bytes)
  }
  for (const bytes of [0, 1, 16, 23, 65, 128]) expect(parseWebhookSecret(secretOf(bytes))).toBeUndefined()
})

test.each([
  '',
  'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  'WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n',
  ' whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  'whsec_MfKQ9r8GKYqrTwj-PD8ILPZIo2LaLa_w',
  'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwA',
  'whsec_MfKQ9r8GKYqr=wjUPD8ILPZIo2LaLaSw',
])('rejects the secret %j', (text) => {
  expect(parseWebhookSecret(text)).toBeUndefined()
})
