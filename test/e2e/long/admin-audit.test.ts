import { expect } from 'vitest'
import { testConsole } from '../open-console.ts'

testConsole(
  'shows who changed what, filtered by action and user, and loads older acts on demand',
  async (opened) => {
    const { service } = opened
    const { userId } = await service.createPerson()
    for (let n = 0; n < 60; n++) {
      await service.app.store.changeAccountLimits({ userId, changes: { tasksAtWork: n + 1 } })
    }
    const page = await opened.open('/admin/audit')
    const table = page.getByRole('table', { name: 'Audit log' })
    await table.getByText('{"tasksAtWork":60}').waitFor()
    await opened.check('admin-audit')
    expect(await table.locator('tbody tr').count()).toBe(50)
    await page.getByRole('button', { name: 'Show more' }).click()
    await table.getByText('{"tasksAtWork":1}', { exact: true }).waitFor()

    await opened.open('/admin/audit?action=login.created')
    await table.getByText('Logged in').first().waitFor()
    expect(await table.getByText('Limits changed').count()).toBe(0)
    await page.getByLabel('User ID').fill(userId)
    await page.getByText('No entries', { exact: true }).waitFor()
    expect(new URL(page.url()).searchParams.get('userId')).toBe(userId)
  },
  { isAdmin: true },
)
