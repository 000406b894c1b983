import { readFileSync } from 'node:fs'
import { defineConfig, defineEndpoint } from 'errand'
import { expect } from 'vitest'
import { z } from 'zod'
import { insertTasks } from '../../../bench/bench-data.ts'
import { testConsole, type OpenConsole } from '../open-console.ts'

/** Ends the tasks of `gate.wait`. Agents run in this process. */
let release: () => void = () => {}

const report = {
  keywords: Array.from({ length: 60 }, (_, index) => ({
    phrase: `Phrase ${index + 1}`,
    score: 1 / 2 ** (index % 5),
    isProper: index === 0,
  })),
  language: 'en',
  isCut: false,
  tags: ['red', 'green'],
  columns: [
    { name: 'city', top: [{ value: 'Berlin', count: 2 }] },
    { name: 'amount', top: [] },
  ],
  totals: { words: 120, figures: { mean: 2.5 } },
  quote: 'The first line of it.\nThe second line of it.',
  notes: [],
  warnings: [],
}

const config = defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'gate',
      name: 'Gate',
      description: 'Works until it is let go.',
      endpoints: {
        wait: defineEndpoint({
          description: 'Answers when it is let go.',
          priceUsd: '0.0100',
          params: z.object({}),
          run: () =>
            new Promise((resolve) => {
              release = () => resolve('Let go.\nAt last.')
            }),
        }),
        repeat: defineEndpoint({
          description: 'Answers a text three times.',
          priceUsd: '0.0100',
          params: z.object({ text: z.string() }),
          run: ({ params }) => ({ text: params.text.repeat(3) }),
        }),
        report: defineEndpoint({
          description: 'Answers with values of every shape.',
          priceUsd: '0.0100',
          params: z.object({}),
          run: () => report,
        }),
      },
    },
  ],
})

async function createTask({ service, visitor }: OpenConsole, endpointId: string, params: unknown = {}) {
  const key = await service.createKey(visitor.userId)
  const created = await service.createTask(key, endpointId, params)
  expect(created.status).toBe(200)
  const taskId: string = created.body.taskId
  return { taskId, ended: async () => (await service.get(`/api/tasks/${taskId}?wait=20`, key)).body }
}

testConsole('an empty task list says what to do', async (opened) => {
  const page = await opened.open('/tasks')
  await page.getByText('No tasks yet').waitFor()
  await opened.check('tasks-empty')
  await page.getByRole('link', { name: 'Choose an agent' }).click()
  await page.waitForURL('**/agents')
})

testConsole(
  'the list of ten thousand tasks is paged and filtered by the service, with the state in the URL',
  async (opened) => {
    const { page, service, visitor } = opened
    insertTasks(service.dataDir, { users: [{ userId: visitor.userId, key: '' }], count: 10_000, status: 'completed' })
    await opened.open('/tasks')
    const range = page.getByRole('navigation', { name: 'Pages of tasks' })
    await range.getByText('1–25 of 10,000').waitFor()
    // Expects a header and the maximum number of rows of a page.
    expect(await page.getByRole('row').count()).toBe(26)
    await opened.check('tasks')
    await page.getByRole('button', { name: 'Next' }).click()
    await range.getByText('26–50 of 10,000').waitFor()
    expect(new URL(page.url()).search).toBe('?offset=25')
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(0)
    await opened.open('/tasks?offset=9975')
    await range.getByText('9,976–10,000 of 10,000').waitFor()
    expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true)

    await page.getByRole('textbox', { name: 'Status' }).click()
    await page.getByRole('option', { name: 'Failed' }).click()
    await page.getByText('No tasks match these filters').waitFor()
    expect(new URL(page.url()).search).toBe('?status=failed')
    await opened.check('tasks-filtered')
    await page.getByRole('button', { name: 'Clear filters' }).first().click()
    await range.getByText('1–25 of 10,000').waitFor()
    // Includes agents that are no longer configured.
    await opened.open('/tasks?agent=bench&status=completed')
    await range.getByText('1–25 of 10,000').waitFor()
    expect(await opened.curl()).toContain('status=completed&agentId=bench')
  },
)

