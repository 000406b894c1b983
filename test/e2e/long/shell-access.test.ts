import { expect } from 'vitest'
import { testConsole } from '../open-console.ts'

testConsole(
  'the shell is accessible in light and dark mode and on a phone, and links to every area',
  async (opened) => {
    const page = await opened.open('/settings/keys')
    await opened.check('shell')
    for (const area of ['Overview', 'Agents', 'Tasks', 'Chat', 'Billing', 'Settings']) {
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: area }).click()
      await page.waitForFunction(() => document.activeElement?.tagName === 'H1')
      expect(await page.title()).toMatch(/ · Errand$/)
    }
    expect(await page.getByRole('link', { name: 'Admin' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: /Balance/ }).textContent()).toContain('$25.00')
  },
)

testConsole('the keyboard alone can skip the navigation and change the color scheme', async (opened) => {
  const page = await opened.open('/tasks')
  await page.keyboard.press('Tab')
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content')
  await page.keyboard.press('Enter')
  await page.waitForURL('**#main')
  await page.getByRole('button', { name: 'Account' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitemradio', { name: 'System', checked: true }).waitFor()
  await page.getByRole('menuitemradio', { name: 'Dark', checked: false }).waitFor()
  await opened.check('account-menu')
  // The check has resized the window, so the menu is opened again.
  await page.keyboard.press('Escape')
  await page.getByRole('menu').waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Account' }).focus()
  await page.keyboard.press('Enter')
  // When the menu opens, its first item gets the focus.
  await page.waitForFunction(() => document.activeElement?.closest('[role="menu"]'))
  for (let presses = 0; presses < 2; presses++) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForSelector('html[data-mantine-color-scheme="dark"]')
  await page.getByRole('menuitemradio', { name: 'Dark', checked: true }).waitFor()
  expect(await page.getByRole('menuitemradio', { checked: true }).count()).toBe(1)
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Account')
  await page.reload()
  await page.waitForSelector('html[data-mantine-color-scheme="dark"]')
})

testConsole('the navigation on a phone opens by its button and closes after a choice', async (opened) => {
  await opened.page.setViewportSize({ width: 360, height: 740 })
  const page = await opened.open('/')
  await page.getByRole('button', { name: 'Navigation' }).click()
  await page.getByRole('link', { name: 'Tasks' }).click()
  await page.waitForURL('**/tasks')
  expect(await page.getByRole('button', { name: 'Navigation' }).getAttribute('aria-expanded')).toBe('false')
})
