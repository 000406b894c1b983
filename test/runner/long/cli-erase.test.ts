import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { StripeStub } from '../../payments/stripe-stub.ts'
import { runErrand } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { besideServer, openAccount } from '../process-client.ts'

/** Creates a user with 10 USD and a saved card. */
async function openPayer(dataDir: string): Promise<{ email: string; userId: string }> {
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
  return { email, userId }
}

test('users erase removes a saved card at the provider first, or erases nothing', async () => {
  const dataDir = newDataDir()
  const { email, userId } = await openPayer(dataDir)
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

test('users erase --leave-saved-method erases without a provider, and names the card that remains there', async () => {
  const dataDir = newDataDir()
  const { email, userId } = await openPayer(dataDir)
  const erase = ['users', 'erase', '--user', email, '--forfeit-balance-usd', '10', '--leave-saved-method']
  expect(await runErrand([...erase, '--data', dataDir])).toBe(
    `${userId} was erased.\nThe payment method pm_1 of the customer cus_1 is still saved at the payment provider. Remove it there.\n`,
  )
  const { acts } = JSON.parse(await runErrand(['audit', 'list', '--data', dataDir, '--json']))
  expect(acts[0]).toMatchObject({ action: 'user.erased', actor: 'commandLine', userId })
  expect(JSON.parse(acts[0].change)).toEqual({
    forfeitedUsd: '10.0000',
    leftMethod: { customerId: 'cus_1', methodId: 'pm_1' },
  })
  expect(await runErrand(['ledger', 'verify', '--data', dataDir])).toContain('consistent')
  rmSync(dataDir, { recursive: true })
})
