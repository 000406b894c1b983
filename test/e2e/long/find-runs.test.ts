import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { grace } from '../admin-second-person.ts'
import { testConsole } from '../open-console.ts'

const commandBox = (page: Page) => page.getByRole('textbox', { name: 'Search pages, agents, tasks and IDs' })

async function runCommand(page: Page, text: string): Promise<void> {
  const box = commandBox(page)
  await page.keyboard.press('Control+k')
  await box.and(page.locator(':focus')).waitFor()
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
  await box.waitFor({ state: 'hidden' })
}

testConsole(
  'a run is found by text, endpoint and key, and opened with a click anywhere in its row',
  async (opened) => {
    const { page, service, visitor } = opened
    const key = await service.createKey(visitor.userId)
    const other = await service.createKey(visitor.userId)
    const first = await service.runTask(key, 'text.keywords', { text: 'Order 1' })
    for (let n = 2; n <= 30; n++) await service.runTask(key, 'text.keywords', { text: `Order ${n}` })
    const failed = await service.runTask(other, 'demo.fail', { reason: 'INV 1357 is missing' })
    await opened.open('/tasks')
    const table = page.getByRole('table', { name: 'Tasks' })
    await table.getByText('INV 1357 is missing').first().waitFor()
    await table.getByText('Order 30').first().waitFor()
    await opened.check('tasks-rows')
    const desktop = page.viewportSize()!
    await page.setViewportSize({ width: 390, height: 844 })
    const heights = await table.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.clientHeight))
    expect(heights).toHaveLength(25)
    expect(Math.max(...heights)).toBeLessThanOrEqual(80)
    const failedRow = table.getByRole('row', { name: 'INV 1357 is missing' })
    for (const text of ['demo.fail', 'INV 1357 is missing', 'Failed', 'just now']) {
      const shown = failedRow.getByText(text)
      const isCut = (element: Element) => element.scrollWidth > element.clientWidth && element.clientWidth > 0
      expect([await shown.isVisible(), await shown.evaluate(isCut)], text).toEqual([true, false])
    }
    await page.setViewportSize(desktop)

    await page.getByLabel('Search inputs and errors').fill('inv 1357')
    await page.getByText('1–1 of 1').waitFor()
    expect(new URL(page.url()).searchParams.get('search')).toBe('inv 1357')
    await table.getByText('Failed').click()
    await page.waitForURL(`**/tasks/${failed.id}?search=inv+1357`)
    await page.getByRole('main').getByRole('link', { name: 'Tasks', exact: true }).click()
    await page.waitForURL('**/tasks?search=inv+1357')
    await page.getByLabel('Search inputs and errors').fill(` ${first.id} `)
    await table.getByRole('link', { name: first.id.slice(-8) }).waitFor()
    await page.getByText('1–1 of 1').waitFor()
    await table.getByText('text: "Order 1"').waitFor()
    expect(await opened.curl()).toContain(`/api/tasks/${first.id}`)

    await opened.open('/tasks')
    await page.getByRole('textbox', { name: 'Endpoint' }).click()
    await page.getByRole('option', { name: 'demo.fail' }).click()
    await page.getByText('1–1 of 1').waitFor()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ])
    expect(file.suggestedFilename()).toMatch(/^errand-tasks-\d{4}-\d\d-\d\d\.csv$/)
    const [names, ...rows] = (await readFile(await file.path(), 'utf8')).trimEnd().split('\r\n')
    expect(names).toMatch(/^id,agentId,endpointId,status,errorCode,/)
    expect(rows).toEqual([expect.stringMatching(`^${failed.id},demo,demo.fail,failed,AGENT_ERROR,`)])
    await page.getByRole('button', { name: 'Clear filters' }).first().click()
    await page.getByRole('textbox', { name: 'API key' }).click()
    await page.getByRole('option', { name: new RegExp(other.slice(-4)) }).click()
    await page.getByText('1–1 of 1').waitFor()
    await table.getByText('demo.fail').waitFor()
  },
  { limits: { executionsPerMinute: 0 } },
)

