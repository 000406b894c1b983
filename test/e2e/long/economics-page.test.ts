import { expect } from 'vitest'
import { testConsole } from '../open-console.ts'

const text = { text: 'A text with some words. It has two sentences.' }

testConsole(
  'shows what the operator earned, from a period to a day and its users',
  async (opened) => {
    const { service } = opened
    const { key, userId } = await service.createPerson()
    for (const endpointId of ['text.summarize', 'text.keywords', 'demo.fail'])
      await service.runTask(key, endpointId, text)
    const today = new Date().toISOString().slice(0, 10)
    const page = await opened.open('/admin/economics')
    await page.getByRole('img', { name: '30 days: $0.0150 revenue, $0.00 provider cost' }).waitFor()
    await page.locator('[data-bar]').first().waitFor()
    const figures = await page.locator('dl').first().textContent()
    expect(figures).toContain('Revenue$0.0150')
    await opened.check('admin-economics')

    await page.getByRole('table', { name: 'Totals by day' }).getByRole('link').click()
    await page.waitForURL(`**/admin/economics?period=custom&from=${today}&to=${today}&groupBy=user`)
    const users = page.getByRole('table', { name: 'Totals by user' })
    await users.waitFor()
    expect(await users.locator('tbody tr td').allTextContents()).toEqual(
      expect.arrayContaining(['3', '1', '$0.0250', '$0.0100', '$0.0150']),
    )
    await opened.check('admin-economics-day')
    await users.getByRole('link').click()
    await page.waitForURL(`**/admin/users/${userId}`)
  },
  { isAdmin: true },
)

testConsole(
  'ignores an invalid period or group in the URL',
  async (opened) => {
    for (const search of ['period=2026-02-28', 'period=constructor', 'groupBy=constructor']) {
      const page = await opened.open(`/admin/economics?${search}`)
      await page.getByText('No executions ended in this period').waitFor()
      expect(await page.getByRole('textbox', { name: 'Period' }).inputValue()).toBe('Last 30 days')
    }
  },
  { isAdmin: true },
)
