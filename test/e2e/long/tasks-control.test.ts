import { setTimeout } from 'node:timers/promises'
import { defineConfig, defineEndpoint } from 'errand'
import { expect } from 'vitest'
import { z } from 'zod'
import { testConsole, type OpenConsole } from '../open-console.ts'

/** Set when the run of `long.wait` was aborted. Agents run in this process. */
let wasStopped = false
let release: () => void = () => {}

const wait = (cancel: 'always' | 'pending') =>
  defineEndpoint({
    description: 'Works until it is let go or told to stop.',
    priceUsd: '0.0100',
    cancel,
    params: z.object({}),
    run: ({ signal }) =>
      new Promise((resolve, reject) => {
        release = () => resolve('Let go.')
        signal.addEventListener('abort', () => {
          wasStopped = true
          reject(new Error('told to stop'))
        })
      }),
  })

/** Lets the run of `long.read` continue. */
let turnPage: () => void = () => {}
const read = defineEndpoint({
  description: 'Reads pages, and is charged for each.',
  pricing: { events: { page: '0.0020' }, maxUsd: '0.0100' },
  params: z.object({}),
  run: async ({ charge, progress }) => {
    for (let page = 1; page <= 3; page++) {
      charge('page')
      progress({ fraction: page / 3, message: `Read page ${page} of 3` })
      await new Promise<void>((resolve) => (turnPage = resolve))
    }
    return { pages: 3 }
  },
})

const config = defineConfig({
  agents: [
    { kind: 'code', id: 'long', name: 'Long', endpoints: { wait: wait('always'), once: wait('pending'), read } },
  ],
})

async function create({ service, visitor }: OpenConsole, body: Record<string, unknown>): Promise<string> {
  const key = await service.createKey(visitor.userId)
  const created = await service.post('/api/tasks', { endpointId: 'long.wait', params: {}, ...body }, { key })
  expect(created.status).toBe(200)
  return created.body.taskId
}

testConsole(
  'a task that ends while its page is left is announced with a link, and in the title of a hidden tab',
  async (opened) => {
    const { page } = opened
    const nav = page.getByRole('navigation', { name: 'Main' })
    const runAndLeave = async () => {
      await opened.open('/agents/long?endpoint=long.wait')
      await page.getByRole('button', { name: /^Run/ }).click()
      await page.getByText('Running').first().waitFor()
      await nav.getByRole('link', { name: 'Billing' }).click()
      await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor()
    }
    await runAndLeave()
    release()
    const notice = page.getByRole('alert').filter({ hasText: 'long.wait completed' })
    await notice.waitFor()
    const icon = () => page.locator('link[rel="icon"]').getAttribute('href')
    expect(await page.title()).toBe('✓ long.wait · Errand')
    expect(await icon()).toContain('data:image/svg+xml')
    await opened.check('task-announced')
    await notice.getByRole('link', { name: 'View task' }).click()
    await page.getByText('Let go.').first().waitFor()
    await notice.waitFor({ state: 'detached' })
    await expect.poll(icon).toContain('/favicon.svg')

    await runAndLeave()
    const setHidden = (isHidden: boolean) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { value, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, isHidden)
    await setHidden(true)
    release()
    await expect.poll(() => page.title(), { timeout: 20_000 }).toBe('✓ long.wait · Errand')
    await setHidden(false)
    expect(await page.title()).toBe('Billing · Errand')
  },
  { config },
)

