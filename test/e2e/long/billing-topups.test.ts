import { readFile } from 'node:fs/promises'
import { afterAll, expect } from 'vitest'
import { eventsPath } from '../../api/paying.ts'
import { StripeStub } from '../../payments/stripe-stub.ts'
import { testConsole } from '../open-console.ts'

const stub = await StripeStub.start()
afterAll(() => stub.stop())
const options = { payments: stub.settings, balanceUsd: '0', isAdmin: true }

testConsole(
  'credit can be paid and spent; refunds and lost disputes appear, also to the admin',
  async (opened) => {
    stub.endpoint = opened.service.url + eventsPath
    const { store } = opened.service.app
    const { userId } = opened.visitor
    const page = await opened.open('/billing?tab=payments')
    await page.getByText('No top-ups yet').waitFor()
    const form = page.getByRole('form', { name: 'Add credit' })
    const pay = form.locator('[type=submit]')
    const placeOf = async () => (await pay.boundingBox())?.y
    const place = await placeOf()
    await form.getByRole('button', { name: 'Continue to payment' }).click()
    await form.getByText('Enter an amount in USD').waitFor()
    expect(await placeOf()).toBe(place)
    opened.allow(/status of 400/)
    await form.getByLabel('Amount in USD').fill('2')
    await form.getByRole('button', { name: 'Pay $2.00' }).click()
    await form.getByText('Must be at least $5.00 and at most $1,000.00').waitFor()
    expect(await placeOf()).toBe(place)
    await opened.check('billing-topup-form')
    // Opens the payment page and returns without paying.
    await form.getByRole('button', { name: '$25', exact: true }).click()
    expect(await form.getByLabel('Amount in USD').inputValue()).toBe('25')
    await form.getByRole('button', { name: 'Pay $25.00' }).click()
    await page.getByRole('heading', { name: 'Pay 25.00 USD' }).waitFor()
    await page.getByRole('button', { name: 'Back' }).click()
    await page.getByText('Payment of $25.00 not completed').waitFor()
    expect(await store.getAccount(userId)).toMatchObject({ balance: 0 })
    await page.getByRole('link', { name: 'Continue to payment' }).click()
    await page.getByRole('button', { name: 'Pay', exact: true }).click()
    await page.getByText('$25.00 added to your balance.').waitFor()
    await page.waitForURL('**/billing')
    await page.getByRole('table', { name: 'Transactions, newest first' }).getByText('Top-up of $25.00').waitFor()
    await page.getByRole('tab', { name: 'Payments' }).click()
    const topups = page.getByRole('table', { name: 'Top-ups, newest first' })
    await topups.getByText('Paid').waitFor()
    await topups.getByRole('link', { name: 'Receipt for 25.0000 USD' }).waitFor()
    await opened.check('billing-topup-paid')

    // Pays and saves the payment method for auto-recharge.
    await page.getByText('No saved payment method').waitFor()
    await form.getByLabel('Amount in USD').fill('5.00')
    await form.getByLabel('Save payment method').check()
    await form.getByRole('button', { name: 'Pay $5.00' }).click()
    await page.getByRole('button', { name: 'Pay', exact: true }).click()
    await page.getByRole('tab', { name: 'Payments' }).click()
    await page.getByText('Saved: visa 4242').waitFor()
    await page.getByRole('switch', { name: 'Enable auto-recharge' }).click()
    const recharge = page.getByRole('form', { name: 'Auto-recharge' })
    await recharge.getByLabel('When the balance falls below').fill('5')
    await recharge.getByLabel('Top up to').fill('4')
    await recharge.getByLabel('Monthly maximum').fill('100')
    await recharge.getByRole('button', { name: 'Save auto-recharge' }).click()
    await recharge.getByText('Must be greater than the threshold').waitFor()
    await recharge.getByLabel('Top up to').fill('25')
    await recharge.getByRole('button', { name: 'Save auto-recharge' }).click()
    await page.getByText('Auto-recharge saved.').waitFor()
    await page.getByLabel('Notify me when my balance falls below').fill('100')
    await page.getByRole('button', { name: 'Save threshold' }).click()
    await page.getByRole('alert').filter({ hasText: 'Your balance is low' }).getByText('Add credit').waitFor()
    await page.getByRole('banner').getByLabel('Low balance').waitFor()
    await opened.check('billing-recharge')
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No saved payment method').waitFor()

    // Spends the money, and then reverses the payments.
    await store.credit({ userId, amount: -280_000, description: 'Spent', idempotencyKey: null })
    const first = (await store.payments.listTopups({ userId, limit: 10 })).at(-1)!
    const intent = stub.intentOf(first.id)
    stub.refund(intent, 500)
    const { id } = stub.dispute(intent, 1000)
    stub.endDispute(id, 'lost')
    await expect.poll(async () => (await store.getAccount(userId))?.owed).toBe(130_000)
    await page.goto(`${opened.service.url}/billing?tab=payments`)
    await page.getByText('Outstanding debt').waitFor()
    const notice = page.getByRole('alert').filter({ hasText: 'Payment disputed' })
    await notice.getByText('$5.00 of your payment of $25.00').waitFor()
    await notice.getByText('If the refund fails, the amount returns to your balance.').waitFor()
    await notice.getByText('$10.00 of your payment of $25.00').waitFor()
    await notice.getByText('If the dispute is withdrawn or rejected, the amount returns to your balance.').waitFor()
    await topups.getByText('Disputed', { exact: true }).waitFor()
    await opened.check('billing-owed')

    await page.goto(`${opened.service.url}/admin/users`)
    await page.getByRole('navigation', { name: 'Admin' }).getByRole('link', { name: 'Payments' }).click()
    const all = page.getByRole('table', { name: 'Top-ups of all users' })
    await all.getByText('Disputed', { exact: true }).waitFor()
    await page.getByText('$13.00').first().waitFor()
    await page
      .getByRole('img', { name: /chart of 30 days: \$30\.00 paid, of which \$5\.00 was refunded and \$10\.00/ })
      .waitFor()
    const link = all.getByRole('link', { name: /^Payment of 25\.0000 USD by .* in Stripe$/ })
    expect(await link.getAttribute('href')).toBe(`https://dashboard.stripe.com/test/payments/${intent.id}`)
    await opened.check('admin-payments')
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    const csv = await readFile(await (await download).path(), 'utf8')
    const [head = [], ...cells] = csv.split('\r\n').map((row) => row.split(','))
    const shown = ['status', 'amountUsd', 'refundedUsd', 'disputedUsd', 'userId', 'email']
    expect(cells.map((row) => shown.map((name) => row[head.indexOf(name)]))).toEqual([
      ['paid', '5.0000', '0.0000', '0.0000', userId, opened.visitor.email],
      ['paid', '25.0000', '5.0000', '10.0000', userId, opened.visitor.email],
      shown.map(() => undefined),
    ])
    const choosePeriod = async (name: string) => {
      await page.getByRole('textbox', { name: 'Period' }).click()
      await page.getByRole('option', { name }).click()
    }
    await choosePeriod('Yesterday')
    await page.getByText('No top-ups in this period').waitFor()
    await choosePeriod('Last 7 days')
    await all.getByRole('link', { name: opened.visitor.email }).first().click()
    await page.getByText('Refunded or disputed payments').waitFor()
    expect(await store.verifyLedger()).toMatchObject({ ok: true })
  },
  options,
)
