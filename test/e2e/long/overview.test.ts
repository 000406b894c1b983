import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { testConsole, type OpenConsole } from '../open-console.ts'

async function runTask({ service }: OpenConsole, key: string, endpointId: string): Promise<string> {
  const task = await service.runTask(key, endpointId, { text: 'A text with some words. It has two sentences.' })
  return task.id
}

async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate(() => {
      const element = document.activeElement
      const label = element instanceof HTMLInputElement ? element.labels?.[0]?.textContent : element?.textContent
      return element?.getAttribute('aria-label') ?? label ?? ''
    })
    if (typeof name === 'string' ? focused === name : name.test(focused)) return
  }
  throw new Error(`The keyboard does not reach ${name}.`)
}

const tile = (page: Page, label: string) => page.locator('dl > div', { hasText: label })

testConsole('shows the days of the selected period as a chart and as a table', async (opened) => {
  const key = await opened.service.createKey(opened.visitor.userId)
  for (const endpointId of ['text.summarize', 'text.keywords', 'demo.fail']) await runTask(opened, key, endpointId)
  const page = await opened.open('/')
  await page.getByRole('img', { name: 'last 30 days: $0.0250 charged, $0.0100 refunded' }).waitFor()
  await page.locator('[data-bar]').first().waitFor()
  expect(await tile(page, 'Spent in the last 30 days').textContent()).toContain('$0.0150')
  expect(await tile(page, 'Executions').textContent()).toContain('1 failed, 33.3%')
  await opened.check('overview')

  await page.getByText('7 days', { exact: true }).click()
  await page.waitForURL('**/?days=7')
  await page.getByRole('img', { name: 'last 7 days' }).waitFor()
  await page.getByRole('button', { name: 'Code examples' }).click()
  await page.getByRole('dialog').getByText('/api/usage?days=7').waitFor()
  await opened.check('overview-code')
  await page.keyboard.press('Escape')
  await page.getByText('Table', { exact: true }).click()
  const rows = page.getByRole('table', { name: 'Spend per day' }).locator('tbody tr')
  expect(await rows.count()).toBe(7)
  const today = new Date().toISOString().slice(0, 10)
  expect(await rows.first().locator('time').getAttribute('datetime')).toBe(today)
  expect(await rows.first().locator('td').allTextContents()).toEqual([
    expect.anything(),
    '$0.0250',
    '$0.0000',
    '$0.0100',
    '3',
    '1',
  ])
  await opened.check('overview-table')

  const newest = page.getByRole('table', { name: 'Recent transactions' })
  await newest.getByRole('link', { name: /Refund of task demo.fail/ }).click()
  await page.waitForURL('**/billing/receipt?taskId=*')
})

testConsole('period and table can be selected, and a task opened, by keyboard alone', async (opened) => {
  const key = await opened.service.createKey(opened.visitor.userId)
  const taskId = await runTask(opened, key, 'text.keywords')
  const page = await opened.open('/')
  await tabTo(page, '30 days')
  await page.keyboard.press('ArrowRight')
  await page.waitForURL('**/?days=90')
  await tabTo(page, 'Chart')
  await page.keyboard.press('ArrowRight')
  const table = page.getByRole('table', { name: 'Spend per day' })
  await table.waitFor()
  await page.waitForFunction(
    () => document.querySelectorAll('table[aria-label="Spend per day"] tbody tr').length === 90,
  )
  await tabTo(page, new RegExp(`${taskId.slice(-8)}$`))
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/tasks/${taskId}`)
})

testConsole('an unreachable service is reported once, until it is reached', async (opened) => {
  opened.allow(/Failed to load resource/)
  const { page } = opened
  await page.route('**/trpc/**', (route) => route.abort())
  await page.goto('/')
  const alert = page.getByRole('alert')
  await alert.getByText('Could not reach the service. Retrying…').waitFor()
  expect(await alert.count()).toBe(1)
  await page.unroute('**/trpc/**')
  await page.getByRole('region', { name: 'Getting started' }).waitFor()
  await alert.waitFor({ state: 'detached' })
})
