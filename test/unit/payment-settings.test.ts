import { expect, test } from 'vitest'
import { resolvePayments } from '../../server/app/config.ts'

const both = { ERRAND_STRIPE_SECRET_KEY: 'sk_test_abc', ERRAND_STRIPE_WEBHOOK_SECRET: 'whsec_abc' }

test('payments are off without secrets, and an empty variable counts as unset', () => {
  expect(resolvePayments({})).toBeUndefined()
  expect(resolvePayments({ ERRAND_STRIPE_SECRET_KEY: '', ERRAND_STRIPE_WEBHOOK_SECRET: '' })).toBeUndefined()
  expect(resolvePayments(both)).toEqual({ secretKey: 'sk_test_abc', webhookSecret: 'whsec_abc', returnOrigins: [] })
  const more = {
    ERRAND_STRIPE_API_URL: 'http://127.0.0.1:4242',
    ERRAND_PAYMENT_RETURN_ORIGINS: 'https://app.example.com, http://localhost:3001',
  }
  expect(resolvePayments({ ...both, ...more })).toMatchObject({
    apiUrl: 'http://127.0.0.1:4242',
    returnOrigins: ['https://app.example.com', 'http://localhost:3001'],
  })
})

test.each([
  ['ERRAND_STRIPE_WEBHOOK_SECRET', { ...both, ERRAND_STRIPE_WEBHOOK_SECRET: '' }],
  ['ERRAND_STRIPE_SECRET_KEY', { ...both, ERRAND_STRIPE_SECRET_KEY: '' }],
  ['ERRAND_STRIPE_SECRET_KEY', { ...both, ERRAND_STRIPE_SECRET_KEY: 'pk_test_public' }],
  ['ERRAND_STRIPE_WEBHOOK_SECRET', { ...both, ERRAND_STRIPE_WEBHOOK_SECRET: 'secret' }],
  ['ERRAND_STRIPE_API_URL', { ...both, ERRAND_STRIPE_API_URL: 'https://api.example.com/v1' }],
  ['ERRAND_PAYMENT_RETURN_ORIGINS', { ...both, ERRAND_PAYMENT_RETURN_ORIGINS: 'https://app.example.com/path' }],
  ['ERRAND_PAYMENT_RETURN_ORIGINS', { ...both, ERRAND_PAYMENT_RETURN_ORIGINS: 'javascript:alert(1)' }],
])('rejects an invalid %s by name without quoting its value', (name, env) => {
  expect(() => resolvePayments(env)).toThrow(new RegExp(`^${name}: `))
  for (const secret of ['abc', 'pk_test_public']) expect(() => resolvePayments(env)).not.toThrow(secret)
})
