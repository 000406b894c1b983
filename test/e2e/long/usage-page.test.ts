import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { testConsole } from '../open-console.ts'

const clock = new FakeClock(Date.now() - 86_400_000)
const yesterday = new FakeClock(Date.now() - 86_400_000)
const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
const duration = /^\d+(?:\.\d)? m?s \/ \d+(?:\.\d)? m?s$/
const text = { text: 'A text with some words. It has two sentences.' }

testConsole('shows what each agent, endpoint and key cost, with a chart, a table and CSV', async (opened) => {
  const { service, visitor } = opened
  const key = await service.createKey(visitor.userId)
  for (const endpointId of ['text.summarize', 'text.keywords', 'demo.fail'])
    await service.runTask(key, endpointId, text)
  const page = await opened.open('/')
  await page.getByRole('link', { name: 'Usage' }).click()
  await page.waitForURL('**/usage')
  await page.getByRole('img', { name: '30 days: Text tools $0.0150, Demonstrations $0.0100' }).waitFor()
  await page.locator('[data-bar]').first().waitFor()
  const figures = await page.locator('dl').first().textContent()
  expect(figures).toContain('Spent in the last 30 days$0.0150')
  expect(figures).toContain('33.3%')
  expect(figures).toContain('Balance lastsOver a year')
  const rows = page.getByRole('table', { name: 'Totals by agent' }).locator('tbody tr')
  expect(await rows.nth(0).locator('td').allTextContents()).toEqual([
    'Text tools',
    '2',
    '0',
    '0%',
    expect.stringMatching(duration),
    expect.stringMatching(duration),
    '$0.0150',
    '$0.0000',
    '$0.0150',
  ])
  expect(await rows.nth(1).locator('td').allTextContents()).toEqual([
    'Demonstrations',
    '1',
    '1',
    '100%',
    expect.stringMatching(duration),
    expect.stringMatching(duration),
    '$0.0100',
    '$0.0100',
    '$0.0000',
  ])
  await opened.check('usage')
  const bar = page.locator('[data-bar]').first()
  // The chart may still adapt to the window, which closes the tooltip.
  const tooltips = async () => {
    await page.mouse.move(0, 0)
    await bar.hover({ force: true })
    return await page.getByText(', so far').count()
  }
  await expect.poll(tooltips).toBe(1)
  await page.locator('[data-opens]').last().click()
  await page.waitForURL(/\/tasks\?time=days&from=([\d-]+)&to=\1$/)
  await page.getByText('demo.fail').first().waitFor()
  await page.goBack()

  await page.getByText('Table', { exact: true }).click()
  const days = page.getByRole('table', { name: 'Charges per day by agent' }).locator('tbody tr')
  expect(await days.count()).toBe(1)
  expect((await days.first().locator('td').allTextContents()).slice(1)).toEqual(['$0.0150', '$0.0100'])
  await opened.check('usage-table')

  await page.getByRole('textbox', { name: 'Group by' }).click()
  await page.getByRole('option', { name: 'API key' }).click()
  await page.waitForURL('**/usage?groupBy=key')
  const keys = page.getByRole('table', { name: 'Totals by API key' })
  await keys.waitFor()
  expect(await keys.locator('tbody tr').count()).toBe(1)
  await page.getByRole('textbox', { name: 'Group by' }).click()
  await page.getByRole('option', { name: 'Endpoint' }).click()
  await page.getByRole('table', { name: 'Totals by endpoint' }).waitFor()
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download CSV' }).click()
  const csv = await readFile(await (await download).path(), 'utf8')
  expect(csv.split('\r\n').slice(0, 2)).toEqual([
    'value,spentUsd,refundedUsd,executions,failures,runP50Ms,runP95Ms,waitP50Ms,waitP95Ms',
    expect.stringMatching(/^demo.fail,0.0100,0.0100,1,1(,\d+){4}$/),
  ])

  await page.goBack()
  await page.goto(`${service.url}/usage`)
  await page.getByRole('table', { name: 'Totals by agent' }).getByRole('link', { name: 'Demonstrations' }).click()
  await page.waitForURL(/\/tasks\?agent=demo&time=days&from=[\d-]+&to=[\d-]+$/)
  await page.getByText('demo.fail').first().waitFor()
})

