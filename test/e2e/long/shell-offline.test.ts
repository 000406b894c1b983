import { expect } from 'vitest'
import { testConsole } from '../open-console.ts'

testConsole('a page not yet loaded reports that it is offline, and appears once online', async (opened) => {
  opened.allow(/ERR_INTERNET_DISCONNECTED|ERR_FAILED/)
  const { page } = opened
  const nav = page.getByRole('navigation', { name: 'Main' })
  // Prevents preloading of the other pages' code.
  await page.addInitScript(() => {
    Object.defineProperty(navigator, 'connection', { value: { saveData: true } })
  })
  await opened.open('/agents')
  await page.waitForLoadState('networkidle')
  await page.context().setOffline(true)
  await nav.getByRole('link', { name: 'Billing' }).click()
  await page.getByRole('alert').getByText('No connection').waitFor()
  await opened.check('no-connection')
  await nav.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('alert').getByText('No connection').waitFor()
  expect(await page.getByText('This page failed to load').count()).toBe(0)
  await page.context().setOffline(false)
  await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
  await nav.getByRole('link', { name: 'Billing' }).click()
  await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor()
  await page.getByText('Available').first().waitFor()
})

testConsole('code of other pages is preloaded while idle, so that these pages open offline', async (opened) => {
  opened.allow(/ERR_INTERNET_DISCONNECTED|ERR_FAILED/)
  const { page } = opened
  const loaded: string[] = []
  page.on('requestfinished', (request) => loaded.push(new URL(request.url()).pathname))
  await opened.open('/agents')
  const pages = ['billing', 'tasks', 'task', 'chat', 'receipt', 'keys', 'connectors', 'logins', 'webhooks']
  const missing = () => pages.filter((name) => !loaded.some((path) => path.startsWith(`/assets/${name}-page-`)))
  await expect.poll(missing, { timeout: 30_000 }).toEqual([])
  // The last part to be preloaded.
  await expect.poll(() => loaded.some((path) => path.startsWith('/assets/reply-markdown-'))).toBe(true)
  await page.waitForLoadState('networkidle')
  const ofAdmins = loaded.filter((path) => /admin|system-page/.test(path))
  expect(ofAdmins).toEqual([])
  await page.context().setOffline(true)
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Billing' }).click()
  await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor()
  await page.getByText('Could not reach the service').first().waitFor()
  expect(await page.getByText('No connection').count()).toBe(0)
  await page.context().setOffline(false)
  await page.getByText('Could not reach the service').waitFor({ state: 'detached' })
  await page.getByText('Available').first().waitFor()
})

testConsole('a slow connection shows the logo until the code is loaded', async (opened) => {
  const { page, service } = opened
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/assets/*.js', async (route) => {
    await held
    await route.continue()
  })
  await page.goto(service.url, { waitUntil: 'commit' })
  const logo = page.locator('#root > img')
  await logo.waitFor()
  release()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(await logo.count()).toBe(0)
})
