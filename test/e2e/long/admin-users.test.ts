import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { must } from '../../../server/kernel/assert.ts'
import { nothingUsed } from '../../../server/store/sessions/turn-endings.ts'
import type { Person, TestService } from '../../support/test-service.ts'
import { grace, logInGrace } from '../admin-second-person.ts'
import { testConsole } from '../open-console.ts'

async function afterIt(page: Page): Promise<string> {
  return must(await page.getByTestId('balance-after').textContent(), 'a text')
}

async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab')
    const here = await page.evaluate(() => {
      const { activeElement: at } = document
      const label = at?.getAttribute('aria-label') ?? (at as HTMLInputElement | null)?.labels?.[0]?.textContent
      return label ?? at?.textContent ?? ''
    })
    if (here.trim() === name) return
  }
  throw new Error(`the keyboard does not reach ${name}`)
}

testConsole(
  'an admin finds a user by email and adds credit, which the user sees',
  async (opened) => {
    const { page: theirs } = await logInGrace(opened)
    const page = await opened.open('/admin/users')
    await opened.check('admin-users')
    for (let count = 0; count < 60; count++) {
      await opened.service.app.store.createUser({
        email: `user-${count}@example.com`,
        passwordHash: null,
        isAdmin: false,
      })
    }
    await page.reload()
    await page.getByText('1–50 of 62').waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('51–62 of 62').waitFor()
    expect(new URL(page.url()).search).toBe('?offset=50')

    await page.getByLabel('Search by email or ID').fill('nobody+here@')
    await page.getByText('No email address contains “nobody+here@”').waitFor()
    expect(new URL(page.url()).searchParams.get('search')).toBe('nobody+here@')
    await opened.check('admin-users-nobody')
    await page.getByRole('button', { name: 'Clear search' }).click()
    await page.getByText('1–50 of 62').waitFor()
    await page.getByLabel('Search by email or ID').fill('GRACE')
    await page.getByText('1–1 of 1').waitFor()
    await page.reload()
    expect(await page.getByLabel('Search by email or ID').inputValue()).toBe('GRACE')

    await page.getByRole('link', { name: grace.email }).click()
    await page.getByRole('heading', { level: 1, name: grace.email }).waitFor()
    await page.getByRole('button', { name: 'Add credit' }).click()
    await page.getByText('Enter an amount in USD greater than zero').waitFor()
    await page.getByText('Enter a reason').waitFor()
    await opened.check('admin-user-refused')
    await page.getByLabel('Amount in USD').fill('0.00001')
    expect(await afterIt(page)).toBe('–')
    await page.getByLabel('Amount in USD').fill('2.5001')
    expect(await afterIt(page)).toBe('$12.5001')
    await page.getByLabel('Reason (visible to the user)').fill('Invoice 2041')
    await page.getByRole('button', { name: 'Add credit' }).click()
    await page.getByText('The balance of grace@example.com is $12.5001.').waitFor()
    await page.getByRole('row', { name: /Invoice 2041 Credit \+\$2\.5001 \$12\.5001/ }).waitFor()
    expect(await page.getByLabel('Amount in USD').inputValue()).toBe('')

    await theirs.goto('/billing')
    await theirs.getByRole('link', { name: 'Balance $12.50' }).waitFor()
    await theirs.getByText('Invoice 2041').first().waitFor()
  },
  { isAdmin: true },
)

testConsole(
  "users' pages show chat usage beyond the balance as written off",
  async (opened) => {
    const { service } = opened
    const { key, userId } = await service.createPerson({ ...grace, balanceUsd: '10.0000' })
    await writeOff(service, { key, userId })
    const page = await opened.open('/admin/users')
    await page.getByRole('columnheader', { name: 'Written off' }).waitFor()
    await page.getByRole('row', { name: /grace@example\.com Active \$0\.0000 \$10\.0000 \$2\.3456/ }).waitFor()
    await page.getByRole('row', { name: /ada@example\.com .* \$25\.0000 \$0\.0000 \$0\.0000 Never/ }).waitFor()
    for (const [order, email] of [
      ['Highest spend', grace.email],
      ['Oldest first', opened.visitor.email],
      ['Last active', grace.email],
    ] as const) {
      await page.getByRole('textbox', { name: 'Sort by' }).click()
      await page.getByRole('option', { name: order }).click()
      await page.locator('tbody tr').first().filter({ hasText: email }).waitFor()
    }
    expect(new URL(page.url()).searchParams.get('order')).toBe('active')
    await opened.check('admin-users-written-off')
    await page.getByRole('link', { name: grace.email }).click()
    await page.getByRole('heading', { level: 1, name: grace.email }).waitFor()
    const terms = page.locator('dl > div').filter({ hasText: 'Total written off' })
    await terms.getByText('$2.35').and(terms.getByTitle('$2.3456')).waitFor()
    await opened.check('admin-user-written-off')
  },
  { isAdmin: true },
)