testConsole(
  'a running task can be canceled by keyboard, after the dialog states the refund',
  async (opened) => {
    const { page } = opened
    wasStopped = false
    const taskId = await create(opened, { tags: { order: '17:b', team: 'red' } })
    await opened.open(`/tasks/${taskId}`)
    await page.getByText('Running').first().waitFor()
    const cancel = page.getByRole('button', { name: 'Cancel task' })
    const again = page.getByRole('link', { name: 'Run again' })
    expect(await again.count()).toBe(0)
    await cancel.focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Cancel this task?' })
    await dialog.getByText(/The charge of \$0\.0100 will be refunded/).waitFor()
    await dialog.getByText(/The task stops now/).waitFor()
    await opened.check('task-cancel')
    // The focused button closes the dialog without canceling the task.
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    expect(wasStopped).toBe(false)
    await cancel.click()
    await dialog.getByRole('button', { name: 'Cancel task' }).click()
    await page.getByText('You canceled this task').waitFor()
    await expect.poll(() => wasStopped).toBe(true)
    await page.getByRole('link', { name: /25\.00/ }).waitFor()
    await cancel.waitFor({ state: 'detached' })
    await again.waitFor()
    const moments = page.getByRole('list').filter({ has: page.getByText('Canceled', { exact: true }) })
    await moments.getByText('Refunded in full').waitFor()
    const texts = await moments.getByRole('listitem').allTextContents()
    expect(
      texts.map(
        (text) => /^[A-Za-z ]+?(?=[−+$A-Z]*[\d]|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/.exec(text)?.[0],
      ),
    ).toEqual(
      ['Created', 'Charged', 'Started', 'Canceled', 'Refunded in full'].map((what) => expect.stringContaining(what)),
    )
    expect(texts[1]).toContain('−$0.0100')
    expect(texts[4]).toContain('+$0.0100')
    await opened.check('task-canceled')
    await page.getByRole('link', { name: 'order: 17:b' }).click()
    await page.waitForURL('**/tasks?tag=order%3A17%3Ab')
    await page.getByRole('link', { name: `long.wait …${taskId.slice(-8)}` }).waitFor()
  },
  { config, limits: { drainSeconds: 1 } },
)

testConsole(
  'a queued task shows its expiry and can be canceled even if a running one cannot',
  async (opened) => {
    const { page } = opened
    const atWork = await create(opened, { endpointId: 'long.once' })
    const waiting = await create(opened, { endpointId: 'long.once', expiresInSeconds: 3600 })
    await opened.open(`/tasks/${atWork}`)
    await page.getByText('can be canceled only before').waitFor()
    expect(await page.getByRole('button', { name: 'Cancel task' }).isDisabled()).toBe(true)
    await opened.open(`/tasks/${waiting}`)
    await page.getByText('Expires if not started').waitFor()
    await page.getByRole('button', { name: 'Cancel task' }).click()
    const dialog = page.getByRole('dialog', { name: 'Cancel this task?' })
    await dialog.getByText('The task has not started and will not run.').waitFor()
    // The task starts while the dialog is open.
    release()
    await page.getByText('can be canceled only before').or(dialog).first().waitFor()
    await opened.open(`/tasks/${atWork}`)
    await page.getByText('Completed', { exact: true }).first().waitFor()
    release()
  },
  { config, limits: { drainSeconds: 1, taskConcurrency: 1 } },
)

testConsole(
  'a task that has charged an event cannot be canceled, even from an older page',
  async (opened) => {
    const { page, service, visitor } = opened
    const key = await service.createKey(visitor.userId)
    const taskId = await create(opened, { endpointId: 'long.read' })
    const read = async () => (await service.get(`/api/tasks/${taskId}`, key)).body
    await expect.poll(async () => (await read()).cancelableUntil).toBeTruthy()
    await opened.open(`/tasks/${taskId}`)
    await page.getByText('you can no longer cancel the task').waitFor()
    expect(await page.getByRole('button', { name: 'Cancel task' }).isDisabled()).toBe(true)

    opened.allow(/status of 409/)
    const { store } = service.app
    const forbid = store.forbidCancel
    const isOpened = Promise.withResolvers<void>()
    store.forbidCancel = async (input) => {
      await isOpened.promise
      return await forbid(input)
    }
    const other = await create(opened, { endpointId: 'long.read' })
    await opened.open(`/tasks/${other}`)
    await page.getByRole('button', { name: 'Cancel task' }).click()
    isOpened.resolve()
    await expect.poll(async () => (await service.get(`/api/tasks/${other}`, key)).body.cancelableUntil).toBeTruthy()
    const dialog = page.getByRole('dialog', { name: 'Cancel this task?' })
    await dialog.getByRole('button', { name: 'Cancel task' }).click()
    await page.getByText('you can no longer cancel the task').waitFor()
  },
  { config, limits: { drainSeconds: 0 } },
)

testConsole(
  'tasks are filtered by tags and time in the URL, and an invalid tag is explained',
  async (opened) => {
    const { page } = opened
    const ids: string[] = []
    for (const [order, team] of ['1,red', '2,red', '2,blue'].map((pair) => pair.split(','))) {
      ids.push(await create(opened, { tags: { order, team } }))
    }
    await opened.open('/tasks')
    const range = page.getByRole('navigation', { name: 'Pages of tasks' })
    await range.getByText('1–3 of 3').waitFor()
    const tags = page.getByRole('textbox', { name: 'Tags' })
    await tags.fill('red')
    await tags.press('Enter')
    await page.getByText(/"red" is not a valid tag/).waitFor()
    await tags.fill('team:red')
    await tags.press('Enter')
    await range.getByText('1–2 of 2').waitFor()
    await tags.fill('order:2')
    await tags.press('Enter')
    await range.getByText('1–1 of 1').waitFor()
    await page.getByRole('link', { name: `…${ids[1]!.slice(-8)}` }).waitFor()
    expect(new URL(page.url()).searchParams.getAll('tag')).toEqual(['team:red', 'order:2'])
    await opened.check('tasks-by-tag')
    await page.reload()
    await range.getByText('1–1 of 1').waitFor()
    await page.getByRole('textbox', { name: 'Created' }).click()
    await page.getByRole('option', { name: 'Last hour' }).click()
    await range.getByText('1–1 of 1').waitFor()
    expect(await opened.curl()).toContain('createdAfter=')
    await page.getByRole('textbox', { name: 'Created' }).click()
    await page.getByRole('option', { name: 'Custom range' }).click()
    await page.getByLabel('To (UTC)').fill('2001-01-01')
    await page.getByText('No tasks match these filters').waitFor()
    await opened.check('tasks-by-day')
    await page.getByRole('button', { name: 'Clear filters' }).first().click()
    await range.getByText('1–3 of 3').waitFor()
  },
  { config, limits: { taskConcurrency: 0 } },
)

testConsole(
  'a run can have a cap, a deadline and tags, with errors at their fields',
  async (opened) => {
    const page = await opened.open('/agents/long?endpoint=long.wait')
    opened.allow(/status of (400|403)/)
    const options = page.getByRole('button', { name: 'Options' })
    await options.click()
    await page.getByLabel('Cap in USD').fill('0.0001')
    await page.getByRole('button', { name: 'Run for $0.0100' }).click()
    await page
      .getByRole('alert')
      .getByText(/0\.0001/)
      .waitFor()
    await page.getByLabel('Cap in USD').fill('cheap')
    await page.getByRole('button', { name: 'Run for $0.0100' }).click()
    await expect.poll(() => page.getByLabel('Cap in USD').getAttribute('aria-invalid')).toBe('true')
    await page.getByLabel('Cap in USD').fill('0.02')
    await page.getByLabel('Start within').selectOption('3600')
    await page.getByLabel('Timeout in seconds').fill('20')
    const tags = page.getByRole('textbox', { name: 'Tags' })
    await tags.fill('order:9')
    await tags.press('Enter')
    await opened.check('agent-options')
    const command = await opened.curl()
    for (const part of ['"maxCostUsd":"0.02"', '"expiresInSeconds":3600', '"timeoutSeconds":20', '"order":"9"']) {
      expect(command?.replaceAll(/\s/g, '')).toContain(part)
    }
    await page.getByRole('button', { name: 'Run for $0.0100' }).click()
    await page.waitForURL('**/tasks/task_*')
    await page.getByRole('link', { name: 'order: 9' }).waitFor()
    await page.getByText('Timeout').waitFor()
  },
  { config, limits: { taskConcurrency: 0 } },
)

testConsole(
  'a metered task shows its prices in advance, its progress, its usage and its refund',
  async (opened) => {
    const page = await opened.open('/agents')
    await page.getByText('up to $0.0100').waitFor()
    await opened.open('/agents/long?endpoint=long.read')
    await page.getByText('Each page').waitFor()
    await page.getByText(/Costs up to \$0\.0100; the unused part is refunded/).waitFor()
    await opened.check('agent-metered')
    await page.getByRole('button', { name: 'Run for up to $0.0100' }).click()
    await page.waitForURL('**/tasks/task_*')
    const bar = page.getByRole('progressbar', { name: 'Task progress' })
    await page.getByText('33 %, Read page 1 of 3').first().waitFor()
    expect(await bar.getAttribute('aria-valuenow')).toBe('33')
    await page.getByText('up to $0.0100').first().waitFor()
    await opened.check('task-progress')
    turnPage()
    await page.getByText('66 %, Read page 2 of 3').first().waitFor()
    turnPage()
    await page.getByText('100 %, Read page 3 of 3').first().waitFor()
    turnPage()
    await page.getByRole('heading', { name: 'Result' }).waitFor()
    await page.getByText('3 × page').waitFor()
    const timeline = page.getByRole('list').filter({ has: page.getByText('Started', { exact: true }) })
    await timeline.getByText('Refunded (unused)').waitFor()
    expect(await timeline.getByText('+$0.0040').count()).toBe(1)
    await page.getByRole('link', { name: /24\.99/ }).waitFor()
    await opened.check('task-metered')
    await opened.open('/tasks')
    await page.getByRole('row', { name: /long\.read .* \$0\.0060$/ }).waitFor()
    await opened.open('/billing')
    await page.getByRole('row', { name: /^Unused part of task long\.read Unused part .* \+\$0\.0040/ }).waitFor()
  },
  { config, limits: { drainSeconds: 1 } },
)

testConsole(
  'a queued task says that the account already runs as many tasks as it may',
  async (opened) => {
    const running = await create(opened, {})
    const { store } = opened.service.app
    const { userId } = opened.visitor
    await expect.poll(async () => (await store.getTask({ userId, taskId: running }))?.status).toBe('processing')
    await create(opened, {})
    await setTimeout(5)
    const page = await opened.open(`/tasks/${await create(opened, {})}`)
    await page.getByText('Your account can run at most 1 task at a time. This task is 2nd in line.').waitFor()
    await opened.check('task-queued-by-plan')
    await page.getByRole('link', { name: 'View running task', exact: true }).click()
    await page.waitForURL(`**/tasks/${running}`)
  },
  { config: { ...config, plans: { one: { tasksAtWork: 1 } }, defaultPlan: 'one' }, limits: { drainSeconds: 1 } },
)
