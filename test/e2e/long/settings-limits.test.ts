import { expect } from 'vitest'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import { grace, logInGrace } from '../admin-second-person.ts'
import { testConsole } from '../open-console.ts'

const plans = {
  free: { tasksWaiting: 5, spendPerDayUsd: '1.0000', agents: ['text'] },
  paid: { executionsPerMinute: 100 },
}
const config = { ...quickstart, plans, defaultPlan: 'free' }

testConsole('a key can be created with limits, shows its spending, and its limits can be changed', async (opened) => {
  const page = await opened.open('/settings/keys')
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Create API key' }).first().click()
  await dialog.getByLabel('Name').fill('batch')
  await dialog.getByRole('button', { name: 'Limits' }).click()
  await dialog.getByLabel('Spending limit').fill('much')
  await dialog.getByRole('button', { name: 'Create API key' }).click()
  await dialog.getByText('Enter an amount in USD').waitFor()
  await opened.check('key-limits-errors')
  await dialog.getByLabel('Spending limit').fill('0.015')
  await dialog.getByLabel('Period').selectOption('month')
  await dialog.getByRole('textbox', { name: 'Allowed agents' }).fill('Text')
  await page.getByRole('option', { name: 'Text tools' }).click()
  await dialog.getByRole('button', { name: 'Create API key' }).click()
  const token = (await dialog.getByLabel('New API key', { exact: true }).textContent()) ?? ''
  await dialog.getByRole('button', { name: 'I have stored the key' }).click()
  await dialog.waitFor({ state: 'detached' })

  const task = () => opened.service.createTask(token, 'text.summarize', { text: 'One sentence. Another one.' })
  expect((await task()).status).toBe(200)
  expect((await task()).body.code).toBe('LIMIT_REACHED')
  await page.reload()
  const row = page.getByRole('table', { name: 'Active API keys' }).getByRole('row', { name: 'batch' })
  await row.getByText('$0.0100 of $0.0150 per month').waitFor()
  await row.getByText('Agent text').waitFor()
  const spend = row.getByRole('progressbar', { name: 'Spend of batch' })
  expect(await spend.getAttribute('aria-valuenow')).toBe('66')
  await opened.check('key-limits')

  await row.getByRole('button', { name: 'Actions for batch' }).click()
  await page.getByRole('menuitem', { name: 'Edit limits' }).click()
  await opened.check('key-limits-form')
  await dialog.getByLabel('Spending limit').fill('0.02')
  await dialog.getByLabel('Executions per minute').fill('7')
  await dialog.getByRole('textbox', { name: 'Allowed agents' }).press('Backspace')
  await page.keyboard.press('Tab')
  await dialog.getByRole('button', { name: 'Save limits' }).click()
  await row.getByText('$0.0100 of $0.0200 per month').waitFor()
  await row.getByText('7 executions/min').waitFor()
  expect(await spend.getAttribute('aria-valuenow')).toBe('50')
  expect((await task()).status).toBe(200)
})

testConsole(
  'an admin sees the plans with their users, sets a plan and limits, and the user sees them with their usage',
  async (opened) => {
    const { key, page: theirs, userId } = await logInGrace(opened)
    await opened.service.createTask(key, 'text.summarize', { text: 'One sentence. Another one.' })
    await opened.open('/billing', theirs)
    await theirs.getByText('free', { exact: true }).waitFor()
    await theirs.getByText('$0.0100 of $1.00').getByTitle('$1.0000').waitFor()
    await theirs.getByText('0 bytes of 2.0 MB, resets').waitFor()
    await theirs.getByText('To change your plan, contact help@acme.example.').waitFor()
    await opened.service.createTask(key, 'text.summarize', { text: 'x'.repeat(300 * 1024 - 11) })
    await theirs.reload()
    await theirs.getByText('300 KB of 2.0 MB, resets').waitFor()
    await theirs.getByRole('link', { name: 'Text tools' }).waitFor()
    await opened.check('billing-limits', theirs)
    const page = await opened.open('/admin/plans')
    const free = page.getByRole('row', { name: /^free Default/ })
    await free.getByText('Text tools').waitFor()
    await page.getByRole('row', { name: /^paid/ }).getByRole('link', { name: 'Users with the plan paid: 0' }).waitFor()
    await opened.check('admin-plans')
    await free.getByRole('link', { name: 'Users with the plan free: 2' }).click()
    await page.waitForURL('**/admin/users?plan=free')
    await page.getByRole('row', { name: new RegExp(grace.email) }).waitFor()
    await opened.check('admin-users-of-plan')
    await page.getByLabel('Plan', { exact: true }).selectOption('paid')
    await page.getByText('No users with the plan paid').waitFor()
    await opened.open(`/admin/users/${userId}`)
    await page.getByRole('heading', { level: 1, name: grace.email }).waitFor()
    await page.getByLabel('Plan', { exact: true }).selectOption('paid')
    await page.getByRole('textbox', { name: 'Allowed agents' }).click()
    await page.getByRole('option', { name: 'Data tools' }).click()
    await page.keyboard.press('Escape')
    await page.getByLabel('Spending limit per day in USD').fill('2.5')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await page.getByText('Saved the limits for').first().waitFor()
    await opened.check('admin-user-limits')
    await theirs.reload()
    await theirs.getByText('paid', { exact: true }).waitFor()
    await theirs.getByText('of $2.50').waitFor()
    await theirs.getByRole('link', { name: 'Data tools' }).waitFor()
  },
  {
    isAdmin: true,
    brand: { name: 'Acme', support: 'help@acme.example', seller: [] },
    config,
    limits: { payloadBytesPerDay: 2 * 1024 * 1024 },
  },
)
