import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { StripeStub } from '../../payments/stripe-stub.ts'
import { runErrand } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { besideServer, openAccount } from '../process-client.ts'

test('users erase removes a saved card at the provider first, or erases nothing', async () => {
  const dataDir = newDataDir()
  const { email, userId } = await openAccount(dataDir, 'person@example.com', 0)
  const topup = { topupId: 'top_1', userId, provider: 'stripe', amount: 100_000, idempotency: null } as const
  const state = {
    topupId: 'top_1',
    status: 'paid',
    paid: { amount: 100_000, currency: 'usd' },
    method: { customerId: 'cus_1', methodId: 'pm_1', methodLabel: 'visa 4242' },
    reason: null,
    checkoutId: null,
    paymentId: 'pi_1',
    receiptUrl: null,
    refunded: 0,
    disputed: 0,
  } as const
  await besideServer(dataDir, async ({ payments }) => {
    await payments.createTopup(topup)
    await payments.applyState({ state, version: 0 })
  })
  const stub = await StripeStub.start()
  const env = {
    ERRAND_STRIPE_SECRET_KEY: stub.settings.secretKey,
    ERRAND_STRIPE_WEBHOOK_SECRET: stub.settings.webhookSecret,
    ERRAND_STRIPE_API_URL: stub.url,
  }
  const erase = (given: Record<string, string> = {}) =>
    runErrand(['users', 'erase', '--user', email, '--forfeit-balance-usd', '10', '--data', dataDir], given)
  await expect(erase()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('ERRAND_STRIPE_SECRET_KEY') })
  stub.failure = 401
  await expect(erase(env)).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing was erased.') })
  const { erasedAt } = (await besideServer(dataDir, (store) => store.getUser(userId)))!
  expect([erasedAt, stub.detached.size]).toEqual([null, 0])
  stub.failure = undefined
  expect(await erase(env)).toBe(`${userId} was erased.\n`)
  expect([...stub.detached]).toEqual(['pm_1'])
  await stub.stop()
  rmSync(dataDir, { recursive: true })
})
