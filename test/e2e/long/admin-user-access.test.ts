import { expect } from 'vitest'
import { must } from '../../../server/kernel/assert.ts'
import { grace, logInGrace } from '../admin-second-person.ts'
import { testConsole } from '../open-console.ts'

testConsole(
  'a suspended user is sent to the login and cannot log in until unsuspended',
  async (opened) => {
    opened.allow(/status of 40[139]/)
    const { key, page: theirs, userId } = await logInGrace(opened)
    // This page does not poll. The overview would notice the change by polling.
    await opened.open('/settings/password', theirs)
    const page = await opened.open(`/admin/users/${userId}`)
    await page.getByRole('button', { name: 'Suspend', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Running tasks and chats continue').waitFor()
    await opened.check('admin-user-suspend')
    await dialog.getByRole('button', { name: 'Suspend' }).click()
    await page.getByText('Suspended: logins and API keys do not work').waitFor()
    await page.locator('button:focus', { hasText: 'Unsuspend' }).waitFor()

    await theirs.getByRole('link', { name: 'Tasks' }).click()
    await theirs.waitForURL('**/login?returnTo=%2Ftasks')
    await theirs.getByRole('alert').getByText('You were logged out').waitFor()
    await opened.check('login-logged-out', theirs)
    await theirs.getByLabel('Email').fill(grace.email)
    await theirs.getByLabel('Password', { exact: true }).fill(grace.password)
    await theirs.getByRole('button', { name: 'Log in' }).click()
    await theirs.getByText('This account is suspended').waitFor()
    expect((await opened.service.get('/api/account', key)).status).toBe(403)

    await page.getByRole('button', { name: 'Unsuspend' }).click()
    await dialog.getByRole('button', { name: 'Unsuspend' }).click()
    await page.getByText('Not suspended: logins and API keys work.').waitFor()
    await theirs.getByRole('button', { name: 'Log in' }).click()
    await theirs.waitForURL('**/tasks')
    expect((await opened.service.get('/api/account', key)).status).toBe(200)
  },
  { isAdmin: true },
)

testConsole(
  "an admin sees a user's logins and history, and ends a login",
  async (opened) => {
    opened.allow(/status of 401/)
    const { page: theirs, userId } = await logInGrace(opened)
    await opened.open('/settings/password', theirs)
    const page = await opened.open(`/admin/users/${userId}?list=logins`)
    await page.getByRole('row', { name: /Chrome \d+ on Linux 127\.0\.0\.1 just now/ }).waitFor()
    await opened.check('admin-user-logins')
    await page.getByRole('button', { name: /^End login of Chrome/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End login' }).click()
    await page.getByText('No active logins.').waitFor()
    await theirs.getByRole('link', { name: 'Tasks' }).click()
    await theirs.waitForURL('**/login?returnTo=%2Ftasks')

    await page.getByRole('tab', { name: 'History' }).click()
    const rows = page.getByRole('table', { name: 'User history' }).locator('tbody tr')
    await rows
      .filter({ hasText: 'Login ended' })
      .filter({ hasText: opened.visitor.userId.slice(-6) })
      .waitFor()
    await rows.filter({ hasText: 'Logged in' }).filter({ hasText: '127.0.0.1' }).waitFor()
    expect(await rows.filter({ hasText: 'Logged in' }).count(), 'without the logins of the admin').toBe(1)
    await opened.check('admin-user-history')
  },
  { isAdmin: true },
)

testConsole(
  'the last admin is warned and cannot step down until there is another',
  async (opened) => {
    opened.allow(/status of 40[39]/)
    const { page: theirs, userId } = await logInGrace(opened)
    const page = await opened.open(`/admin/users/${opened.visitor.userId}`)
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Suspend my account' }).click()
    await dialog.getByText('This is your own account').waitFor()
    await dialog.getByRole('button', { name: 'Suspend my account' }).click()
    await dialog.getByText('This is the last active admin').waitFor()
    await opened.check('admin-user-last')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.locator('button:focus', { hasText: 'Suspend my account' }).waitFor()

    await opened.open(`/admin/users/${userId}`)
    await page.getByRole('button', { name: 'Make admin' }).click()
    await dialog.getByRole('button', { name: 'Make admin' }).click()
    await page.getByText('grace@example.com is now an admin.').waitFor()
    await opened.open('/admin/users', theirs)
    await theirs.getByRole('link', { name: 'ada@example.com' }).waitFor()

    await opened.open(`/admin/users/${opened.visitor.userId}`)
    await page.getByRole('button', { name: 'Remove my admin rights' }).click()
    await dialog.getByText('This is your own account').waitFor()
    await dialog.getByRole('button', { name: 'Remove my admin rights' }).click()
    await page.waitForURL(`${opened.service.url}/`)
    await expect.poll(async () => await page.getByRole('link', { name: 'Admin' }).count()).toBe(0)
  },
  { isAdmin: true },
)

testConsole(
  'a block shows its end, and lifting it lets the user run tasks again',
  async (opened) => {
    const { key, userId } = await opened.service.createPerson(grace)
    await opened.service.runTask(key, 'demo.fail')
    expect((await opened.service.createTask(key, 'demo.wait', { seconds: 0 })).status).toBe(403)
    const page = await opened.open('/admin/users')
    await page.getByRole('row', { name: /grace@example.com Blocked ends in \d+ minutes/ }).waitFor()
    await page.getByRole('link', { name: grace.email }).click()
    await page.getByText('Blocked after too many failed tasks').waitFor()
    await page.getByRole('row', { name: /Refund \+\$0\.0100/ }).waitFor()
    await opened.check('admin-user-blocked')
    await page.getByRole('button', { name: 'Unblock' }).click()
    await page.getByText('grace@example.com unblocked.').waitFor()
    expect(await page.getByRole('button', { name: 'Unblock' }).count()).toBe(0)
    await page.locator('h1:focus').waitFor()
    expect((await opened.service.createTask(key, 'demo.wait', { seconds: 0 })).status).toBe(200)

    await opened.open(`/admin/users/${userId}?offset=500`)
    await page.getByText('No transactions on this page').waitFor()
    await page.getByRole('button', { name: 'Go to first page' }).click()
    await page.getByRole('row', { name: /Refund/ }).waitFor()
    opened.allow(/status of 404/)
    await opened.open('/admin/users/user_nobody')
    expect(await page.locator('h1').textContent()).toBe('User not found')
    await opened.check('admin-user-unknown')
  },
  { isAdmin: true, limits: { abuseFailures: 1 } },
)

testConsole(
  'a password link is shown once, and lets the user set a new password',
  async (opened) => {
    const { userId } = await opened.service.createPerson(grace)
    const page = await opened.open(`/admin/users/${userId}`)
    await page.getByRole('button', { name: 'Create password link' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('It works once and expires after a day.').waitFor()
    await dialog.getByRole('button', { name: 'Create link' }).click()
    const url = must(await dialog.getByRole('group', { name: 'Link' }).textContent(), 'a link')
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/invitation#/)
    await dialog.getByRole('button', { name: 'Copy link' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(url)
    await opened.check('admin-password-link')
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.locator('button:focus', { hasText: 'Create password link' }).waitFor()
    expect(await page.content()).not.toContain(url)

    const theirs = await opened.newVisit()
    await opened.open(url, theirs)
    await theirs.getByLabel('Password', { exact: true }).fill('another password of grace')
    await theirs.getByRole('button', { name: 'Set password' }).click()
    await theirs.getByRole('link', { name: /Balance \$10\.00/ }).waitFor()
    await opened.open('/admin/invitations')
    await page.getByRole('row', { name: /grace@example\.com Password link – Used/ }).waitFor()
  },
  { isAdmin: true },
)