testConsole(
  'an open task updates in the list and on its page until it has its result',
  async (opened) => {
    const { page } = opened
    await createTask(opened, 'gate.wait')
    await opened.open('/tasks')
    const table = page.getByRole('table', { name: 'Tasks' })
    await table.getByText('Running', { exact: true }).waitFor()
    await page.getByText('1 task in progress. Updates automatically.').waitFor()
    release()
    await page.getByRole('row', { name: /gate\.wait .* Completed/ }).waitFor()

    const { taskId, ended } = await createTask(opened, 'gate.wait')
    await opened.open('/tasks')
    await page.getByRole('link', { name: `gate.wait …${taskId.slice(-8)}` }).click()
    await page.getByText('Running').first().waitFor()
    await page
      .getByRole('timer')
      .getByText(/^\d+ s$/)
      .waitFor()
    await opened.check('task-processing')

    // Leaving the page aborts its long poll.
    const waiting = page.waitForRequest((request) => decodeURIComponent(request.url()).includes('"wait":25'))
    await page.reload()
    const request = await waiting
    const left = page.waitForEvent('requestfailed', (failed) => failed === request)
    await page.getByRole('link', { name: 'Tasks' }).first().click()
    await left
    await page.goBack()
    await page.getByText('Running').first().waitFor()

    release()
    await page.getByText('At last.').waitFor()
    await page.getByRole('link', { name: /24\.98/ }).waitFor()
    expect(await page.getByRole('group', { name: 'the result' }).textContent()).toBe('Let go.\nAt last.')
    expect((await ended()).status).toBe('completed')
  },
  { config, limits: { drainSeconds: 1 } },
)

testConsole(
  'large params and results are shown as previews, and can be loaded, downloaded and run again in full',
  async (opened) => {
    const { page } = opened
    const text = `${'A line of text.\n'.repeat(1500)}The end.`
    const { taskId, ended } = await createTask(opened, 'gate.repeat', { text })
    await ended()
    await opened.open(`/tasks/${taskId}`)
    await page
      .getByText(/Only the beginning is/)
      .first()
      .waitFor()
    await opened.check('task-large')
    await page.getByRole('button', { name: 'Code examples' }).click()
    await page.getByText('Run it again').click()
    await page.getByText('To see the params in the code, first load all of them on this page.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Load all' }).first().click()
    await page.getByRole('button', { name: /^Show more of the 72,024 characters/ }).waitFor()

    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download result' }).click()
    const file = await (await downloading).path()
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ text: text.repeat(3) })

    await page.getByRole('link', { name: 'Run again' }).click()
    await page.getByText('Prefilled from').waitFor()
    expect(await page.getByRole('textbox', { name: 'Text' }).inputValue()).toBe(text)
    await page.getByRole('button', { name: 'Code examples' }).click()
    await page.getByText('Long strings are truncated.').waitFor()
  },
  { config },
)

testConsole(
  'a result is shown as JSON and as tables, lists and strings with marked empty values',
  async (opened) => {
    const { page } = opened
    const { taskId, ended } = await createTask(opened, 'gate.report')
    await ended()
    await opened.open(`/tasks/${taskId}`)
    const keywords = page.getByRole('table', { name: 'keywords of the result' })
    await keywords.getByRole('columnheader', { name: 'score' }).waitFor()
    expect(await keywords.locator('tbody tr').first().locator('td').allTextContents()).toEqual([
      'Phrase 1',
      '1.0000',
      'Yes',
    ])
    expect(await keywords.locator('td').nth(1).getAttribute('data-align')).toBe('right')
    expect(await keywords.locator('tbody tr').count()).toBe(50)
    await page.getByRole('button', { name: 'Show all 60' }).focus()
    await page.keyboard.press('Enter')
    await keywords.getByText('Phrase 60').waitFor()
    const tags = page.getByRole('list', { name: 'tags of the result' })
    expect(await tags.getByRole('listitem').allTextContents()).toEqual(['red', 'green'])
    const columns = page.getByRole('table', { name: 'columns of the result' })
    await columns.getByText('Berlin 2').waitFor()
    await columns.getByRole('img', { name: 'Empty list' }).waitFor()
    await page.getByText('Empty: notes, warnings').waitFor()
    await page.getByText('2.5', { exact: true }).waitFor()
    expect(await page.getByRole('group', { name: 'quote of the result' }).textContent()).toBe(report.quote)
    await opened.check('task-readable')
    await page.getByRole('radiogroup', { name: 'Format of the result' }).getByText('JSON').click()
    await page.getByText('notes: ').waitFor()
  },
  { config },
)