testConsole('shows charges per hour of a day, and sums by tag', async (opened) => {
  const { service, visitor } = opened
  const key = await service.createKey(visitor.userId)
  const create = async (tags: object) => {
    const { taskId } = (await service.post('/api/tasks', { endpointId: 'text.summarize', params: text, tags }, { key }))
      .body
    await service.get(`/api/tasks/${taskId}?wait=30`, key)
  }
  await create({ team: 'red', job: 'nightly' })
  await create({ team: 'red' })
  const page = await opened.open(`/usage?period=custom&from=${dayBefore(1)}&to=${dayBefore(0)}&groupBy=tag`)
  await page.getByRole('img', { name: /^Stacked bar chart of \d+ hours: \$0\.0200\./ }).waitFor()
  await page.getByRole('heading', { name: 'Charges per hour (UTC)', exact: true }).waitFor()
  expect(await page.locator('dl').first().textContent()).toContain('Spent in this period$0.0200')
  const rows = page.getByRole('table', { name: 'Totals by tag' }).locator('tbody tr')
  const cells = await Promise.all([0, 1].map((n) => rows.nth(n).locator('td').allTextContents()))
  expect(cells.map(([tag, executions, , , run, , charged]) => [tag, executions, run, charged])).toEqual([
    ['team:red', '2', expect.stringMatching(duration), '$0.0200'],
    ['job:nightly', '1', expect.stringMatching(duration), '$0.0100'],
  ])
  await page.locator('[data-bar]').first().waitFor()
  await opened.check('usage-hours')
  await page.getByText('Table', { exact: true }).click()
  const hours = page.getByRole('table', { name: 'Charges per hour' }).locator('tbody tr')
  // The two tasks can be on both sides of an hour.
  expect((await hours.locator('td').allTextContents()).join(' ')).toMatch(/\d\d:00 \$0\.0[12]00/)
  await page.getByRole('link', { name: 'job:nightly' }).click()
  await page.waitForURL(/\/tasks\?tag=job%3Anightly&/)
  await page.getByRole('link', { name: 'text.summarize' }).waitFor()
  expect(await page.getByRole('link', { name: 'text.summarize' }).count()).toBe(1)
})

testConsole('an agent has the same color whatever the other agents cost', async (opened) => {
  const { service, visitor } = opened
  const key = await service.createKey(visitor.userId)
  const fills = () => page.locator('[data-bar]').evaluateAll((bars) => bars.map((bar) => bar.getAttribute('fill')))
  await service.runTask(key, 'text.summarize', text)
  const page = await opened.open('/usage')
  await page.getByRole('img', { name: '30 days: Text tools $0.0100.' }).waitFor()
  await page.locator('[data-bar]').first().waitFor()
  const color = (await fills())[0] ?? null
  await service.runTask(key, 'demo.fail', text)
  await service.runTask(key, 'demo.fail', text)
  await page.reload()
  await page.getByRole('img', { name: '30 days: Demonstrations $0.0200, Text tools $0.0100.' }).waitFor()
  await page.locator('[data-bar]').nth(1).waitFor()
  expect((await fills()).indexOf(color)).toBe(1)
})

testConsole('says that nothing ended yet', async (opened) => {
  const page = await opened.open('/usage?period=quarter')
  await page.getByText('No executions ended in this period').waitFor()
  await page.getByText('No spending').waitFor()
  await opened.check('usage-empty')
  const first = `${dayBefore(0).slice(0, 8)}01`
  const request = page.waitForRequest((one) => decodeURIComponent(one.url()).includes(`"from":"${first}"`))
  await page.getByRole('textbox', { name: 'Period' }).click()
  await page.getByRole('option', { name: 'This month' }).click()
  await request
  await page.waitForURL('**/usage?period=thisMonth')
  await page.getByText('Spent this month').waitFor()
})

testConsole(
  'shows a custom range of days, and links to the tasks in that range',
  async (opened) => {
    const { service, visitor } = opened
    const key = await service.createKey(visitor.userId)
    await service.runTask(key, 'text.keywords', text)
    yesterday.advance(86_400_000)
    await service.runTask(key, 'text.summarize', text)
    const page = await opened.open('/usage')
    await page.getByText('Spent in the last 30 days').waitFor()
    await page.getByRole('textbox', { name: 'Period' }).click()
    await page.getByRole('option', { name: 'Custom range' }).click()
    await page.getByLabel('To (UTC)').fill(dayBefore(1))
    await page.getByText('Spent in this period').waitFor()
    await expect.poll(() => page.locator('dl').first().textContent()).toContain('Spent in this period$0.0050')
    expect(await page.getByText('Balance lasts').count()).toBe(0)
    await opened.check('usage-range')
    await page.getByRole('link', { name: 'Text tools' }).click()
    await page.waitForURL(`**/tasks?agent=text&time=days&from=${dayBefore(29)}&to=${dayBefore(1)}`)
    await page.goBack()
    opened.allow(/status of 400/)
    await page.getByLabel('From (UTC)').fill('2020-01-01')
    await page.getByText(/at most 1099 days before/).waitFor()
  },
  { clock: yesterday },
)

testConsole(
  'a day far above the others is cut, and shows its amount',
  async (opened) => {
    const { service, visitor } = opened
    const key = await service.createKey(visitor.userId)
    await service.runTask(key, 'text.keywords', text)
    clock.advance(86_400_000)
    for (let n = 0; n < 10; n++) await service.runTask(key, 'text.summarize', text)
    const page = await opened.open('/usage?period=week')
    await page.locator('svg text', { hasText: '$0.1000' }).waitFor()
    const heights = await page
      .locator('[data-bar]')
      .evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().height))
    expect(heights).toHaveLength(2)
    expect(heights[0]! / heights[1]!).toBeGreaterThan(0.4)
    await opened.check('usage-one-large-day')
  },
  { clock, limits: { executionsPerMinute: 0 } },
)
