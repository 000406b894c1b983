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

testConsole('filtering, paging and downloading all matching transactions work by keyboard alone', async (opened) => {
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

  await tabTo(page, 'Download CSV')
  const [file] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
  expect(file.suggestedFilename()).toMatch(/^errand-transactions-credit-\d{4}-\d\d-\d\d\.csv$/)
  const lines = (await read(file)).split('\r\n')
  expect(lines.length).toBe(123)
  expect(lines[1]).toContain(`,credit,"'=Credit, ""120""",0.0120,`)
})

testConsole('a period limits the list and its export', async (opened) => {
  await spend(opened)
  const page = await opened.open('/billing')
  await page.getByText('1–5 of 5').waitFor()
  await page.getByRole('textbox', { name: 'Created' }).click()
  await page.getByRole('option', { name: 'Custom range' }).click()
  await page.getByLabel('From').fill('2020-01-01')
  await page.getByLabel('To').fill('2020-01-31')
  await page.getByText('No matching transactions').waitFor()
  expect(await page.getByRole('button', { name: 'Download CSV' }).isDisabled()).toBe(true)
  await page.getByLabel('To').fill('')
  await page.getByText('1–5 of 5').waitFor()
  const asked = page.waitForRequest('**/api/transactions/export**')
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  expect(new URL((await asked).url()).searchParams.get('createdAfter')).toMatch(/^20(19-12-31|20-01-01)T/)
  const [names, ...lines] = (await read(file)).trimEnd().split('\r\n')
  expect(names).toContain(',agentId,endpointId,keyId,tags,')
  expect(lines).toHaveLength(5)
})

testConsole('a failed download or list shows an error and can be retried', async (opened) => {
  opened.allow(/Failed to load resource/)
  const page = await opened.open('/billing')
  await page.route('**/api/transactions/export**', (route) => route.abort())
  await page.getByRole('button', { name: 'Download CSV' }).click()
  await page.getByText('Could not create the file').waitFor()
  await page.unrouteAll()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
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
    expect(await page.getByRole('button', { name: 'Download CSV' }).isDisabled()).toBe(true)
    await opened.check('billing-empty')
    await opened.open('/billing?offset=50')
    await page.getByRole('button', { name: 'Go to first page' }).click()
    await page.waitForURL('**/billing')
  },
  { balanceUsd: '0.0000' },
)
