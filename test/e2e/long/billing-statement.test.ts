import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { parseUsd } from '../../../server/kernel/money.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { createChat } from '../chat-console.ts'
import { screenshots } from '../check-page.ts'
import { testConsole, type OpenConsole } from '../open-console.ts'

const now = new Date()
const dayOf = (monthsAgo: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo, 15)
const nameOf = (monthsAgo: number) =>
  new Date(dayOf(monthsAgo)).toLocaleString('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const monthOf = (monthsAgo: number) => new Date(dayOf(monthsAgo)).toISOString().slice(0, 7)

const clock = new FakeClock(dayOf(2))
const options = {
  clock,
  balanceUsd: '100.0000',
  limits: { executionsPerMinute: 0, abuseFailures: 0 },
  brand: { name: 'Acme Agents', seller: ['Acme GmbH', 'VAT ID DE123456789'] },
}

/** Creates the account with $100 two months ago, and a month with credit, charges, refunds and a correction. */
async function fill({ service, visitor }: OpenConsole): Promise<void> {
  const { userId } = visitor
  clock.advance(dayOf(1) - clock.now())
  const key = await service.createKey(userId)
  const credit = async (usd: string, description: string) =>
    await service.app.store.credit({ userId, amount: parseUsd(usd)!, description, idempotencyKey: null })
  for (let n = 1; n <= 30; n++) await credit('1.2500', `Weekly, "budget" ${n}`)
  for (let n = 0; n < 3; n++) await service.runTask(key, 'text.keywords', { text: 'A' })
  await service.runTask(key, 'demo.fail', { reason: 'x' })
  clock.advance(now.getTime() - clock.now())
}

testConsole(
  'a monthly statement adds up, names the seller, saves as CSV and prints with page numbers',
  async (opened) => {
    await fill(opened)
    // Logs in again, because the first login has expired.
    await opened.start(opened.visitor)
    await createChat(opened.page, 'assistant', ['Hello'])
    const page = await opened.open('/billing')
    await page.getByRole('link', { name: 'Statements' }).click()
    await page.waitForURL('**/billing/statement')
    await page.getByRole('heading', { name: `Statement for ${nameOf(1)}`, level: 1 }).waitFor()
    const rowsOf = async (name: string) => await page.getByRole('table', { name }).locator('tbody tr').allTextContents()
    const transactions = (
      await opened.service.app.store.listTransactions({
        userId: opened.visitor.userId,
        limit: 100,
        offset: 0,
      })
    ).transactions.filter(({ createdAt }) => createdAt >= dayOf(1) && createdAt < dayOf(0))
    const used = -transactions.filter(({ type }) => type !== 'credit').reduce((sum, { amount }) => sum + amount, 0)
    expect(used).toBeGreaterThan(0)
    const usd = (units: number) => `$${(units / 10_000).toFixed(4)}`
    expect(await rowsOf('Summary')).toEqual([
      'Opening balance$100.0000',
      'Credit and adjustments+$37.5000',
      `Tasks and chats\u2212${usd(used)}`,
      `Closing balance${usd(1_375_000 - used)}`,
    ])
    const credits = await rowsOf('Credit and adjustments')
    expect(credits).toHaveLength(30)
    expect(credits[0]).toMatch(/^Weekly, "budget" 1txn_\w+20\d\d-\d\d-15\+\$1\.2500$/)
    expect(await rowsOf('Tasks and chats')).toEqual([`text.keywords3\u2212${usd(used)}`, 'demo.fail1$0.0000'])
    await page.getByText('VAT ID DE123456789').waitFor()
    await page.getByText(`${monthOf(1)}-${opened.visitor.userId.slice(-8)}`).waitFor()
    await opened.check('statement')

    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ])
    expect(file.suggestedFilename()).toBe(`errand-transactions-${monthOf(1)}.csv`)
    const lines = (await readFile(await file.path(), 'utf8')).split('\r\n')
    expect(lines.slice(1, -1).map((line) => line.split(',')[0])).toEqual(transactions.map(({ id }) => id))

    await page.evaluate(() => void (globalThis.print = () => void (document.body.dataset['printed'] = 'yes')))
    await page.getByRole('button', { name: 'Save as PDF' }).click()
    await page.locator('body[data-printed]').waitFor()
    const pdf = await page.pdf({ path: join(screenshots, 'statement.pdf'), preferCSSPageSize: true, format: 'A4' })
    expect(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)!.length).toBeGreaterThan(1)
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    expect(await page.getByRole('banner').isVisible()).toBe(false)
    expect(await page.getByLabel('Month').isVisible()).toBe(false)
    expect(await page.getByRole('table', { name: 'Summary' }).isVisible()).toBe(true)
    await page.emulateMedia({ media: 'screen', colorScheme: 'light' })

    expect(await page.getByLabel('Month').locator('option').allTextContents()).toEqual([0, 1, 2].map(nameOf))
    await page.getByLabel('Month').selectOption(nameOf(0))
    await page.getByText(`${nameOf(0)}, to date`).waitFor()
    await page.getByText('Chat with assistant').waitFor()
    expect((await rowsOf('Summary'))[0]).toBe(`Opening balance${usd(1_375_000 - used)}`)
    expect(await page.getByText('Number', { exact: true }).count()).toBe(0)
  },
  options,
)

const quiet = new FakeClock(dayOf(2))

testConsole(
  'a month without transactions has the balance before it',
  async (opened) => {
    quiet.advance(dayOf(0) - quiet.now())
    await opened.start(opened.visitor)
    const page = await opened.open(`/billing/statement?month=${monthOf(1)}`)
    await page.getByRole('heading', { name: `Statement for ${nameOf(1)}` }).waitFor()
    const rows = page.getByRole('table', { name: 'Summary' }).locator('tbody tr')
    await rows.first().waitFor()
    expect(await rows.allTextContents()).toEqual([
      'Opening balance$100.0000',
      'Credit and adjustments$0.0000',
      'Tasks and chats$0.0000',
      'Closing balance$100.0000',
    ])
    expect(await page.getByRole('table').count()).toBe(1)
  },
  { clock: quiet, balanceUsd: '100.0000' },
)
