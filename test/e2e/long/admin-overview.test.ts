import { expect } from 'vitest'
import { testConsole } from '../open-console.ts'

const text = { text: 'A text with some words. It has two sentences.' }

testConsole(
  'the admin overview shows revenue, balances, failures and running work',
  async (opened) => {
    const { service } = opened
    const { key, userId } = await service.createPerson({ balanceUsd: '5' })
    for (const endpointId of ['text.summarize', 'text.keywords', 'demo.fail'])
      await service.runTask(key, endpointId, text)
    const page = await opened.open('/admin')
    await page.waitForURL('**/admin/overview')
    const tiles = page.locator('dl').first()
    await tiles.getByText('Margin $0.0150, no configured provider cost').first().waitFor()
    await tiles
      .getByText(/^\$\d+\.\d{4}$/)
      .first()
      .waitFor()
    const figures = await tiles.textContent()
    expect(figures).toContain('Revenue today$0.0150')
    expect(figures).toContain('Revenue yesterday$0.00No executions')
    expect(figures).toContain('Revenue in the last 30 days$0.0150')
    await page.getByRole('img', { name: '30 days: $0.0150 revenue' }).waitFor()
    await page.locator('[data-bar]').first().waitFor()
    await page.getByText('No issues found').waitFor()
    const agents = page.getByRole('table', { name: 'Failures by agent, last 7 days' })
    expect(await agents.locator('tbody tr td').allTextContents()).toEqual(['demo', '1', '1', '100%'])
    await page.getByText('Queued tasks').waitFor()
    const failures = page.getByRole('table', { name: 'Newest failures' })
    expect(await failures.locator('tbody tr').count()).toBe(1)
    expect(await failures.locator('tbody tr').textContent()).toMatch(/^demo\.failAGENT_ERROR.+@/)
    const hours = page.getByRole('table', { name: 'Tasks since the server started' })
    const cells = await hours.locator('tbody tr').first().locator('td').allTextContents()
    // The tasks can be in two hours.
    expect(Number(cells[3])).toBeLessThanOrEqual(3)
    expect(cells[5]).toMatch(/%$/)
    await opened.check('admin-overview')
    await failures.getByRole('link', { name: 'demo.fail' }).click()
    await page.waitForURL(new RegExp(`/admin/users/${userId}/tasks/task_`))
    await page.goBack()

    const users = page.getByRole('table', { name: 'Failures by user, last 7 days' })
    expect(await users.locator('tbody tr').textContent()).toContain('1333.3%')
    await users.getByRole('link').click()
    await page.waitForURL(`**/admin/users/${userId}`)
  },
  { isAdmin: true },
)
