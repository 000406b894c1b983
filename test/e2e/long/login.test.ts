import { expect } from 'vitest'
import { testConsole } from '../open-console.ts'

testConsole('a visitor who is not logged in is sent to the login, and then back to the page', async (opened) => {
  opened.allow(/status of 401/)
  const page = await opened.newVisit()
  await page.goto('/tasks?status=failed')
  await page.waitForURL('**/login?returnTo=%2Ftasks%3Fstatus%3Dfailed')
  expect(await page.getByText('You were logged out').count()).toBe(0)
  await opened.check('login', page)

  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password', { exact: true }).fill('not the password')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').waitFor()
  await opened.check('login-refused', page)

  await page.getByLabel('Password', { exact: true }).fill(opened.visitor.password)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/tasks?status=failed')
  await page.getByRole('link', { name: /25\.00/ }).waitFor()
})

testConsole('the login redirects only to pages of this console', async (opened) => {
  opened.allow(/status of 401/)
  const targets = ['https://example.com/', '//example.com', String.raw`/\example.com`, 'javascript:alert(1)', '/\t//[']
  for (const target of targets) {
    const page = await opened.newVisit()
    await opened.open(`/login?returnTo=${encodeURIComponent(target)}`, page)
    await page.getByLabel('Email').fill(opened.visitor.email)
    await page.getByLabel('Password', { exact: true }).fill(opened.visitor.password)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('link', { name: /25\.00/ }).waitFor()
    expect(page.url(), target).toBe(`${opened.service.url}/`)
  }
})

testConsole('the login page focuses its first field, and redirects logged-in users to the overview', async (opened) => {
  const page = await opened.newVisit()
  await opened.open('/login', page)
  await page.getByRole('heading', { name: 'Log in to Errand' }).waitFor()
  expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('email')
  await opened.page.goto(`${opened.service.url}/login`)
  await opened.page.waitForURL((url) => url.pathname === '/')
  await opened.page.getByRole('heading', { name: 'Overview' }).waitFor()
})

testConsole("an empty login is rejected at its fields, and a provider's error is shown", async (opened) => {
  const page = await opened.newVisit()
  await opened.open('/login?error=suspended', page)
  expect(await page.getByRole('alert').textContent()).toContain('suspended')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Enter your email').waitFor()
  expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('email')
})

testConsole('logging out leads to the login in all tabs, and pages require a login again', async (opened) => {
  opened.allow(/status of 401/)
  const page = await opened.open('/')
  const other = await opened.open('/usage', await page.context().newPage())
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: 'Log out' }).click()
  await page.waitForURL('**/login')
  // Before its next request.
  await other.waitForURL('**/login?returnTo=%2Fusage', { timeout: 2000 })
  await other.getByText('You were logged out.').waitFor()
  await page.goto('/billing')
  await page.waitForURL('**/login?returnTo=%2Fbilling')
})

testConsole('an invalid invitation link shows an error', async (opened) => {
  opened.allow(/status of 40[04]/)
  const page = await opened.newVisit()
  await opened.open('/invitation#nothing', page)
  await page.getByText('This link does not work').waitFor()
  await opened.check('invitation-gone', page)
})

testConsole(
  'an invitation creates an account with the chosen password, and logs it in',
  async (opened) => {
    opened.allow(/status of 400/)
    const { url } = await opened.page.evaluate(
      async (): Promise<{ url: string }> =>
        await (
          await fetch('/api/invitations', {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ email: 'grace@example.com', creditUsd: '5.0000' }),
          })
        ).json(),
    )
    const page = await opened.newVisit()
    await opened.open(url, page)
    expect(await page.getByLabel('Email').inputValue()).toBe('grace@example.com')
    await page.getByText('At least 10 characters').waitFor()
    await opened.check('invitation', page)
    await page.getByLabel('Password', { exact: true }).fill('short')
    await page.getByRole('button', { name: 'Show password' }).press('Enter')
    expect(await page.getByLabel('Password', { exact: true }).getAttribute('type')).toBe('text')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.locator('input[aria-invalid="true"][name="password"]:focus').waitFor()
    await opened.check('invitation-refused', page)
    await page.getByLabel('Password', { exact: true }).fill('a long password of grace')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: /5\.00/ }).waitFor()
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByText('grace@example.com').waitFor()
  },
  { isAdmin: true },
)

testConsole(
  'too many wrong passwords show the remaining wait, and disable the button during that time',
  async (opened) => {
    opened.allow(/status of 4(?:01|29)/)
    const page = await opened.newVisit()
    await opened.open('/login', page)
    const button = page.getByRole('button', { name: /Log in|Try again in/ })
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password', { exact: true }).fill('wrong')
    await expect
      .poll(
        async () => {
          if (!(await button.isDisabled())) await button.click()
          return await button.textContent()
        },
        { timeout: 30_000 },
      )
      .toMatch(/^Try again in \d+ minutes$/)
    await opened.check('login-throttled', page)

    // Other emails do not have to wait.
    await page.getByLabel('Email').fill('grace@example.com')
    expect(await button.textContent()).toBe('Log in')
    expect(await button.isEnabled()).toBe(true)
    await page.getByLabel('Email').fill('Ada@example.com')
    expect(await button.textContent()).toMatch(/^Try again in/)
  },
)
