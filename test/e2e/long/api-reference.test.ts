import { expect } from 'vitest'
import { operations } from '../../pins/documented-answers.ts'
import { testConsole } from '../open-console.ts'

testConsole(
  'the reference at /docs shows every operation, and when opened its bodies, responses and examples',
  async (opened) => {
    const { page, service } = opened
    await page.goto(`${service.url}/docs`)
    const blocks = page.locator('.opblock')
    await expect.poll(() => blocks.count()).toBe(operations.length)
    for (const id of ['createTask', 'chat', 'listTransactions']) {
      const block = page.locator(`[id$="-${id}"]`)
      await block.locator('.opblock-summary-control').click()
      await block.locator('.responses-inner').waitFor()
    }
    const chat = page.locator('[id$="-chat"]')
    expect(await chat.innerText()).toContain(String.raw`\"type\":\"done\"`)
    expect(await page.locator('[id$="-createTask"]').innerText()).toContain('text.summarize')
    expect(await page.locator('#swagger-ui').innerText()).not.toMatch(/resolver error|could not resolve|parser error/i)
  },
)

testConsole('the reference is dark if the system is, and links to the console', async (opened) => {
  const { page, service } = opened
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.goto(`${service.url}/docs`, { waitUntil: 'domcontentloaded' })
  const shown = await page.evaluate(() => ({
    background: getComputedStyle(document.body).backgroundColor,
    link: document.querySelector('a')?.getAttribute('href'),
  }))
  expect(shown).toEqual({ background: 'rgb(26, 26, 26)', link: '/' })
})