/** Settles a chat with a usage that exceeds its user's $10 by $2.3456. */
async function writeOff(service: TestService, { key, userId }: Pick<Person, 'key' | 'userId'>): Promise<void> {
  const { body } = await service.post('/api/sessions', { agentId: 'assistant' }, { key })
  const { store } = service.app
  const [sessionId, turnId] = [body.sessionId as string, 'turn_written_off']
  const of = { userId, sessionId, turnId, idempotency: null, required: 1, hold: 1 }
  expect(await store.openTurn(of)).toMatchObject({ outcome: 'opened' })
  const settle = { turnId, outcome: 'failed', cost: 123_456, breakdown: nothingUsed, exchange: null } as const
  expect(await store.settleTurn(settle)).toMatchObject({ charged: 100_000, writtenOff: 23_456 })
}

testConsole(
  'an admin deducts credit by keyboard alone; errors appear at the field; it is deducted once',
  async (opened) => {
    opened.allow(/status of 400|Failed to fetch|ERR_FAILED/)
    const { store } = opened.service.app
    const { userId } = await opened.service.createPerson({ ...grace, balanceUsd: '10.0000' })
    const page = await opened.open('/admin/users')
    await tabTo(page, 'Search by email or ID')
    await page.keyboard.type('grace')
    await page.keyboard.press('Enter')
    await page.getByText('1–1 of 1').waitFor()
    await tabTo(page, grace.email)
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1')

    await page.getByLabel('Amount in USD').waitFor()
    await tabTo(page, 'Add')
    await page.keyboard.press('ArrowRight')
    await tabTo(page, 'Amount in USD')
    await page.keyboard.type('8')
    expect(await afterIt(page)).toBe('$2.00')
    await page.keyboard.press('Tab')
    await page.keyboard.type('Wrong credit')

    // Another admin debits the balance concurrently.
    await store.credit({ userId, amount: -50_000, description: 'Meanwhile', idempotencyKey: null })
    await page.keyboard.press('Enter')
    await takeIt(page)
    await page.locator('input[name="amountUsd"]:focus').waitFor()
    await page.getByText('You can deduct at most $5.00.').first().waitFor()
    expect(await afterIt(page)).toBe('−$3.00')
    await opened.check('admin-user-too-much')

    // The service books the credit, but the page never gets the response.
    await page.route('**/trpc/users.credit*', async (route) => {
      const headers = { ...(await route.request().allHeaders()), origin: opened.service.url }
      const response = await route.fetch({ headers })
      expect(await response.json()).toMatchObject({ result: {} })
      await route.abort()
    })
    await page.locator('input[name="amountUsd"]').focus()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.type('4.9999')
    await page.keyboard.press('Enter')
    await takeIt(page)
    await page.getByText('Could not confirm the change').waitFor()
    expect(await afterIt(page)).toBe('–')
    await opened.check('admin-user-unknown-outcome')
    await page.unroute('**/trpc/users.credit*')
    await page.locator('input[name="amountUsd"]').focus()
    await page.keyboard.press('Enter')
    await takeIt(page)
    await page.getByText('The balance of grace@example.com is $0.0001.').waitFor()
    await page.getByRole('row', { name: /Wrong credit Adjustment −\$4\.9999 \$0\.0001/ }).waitFor()
    expect(await page.getByRole('row', { name: /Wrong credit/ }).count()).toBe(1)
  },
  { isAdmin: true },
)

testConsole(
  'rejects a deduction or credit above the maximum, names the maximum, and sends nothing',
  async (opened) => {
    const { service } = opened
    const { userId } = await service.createPerson({ ...grace, balanceUsd: '1007.5000' })
    const sent: string[] = []
    opened.page.on('request', (request) => {
      if (request.url().includes('users.credit')) sent.push(request.url())
    })
    const page = await opened.open(`/admin/users/${userId}`)
    await page.getByText('Deduct', { exact: true }).click()
    await page.getByLabel('Amount in USD').fill('2000')
    await page.getByLabel('Reason (visible to the user)').fill('Too much')
    const said = page.getByRole('status').getByText('You can deduct at most $1,007.50.')
    await said.waitFor()
    await page.getByRole('button', { name: 'Deduct credit' }).click()
    await page.locator('input[name="amountUsd"]:focus').waitFor()
    expect(await page.getByText('You can deduct at most $1,007.50.').count(), 'at the field too').toBe(2)
    expect(await page.getByRole('dialog').count()).toBe(0)
    await opened.check('admin-user-more-than-there-is')

    await page.getByText('Add', { exact: true }).click()
    await page.getByLabel('Amount in USD').fill('99999999999')
    await page.getByRole('button', { name: 'Add credit' }).click()
    await page.locator('input[name="amountUsd"]:focus').waitFor()
    const most = 'You can add at most $99,999,998,992.50, because the maximum balance is $100,000,000,000.00.'
    await page.getByText(most).first().waitFor()
    expect(sent).toEqual([])

    // The whole balance can be deducted.
    await page.getByText('Deduct', { exact: true }).click()
    await page.getByLabel('Amount in USD').fill('1007.5')
    expect(await afterIt(page)).toBe('$0.00')
    await page.getByRole('button', { name: 'Deduct credit' }).click()
    await page.getByRole('dialog').getByText('Deduct $1,007.50?').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Deduct' }).click()
    await page.getByText('$1,007.50 deducted. The balance of grace@example.com is $0.00.').waitFor()
  },
  { isAdmin: true },
)

/** Confirms a debit. The dialog's focus starts on the cancel button. */
async function takeIt(page: Page): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}