testConsole('Ctrl+K goes to pages, agents and tasks by keyboard alone, also from a field', async (opened) => {
  const { page, service, visitor } = opened
  const task = await service.runTask(await service.createKey(visitor.userId), 'text.keywords', { text: 'Hello' })
  await opened.open('/tasks')
  const box = commandBox(page)
  const search = (text: string) => runCommand(page, text)
  await page.keyboard.press('Control+k')
  await box.waitFor()
  await page.getByRole('button', { name: 'Billing' }).waitFor()
  await opened.check('command-menu')
  await page.keyboard.press('Escape')
  await box.waitFor({ state: 'hidden' })
  await search('billing')
  await page.waitForURL('**/billing')
  await search(task.id)
  await page.waitForURL(`**/tasks/${task.id}`)
  const { transactions } = await service.app.store.listTransactions({ userId: visitor.userId, limit: 1, offset: 0 })
  await search(transactions[0]!.id)
  await page.getByRole('heading', { name: 'Task text.keywords' }).waitFor()
  await opened.open('/tasks')
  await page.getByLabel('Search inputs and errors').focus()
  await search('API keys')
  await page.waitForURL('**/settings/keys')
  // A dialog may show a secret that is never shown again.
  await page.getByRole('button', { name: 'Create API key' }).first().click()
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Control+k')
  await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))))
  expect(await box.count(), 'the menu over the dialog').toBe(0)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  // The dialog returns the focus a little later, which would take it from a menu opened before.
  await page.getByRole('button', { name: 'Create API key' }).and(page.locator(':focus')).waitFor()
  await search('hello there')
  await page.waitForURL('**/tasks?search=hello+there')
  await page.getByText('No tasks match these filters').waitFor()
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await box.waitFor()
})

testConsole(
  "an admin who has only a task's ID sees what happened to it and what it cost, but not its input",
  async (opened) => {
    const { page, service } = opened
    const { key, userId } = await service.createPerson({ email: grace.email })
    const task = await service.runTask(key, 'demo.fail', { reason: 'It broke' })
    await service.post('/api/sessions', { agentId: 'assistant' }, { key })
    await opened.open('/admin/users')
    await page.getByLabel('Search by email or ID').fill(task.id)
    await page.getByText(`Task of ${grace.email}`).waitFor()
    await page.getByRole('link', { name: `Open ${task.id}` }).click()
    await page.waitForURL(`**/admin/users/${userId}/tasks/${task.id}`)
    await page.getByText('The charge was refunded in full.').waitFor()
    await page.getByText('AGENT_ERROR').first().waitFor()
    await page
      .getByRole('region', { name: 'Run' })
      .getByText(/^API key key_/)
      .waitFor()
    expect(await page.getByText('"reason"').count(), 'the input').toBe(0)
    await opened.check('admin-user-task')

    await page.getByRole('link', { name: grace.email }).click()
    await page.getByRole('table', { name: 'User tasks' }).getByText('AGENT_ERROR').waitFor()
    await opened.check('admin-user-tasks')
    await page.getByRole('textbox', { name: 'Outcome' }).click()
    await page.getByRole('option', { name: 'Failed' }).click()
    await page.waitForURL(`**/admin/users/${userId}?list=tasks&outcome=failed`)
    await page.getByRole('link', { name: 'demo.fail' }).click()
    await page.getByRole('heading', { name: 'demo.fail' }).waitFor()
    await page.getByRole('link', { name: grace.email }).click()
    await page.waitForURL(`**/admin/users/${userId}?list=tasks&outcome=failed`)
    await page.getByRole('textbox', { name: 'Outcome' }).click()
    await page.getByRole('option', { name: 'Completed' }).click()
    await page.getByText('No tasks with this outcome.').waitFor()
    await page.getByRole('tab', { name: 'Chats' }).click()
    await page.getByRole('table', { name: 'User chats' }).getByText('assistant').waitFor()
    await opened.check('admin-user-chats')
    await page.getByRole('tab', { name: 'API keys' }).click()
    await page.getByRole('button', { name: 'Revoke API key test' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click()
    await page.getByRole('table', { name: 'User API keys' }).getByText('Revoked').waitFor()
    expect((await service.get('/api/account', key)).status).toBe(401)
    expect(await page.getByRole('link', { name: 'Audit log' }).last().getAttribute('href')).toBe(
      `/admin/audit?userId=${userId}`,
    )
    await opened.check('admin-user-keys')
    await page.getByRole('tab', { name: 'Transactions' }).click()
    await page.getByRole('link', { name: 'Task demo.fail', exact: true }).click()
    await page.waitForURL(`**/tasks/${task.id}`)

    opened.allow(/404 .*users\.findOwner/)
    await runCommand(page, `task_${'0'.repeat(26)}`)
    await page.getByText('No resource has this id').waitFor()
  },
  { isAdmin: true },
)
