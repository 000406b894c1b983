import { expect } from 'vitest'
import { testConsole } from '../open-console.ts'

testConsole('the admin pages are for admins only', async (opened) => {
  const page = await opened.open('/admin/users')
  expect(await page.locator('h1').textContent()).toBe('Admins only')
  await opened.check('admins-only')
})

testConsole(
  'an admin finds Admin in the navigation',
  async (opened) => {
    const page = await opened.open('/')
    await page.getByRole('link', { name: 'Admin' }).click()
    await page.getByRole('navigation', { name: 'Admin' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/admin/overview')
  },
  { isAdmin: true },
)

testConsole("a tab discards its account's data once another tab logs in as a different user", async (opened) => {
  const { service } = opened
  const grace = { email: 'grace@example.com', password: 'a long password of grace' }
  await service.createPerson({ ...grace, balanceUsd: '7.0000' })
  const page = await opened.open('/billing')
  await page.getByRole('link', { name: /25\.00/ }).waitFor()
  await page.evaluate(() => sessionStorage.setItem('errand.chat.draft.ses_1', '"of ada"'))

  const other = await page.context().newPage()
  await opened.open('/login?returnTo=%2Fbilling', other)
  await other.getByLabel('Email').fill(grace.email)
  await other.getByLabel('Password', { exact: true }).fill(grace.password)
  await other.keyboard.press('Enter')
  await other.getByRole('link', { name: /7\.00/ }).waitFor()

  const reloaded = page.waitForEvent('domcontentloaded')
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
  await reloaded
  await page.getByRole('link', { name: /7\.00/ }).waitFor()
  expect(await page.getByText('25.00').count()).toBe(0)
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByText(grace.email).waitFor()
})

testConsole('text is set in Inter, whose Latin file is preloaded', async (opened) => {
  const page = await opened.open('/')
  const fonts = await page.evaluate(async () => {
    await document.fonts.ready
    const files = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
    return {
      used: getComputedStyle(document.body).fontFamily.split(',')[0],
      loaded: [...document.fonts].filter(({ status }) => status === 'loaded').map(({ family }) => family),
      files: files.filter(({ name }) => name.endsWith('.woff2')).map(({ initiatorType }) => initiatorType),
    }
  })
  expect(fonts).toEqual({
    used: '"Inter Variable"',
    loaded: expect.arrayContaining(['Inter Variable']),
    files: ['link'],
  })
})
