import { readFile } from 'node:fs/promises'
import type { Download, Page } from 'playwright-core'
import { expect } from 'vitest'
import { testConsole, type OpenConsole } from '../open-console.ts'

const read = async (download: Download) => await readFile(await download.path(), 'utf8')

/** Runs a failing task, a successful one, and a chat. */
async function spend({ service, visitor }: OpenConsole) {
  const key = await service.createKey(visitor.userId)
  const failed = await service.runTask(key, 'demo.fail')
  const task = await service.runTask(key, 'text.keywords', { text: 'Words about words.' })
  const { body } = await service.post('/api/sessions', { agentId: 'assistant' }, { key })
  await service.post('/api/chat', { sessionId: body.sessionId, message: 'Hello' }, { key })
  return { failed, task, sessionId: body.sessionId as string }
}

async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate(() => {
      const element = document.activeElement
      const label = element instanceof HTMLSelectElement ? element.labels[0]?.textContent : element?.textContent
      return element?.getAttribute('aria-label') ?? label
    })
    if (focused === name) return
  }
  throw new Error(`The keyboard does not reach ${name}.`)
}

testConsole('transactions are listed with links to their receipts, and can be filtered by type', async (opened) => {
  const { failed, sessionId, task } = await spend(opened)
  const page = await opened.open('/billing')
  const rows = page.getByRole('table', { name: 'Transactions' }).locator('tbody tr')
  expect(await rows.count()).toBe(5)
  const hrefs = await rows
    .locator('td:first-child')
    .evaluateAll((cells) => cells.map((cell) => cell.querySelector('a')?.getAttribute('href') ?? null))
  expect(hrefs).toEqual([`/chat/${sessionId}`, `/tasks/${task.id}`, `/tasks/${failed.id}`, `/tasks/${failed.id}`, null])
  await opened.check('billing')

  await page.getByLabel('Type', { exact: true }).selectOption('Task refunds')
  await page.waitForURL('**/billing?type=task_refund')
  await page.getByText('1–1 of 1').waitFor()
  await page.getByRole('button', { name: 'Code examples' }).click()
  await page.getByRole('dialog').getByText('/api/transactions?type=task_refund&limit=50&offset=0').waitFor()
  await page.keyboard.press('Escape')
  expect(await rows.textContent()).toContain('+$0.0100')
  await rows.getByRole('link', { name: /^Receipt/ }).click()
  await page.waitForURL(`**/billing/receipt?taskId=${failed.id}`)
})

testConsole(
  'filtering, exporting all matching pages and canceling an export work by keyboard alone',
  async (opened) => {
    const { page, service, visitor } = opened
    const { userId } = visitor
    for (let n = 1; n <= 120; n++) {
      await service.app.store.credit({ userId, amount: n, description: `=Credit, "${n}"`, idempotencyKey: null })
    }
    await opened.open('/billing')
    await tabTo(page, 'Type')
    await page.keyboard.press('C')
    await page.waitForURL('**/billing?type=credit')
    await page.getByText('1–50 of 121').waitFor()
    await tabTo(page, 'Next')
    await page.keyboard.press('Enter')
    await page.getByText('51–100 of 121').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('101–121 of 121').waitFor()

    // Delayed, so that the export stays in progress.
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route(/transactions\.list.*%22offset%22%3A100|"offset":100/, async (route) => {
      await held
      await route.continue().catch(() => {})
    })
    await tabTo(page, 'Export CSV')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Exporting transactions' })
    await dialog.getByText('100 of 121').waitFor()
    expect(await dialog.getByRole('progressbar').getAttribute('aria-valuenow')).toBe('82')
    await opened.check('billing-export')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    await page.waitForFunction(() => document.activeElement?.textContent === 'Export CSV')
    release()
    await page.unrouteAll({ behavior: 'wait' })

    const [file] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
    expect(file.suggestedFilename()).toMatch(/^errand-transactions-credit-\d{4}-\d\d-\d\d\.csv$/)
    const lines = (await read(file)).split('\r\n')
    expect(lines.length).toBe(123)
    expect(lines[1]).toContain(`,credit,"'=Credit, ""120""",0.0120,`)
    await page.getByText('Transactions exported.').waitFor()
    await dialog.waitFor({ state: 'hidden' })
  },
)

testConsole('a failed export or list shows an error and can be retried', async (opened) => {
  opened.allow(/Failed to load resource/)
  const page = await opened.open('/billing')
  await page.route('**/trpc/transactions.list**', (route) => route.abort())
  await page.getByRole('button', { name: 'Export CSV' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Export failed').waitFor()
  await page.unrouteAll()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('button', { name: 'Try again' }).click(),
  ])
  expect((await read(file)).split('\r\n').length).toBe(3)

  await page.route('**/trpc/**', (route) => route.abort())
  await page.getByLabel('Type', { exact: true }).selectOption('Chat charges')
  await page.getByText('Could not reach the service. Retrying…').waitFor()
  await page.unrouteAll()
  await page.getByText('No matching transactions').waitFor()
  await page.getByRole('link', { name: 'Show all' }).click()
  await page.getByText('1–1 of 1').waitFor()
})

testConsole(
  'an empty transaction list and a page past the end say what to do',
  async (opened) => {
    const page = await opened.open('/billing')
    await page.getByText('No transactions yet').waitFor()
    expect(await page.getByRole('button', { name: 'Export CSV' }).isDisabled()).toBe(true)
    await opened.check('billing-empty')
    await opened.open('/billing?offset=50')
    await page.getByRole('button', { name: 'Go to first page' }).click()
    await page.waitForURL('**/billing')
  },
  { balanceUsd: '0.0000' },
)