testConsole(
  'data that failed to load in an outage appears automatically, even while a task runs',
  async (opened) => {
    opened.allow(/ERR_FAILED/)
    const { page } = opened
    const { taskId, ended } = await createTask(opened, 'gate.wait')
    let isAway = true
    let refused = 0
    await page.route(/tasks\.list|agents\.list/, (route) => {
      if (!isAway) return route.continue()
      if (route.request().url().includes('agents.list')) refused++
      return route.abort()
    })
    await page.goto('/tasks')
    await page.getByText('Could not reach the service. Retrying…').waitFor()
    // Counts the first request and its retries.
    await expect.poll(() => refused, { timeout: 20_000 }).toBeGreaterThanOrEqual(3)
    isAway = false
    await page.getByRole('row', { name: /gate\.wait .* Running/ }).waitFor()
    await page.getByRole('textbox', { name: 'Agent', exact: true }).click()
    await page.getByRole('option', { name: 'Gate' }).waitFor()

    let reads = 0
    await page.route(/tasks\.get/, (route) => (isAway && ++reads > 1 ? route.abort() : route.continue()))
    isAway = true
    await page.goto(`/tasks/${taskId}`)
    await page.getByText('Running').first().waitFor()
    const notice = page.getByText('Could not reach the service. Retrying…')
    await notice.waitFor()
    await opened.check('connection-lost')
    isAway = false
    await notice.waitFor({ state: 'detached' })
    expect(await page.getByText('Running').count(), 'the task goes on').toBeGreaterThan(0)
    release()
    await page.getByText('At last.').waitFor()
    expect((await ended()).status).toBe('completed')
  },
  { config, limits: { drainSeconds: 1 } },
)

testConsole(
  'a task, its JSON and its snippets can be reached from the list by keyboard alone',
  async (opened) => {
    const { page } = opened
    const { taskId, ended } = await createTask(opened, 'gate.repeat', { text: 'ho ' })
    await ended()
    await opened.open('/tasks')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
    for (let presses = 0; presses < 20 && !(await focused()).endsWith(taskId.slice(-8)); presses++)
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/tasks/${taskId}`)
    await page.getByText('ho ho ho').waitFor()
    await page.getByRole('radiogroup', { name: 'Format of the result' }).getByRole('radio').first().focus()
    await page.keyboard.press('ArrowRight')
    await page.getByText('"ho ho ho "').waitFor()
    await page.getByRole('button', { name: 'Code examples' }).press('Enter')
    await page.getByRole('radiogroup', { name: 'Code example' }).getByRole('radio').first().focus()
    await page.keyboard.press('ArrowRight')
    expect(await page.getByRole('group', { name: 'curl command' }).textContent()).toContain(
      '"endpointId": "gate.repeat"',
    )
  },
  { config },
)

testConsole("unknown tasks, other users' tasks and an unreachable service are reported", async (opened) => {
  opened.allow(/status of 404|ERR_FAILED/)
  const { page, service } = opened
  const other = await service.createPerson()
  const { id } = await service.runTask(other.key, 'demo.wait', { seconds: 0 })
  await opened.open(`/tasks/${id}`)
  await page.getByText('No task with this ID').waitFor()
  await opened.check('task-missing')

  await page.route(/tasks\.list/, (route) => route.abort())
  await opened.page.goto('/tasks')
  await page.getByText('Could not reach the service. Retrying…').waitFor()
  await page.unroute(/tasks\.list/)
  await page.getByText('No tasks yet').waitFor()
})
