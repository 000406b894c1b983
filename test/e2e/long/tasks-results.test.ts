import { defineConfig, defineEndpoint } from 'errand'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { z } from 'zod'
import { FakeClock } from '../../support/fake-clock.ts'
import { testConsole } from '../open-console.ts'

const result = {
  summary: `${'A first line that is long enough to reach the edge of the page. '.repeat(20)}\nAnd a second one.`,
  keywords: [1, 0.5, 0.25].map((score, index) => ({
    phrase: 'a phrase of many words '.repeat(20).trim(),
    score: score / 3,
    places: 'here and there '.repeat(10 + index),
    count: 1234567 * score * 4,
  })),
  columns: [
    { name: 'amount', low: 1 / 3, mean: 3.338345864661654, high: 22222.12345678901, spread: 2 / 3, middle: 1 / 7 },
    { name: 'number', low: 1 / 9, mean: 1e21 / 7, high: 1e-7 / 3, spread: 5 / 3, middle: 2 / 7 },
  ],
  share: 2 / 3,
  chart:
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
}

const config = defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'figures',
      name: 'Figures',
      description: 'Answers with texts and numbers.',
      endpoints: {
        give: defineEndpoint({
          description: 'Answers with texts and numbers.',
          priceUsd: '0.0100',
          params: z.object({}),
          run: () => result,
        }),
      },
    },
  ],
})

const clock = new FakeClock()

/** Returns the buttons that cover an adjacent line of text, and the numbers that wrap. */
async function flaws(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const found: string[] = []
    const lines = (element: Element) => {
      const range = document.createRange()
      range.selectNodeContents(element)
      return Array.from(range.getClientRects()).filter(({ width }) => width > 0)
    }
    const buttons = Array.from(document.querySelectorAll('main button[aria-label^="Copy"]'))
    for (const text of document.querySelectorAll('main pre')) {
      // Ignores text outside of its own scroll area, which is invisible.
      const window = text.getBoundingClientRect()
      const seen = lines(text).filter(({ top, bottom }) => bottom > window.top && top < window.bottom)
      for (const button of buttons) {
        const { top, right, bottom, left } = button.getBoundingClientRect()
        const isOver = (line: DOMRect) =>
          line.left < right && Math.min(line.right, window.right) > left && line.top < bottom && line.bottom > top
        if (seen.some(isOver)) found.push(`${button.getAttribute('aria-label')} lies over a text`)
      }
    }
    for (const element of document.querySelectorAll('main td *, main dd *')) {
      const isNumber = element.children.length === 0 && /^-?[\d.,]+(?:e[+-]?\d+)?$/.test(element.textContent ?? '')
      const tops = new Set(lines(element).map(({ top }) => Math.round(top)))
      if (isNumber && tops.size > 1) found.push(`${element.textContent} stands in ${tops.size} lines`)
    }
    return found
  })
}

testConsole(
  'at any width, nothing covers the text of a result, and no number wraps',
  async (opened) => {
    const { service, visitor } = opened
    const key = await service.createKey(visitor.userId)
    const { id } = await service.runTask(key, 'figures.give', {})
    const page = await opened.open(`/tasks/${id}`)
    await page.getByRole('group', { name: 'summary of the result' }).waitFor()
    await page.getByRole('img', { name: 'chart of the result' }).waitFor()
    await page.getByRole('img', { name: /^Queued \d.*, ran \d/ }).waitFor()
    for (const width of [1920, 1280, 1000, 800, 500, 360]) {
      await page.setViewportSize({ width, height: 800 })
      expect(await flaws(page), `at ${width} px`).toEqual([])
    }
    await opened.check('task-figures')
  },
  { config },
)

testConsole(
  'a task whose contents were deleted shows when, its price and its times, and cannot be run again',
  async (opened) => {
    const { service, visitor } = opened
    const key = await service.createKey(visitor.userId)
    const { id } = await service.runTask(key, 'figures.give', {})
    clock.advance(7 * 86_400_000)
    while (await service.app.store.prune()) continue
    // The login has expired too.
    await opened.start(visitor)
    const page = await opened.open(`/tasks/${id}`)
    await page.getByText('Contents deleted on 22 Jan 2026').waitFor()
    await page.getByText('0.0100').first().waitFor()
    for (const name of ['Params', 'Result']) {
      expect(await page.getByRole('heading', { name }).count(), name).toBe(0)
    }
    expect(await page.getByRole('button', { name: 'Code examples' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Run again' }).count()).toBe(0)
    await opened.check('task-pruned')
  },
  { config: { ...config, retention: { tasksDays: 7 } }, clock },
)

testConsole(
  'the list and the page of a task show the same run time, and simultaneous events appear in causal order',
  async (opened) => {
    const { page, service, visitor } = opened
    const { store } = service.app
    const key = await service.createKey(visitor.userId)
    const run = async (runMs: number) => {
      const { taskId } = (await service.createTask(key, 'figures.give', {})).body
      clock.advance(runMs * 2)
      await store.claimTask(taskId)
      clock.advance(runMs)
      const error = { code: 'AGENT_ERROR', message: 'It failed.', details: '' }
      await store.failTask({ taskId, attempt: 1, error, countsAsAbuse: false })
      return taskId as string
    }
    const slow = await run(2000)
    const quick = await run(0)
    await opened.open('/tasks')
    await page
      .getByRole('row', { name: `…${slow.slice(-8)}` })
      .getByRole('cell', { name: '2.0 s', exact: true })
      .waitFor()
    await opened.open(`/tasks/${slow}`)
    await page.getByText('2.0 s', { exact: true }).waitFor()
    await page.getByText('queued 4.0 s').waitFor()
    await opened.open(`/tasks/${quick}`)
    const timeline = page.getByRole('list').filter({ has: page.getByText('Started', { exact: true }) })
    await timeline.getByText('Refunded in full').waitFor()
    const events = timeline.getByRole('listitem')
    const names = await events.evaluateAll((items) => items.map((item) => item.firstChild?.textContent))
    expect(names).toEqual(['Created', 'Charged', 'Started', 'Failed', 'Refunded in full'])
  },
  { config, clock, limits: { taskConcurrency: 0 } },
)

testConsole('the profile of a table with seven columns is one table, and fits on a screen', async (opened) => {
  const { service, visitor } = opened
  const key = await service.createKey(visitor.userId)
  const csv =
    'id,city,country,amount,share,paid,day\n1,Oslo,Norway,12.5,0.3333333,yes,2026-01-31\n2,Bergen,Norway,7,1,no,2026-02-01'
  const { id } = await service.runTask(key, 'data.profile', { csv })
  const page = await opened.open(`/tasks/${id}`)
  const table = page.getByRole('table', { name: 'columns of the result' })
  await table.getByRole('row', { name: /city/ }).getByText('Oslo 1, Bergen 1').waitFor()
  expect(await table.locator('tbody tr').count()).toBe(7)
  const { height } = (await page.getByRole('region', { name: 'Result' }).boundingBox())!
  expect(height).toBeLessThan(900)
  await opened.check('task-profile')
})
