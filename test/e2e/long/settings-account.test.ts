import { expect, test } from 'vitest'
import { describeBrowser } from '../../../console/pages/settings/describe-browser.ts'
import { loginCookieName } from '../../../server/auth/logins/login-cookie.ts'
import { newSecretToken } from '../../../server/auth/logins/login-token.ts'
import { testConsole, type OpenConsole } from '../open-console.ts'

testConsole('changing the password ends all other logins, but not the current one', async (opened) => {
  opened.allow(/status of 40[01]/)
  const { visitor } = opened
  const other = await logIn(opened, visitor.password)
  const page = await opened.open('/settings/password')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('Enter your current password').waitFor()
  await page.getByText('Enter at least 10 characters').waitFor()
  await opened.check('password-errors')

  const [current, next, again] = ['Current password', 'New password', 'Confirm new password'].map((label) =>
    page.getByLabel(label, { exact: true }),
  )
  await current!.fill('not the password')
  await next!.fill(visitor.email)
  await again!.fill(visitor.email)
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('Must not be your email address').waitFor()
  await next!.fill('another long secret')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('The passwords do not match').waitFor()
  await again!.fill('another long secret')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('Must be the current password').waitFor()
  await page.waitForFunction(() => document.activeElement?.getAttribute('name') === 'currentPassword')

  // Uses only the keyboard from here on.
  await page.keyboard.press('Control+A')
  await page.keyboard.type(visitor.password)
  await page.keyboard.press('Enter')
  await page.getByText('Password changed. All other browsers were logged out.').waitFor()
  expect(await current!.inputValue()).toBe('')
  await opened.open('/settings/password')
  await other.reload()
  await other.waitForURL('**/login?returnTo=%2Fsettings%2Flogins')
  await logIn(opened, 'another long secret')
})

testConsole('too many wrong passwords show how long to wait', async (opened) => {
  opened.allow(/status of 4(?:00|29)/)
  const page = await opened.open('/settings/password')
  await page.getByLabel('New password', { exact: true }).fill('another long secret')
  await page.getByLabel('Confirm new password').fill('another long secret')
  const store = opened.service.app.store
  for (let tries = 0; tries < 20; tries++) await store.admitLogin({ email: opened.visitor.email, client: null })
  await page.getByLabel('Current password').fill('not the password')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('Too many wrong passwords').waitFor()
  expect(await page.getByRole('button', { name: /Try again in \d+ (?:seconds|minutes)/ }).isDisabled()).toBe(true)
  await opened.check('password-throttled')
})

testConsole('an account without a password shows its login provider and how to get a password', async (opened) => {
  const page = await enterBySingleSignOn(opened)
  await opened.open('/settings/password', page)
  await page.getByText('This account has no password').waitFor()
  await page.getByText('ask an admin for a password link').waitFor()
  expect(await page.getByRole('textbox').count()).toBe(0)
  await opened.check('password-none', page)
  await opened.open('/settings/logins', page)
  await page.getByRole('row', { name: 'Firefox 143 on Windows' }).getByText('Single sign-on with corp').waitFor()
})

testConsole('logins are listed readably, and can be ended one by one or all together', async (opened) => {
  opened.allow(/status of 401/)
  const other = await logIn(opened, opened.visitor.password)
  const page = await opened.open('/settings/logins')
  const rows = page.getByRole('table', { name: 'Browser logins' }).getByRole('row', { name: /Chrome \d+ on Linux/ })
  expect(await rows.count()).toBe(2)
  await page.getByText('This browser').waitFor()
  await opened.check('logins')
  await page.getByRole('button', { name: /^Log out Chrome/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('logged out immediately').waitFor()
  await opened.check('login-end')
  await dialog.getByRole('button', { name: 'Log out' }).click()
  await page.getByText('1–1 of 1').waitFor()
  expect(await rows.count()).toBe(1)
  await other.reload()
  await other.waitForURL('**/login?returnTo=%2Fsettings%2Flogins')

  const third = await logIn(opened, opened.visitor.password)
  await page.getByRole('button', { name: 'Log out everywhere' }).click()
  await dialog.getByText('API keys keep working').waitFor()
  await dialog.getByRole('button', { name: 'Log out everywhere' }).click()
  await page.waitForURL('**/login')
  await third.reload()
  await third.waitForURL('**/login?returnTo=%2Fsettings%2Flogins')
})

testConsole('ending the current login logs out', async (opened) => {
  opened.allow(/status of 401/)
  const page = await opened.open('/settings/logins')
  await page.getByRole('button', { name: 'Log out on this browser' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Log out' }).click()
  await page.waitForURL('**/login')
  await page.goto('/settings/logins')
  await page.waitForURL('**/login?returnTo=%2Fsettings%2Flogins')
})

const macintosh = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)'
const windows = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)'
const iPhone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)'

test.each([
  [`${windows} Chrome/141.0.0.0 Safari/537.36`, 'Chrome 141 on Windows'],
  [`${windows} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0`, 'Edge 141 on Windows'],
  [`${windows} Chrome/141.0.0.0 Safari/537.36 OPR/124.0.0.0`, 'Opera 124 on Windows'],
  ['Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0', 'Firefox 143 on Linux'],
  [`${macintosh} Version/18.6 Safari/605.1.15`, 'Safari 18 on macOS'],
  [`${iPhone} Version/18.5 Mobile/15E148 Safari/604.1`, 'Safari 18 on iPhone'],
  [`${iPhone} CriOS/141.0.7390.41 Mobile/15E148 Safari/604.1`, 'Chrome 141 on iPhone'],
  [
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36',
    'Chrome 141 on Android',
  ],
  [
    'Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
    'Chrome 141 on ChromeOS',
  ],
  ['curl/8.14.1', 'curl 8'],
  ['something of its own', 'something of its own'],
  ['', 'Unknown browser'],
  [null, 'Unknown browser'],
])('describes the user agent %s as %s', (userAgent, text) => {
  expect(describeBrowser(userAgent)).toBe(text)
})

/** Logs the same user in to another browser, which opens the list of logins. */
async function logIn(opened: OpenConsole, password: string) {
  const page = await opened.newVisit()
  await page.goto('/login?returnTo=/settings/logins')
  await page.getByLabel('Email').fill(opened.visitor.email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'Browser logins' }).waitFor()
  return page
}

/** Logs in to another browser by single sign-on, for a user without a password. */
async function enterBySingleSignOn(opened: OpenConsole) {
  const { service } = opened
  const { store } = service.app
  const { userId } = await service.createPerson()
  const { token, tokenHash } = newSecretToken()
  const userAgent = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0'
  await store.createLogin({ userId, method: 'oidc', provider: 'corp', tokenHash, userAgent, forget: null })
  const page = await opened.newVisit()
  await page.context().addCookies([{ name: loginCookieName, value: token, url: service.url }])
  return page
}
