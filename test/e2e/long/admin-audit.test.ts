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

    // On a phone, the links to the sections form one row, and the current one is scrolled into view.
    await page.setViewportSize({ width: 390, height: 844 })
    await opened.open('/admin/audit')
    await table.getByText('{"tasksAtWork":60}').waitFor()
    const sections = page.getByRole('navigation', { name: 'Admin' })
    expect((await sections.boundingBox())!.height).toBeLessThan(48)
    const current = (await sections.getByRole('link', { name: 'Audit log' }).boundingBox())!
    expect(current.x).toBeGreaterThan(0)
    expect(current.x + current.width).toBeLessThan(390)
    await opened.check('admin-audit-phone')
  },
  { isAdmin: true },
)
