import { expect } from 'vitest'
import { testConsole } from '../open-console.ts'

testConsole('the console reports an unknown URL, and accepts a trailing slash', async (opened) => {
  opened.allow(/status of 404/)
  const { page } = opened
  for (const path of ['/nowhere', '/settings/xyz', '/tasks/a/b']) {
    const answer = await page.goto(path)
    expect(answer?.status(), path).toBe(404)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  }
  await opened.check('no-such-page')
  await page.getByRole('link', { name: 'Go to overview' }).click()
  await page.waitForURL((url) => url.pathname === '/')

  const answer = await page.goto('/tasks/?status=failed')
  expect(answer?.status()).toBe(200)
  await page.getByText('No tasks match these filters').waitFor()
  expect(page.url()).toMatch(/\/tasks\?status=failed$/)
})
