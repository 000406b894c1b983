import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import type { TaskRun } from '../../../server/agents/config/define-config.ts'
import { say, talk } from '../../support/chat-agents.ts'
import { testConsole } from '../open-console.ts'

let open = (): void => {}
const gate = new Promise<void>((resolve) => (open = resolve))
const gated = {
  kind: 'code' as const,
  id: 'gated',
  name: 'Gated',
  endpoints: {
    wait: {
      description: 'Waits.',
      pricing: { events: { page: '0.0100' }, maxUsd: '0.5000' },
      params: {},
      run: async ({ charge }: TaskRun) => {
        await gate
        charge('page')
        return {}
      },
    },
  },
}
const config = { ...quickstart, agents: [...quickstart.agents, talk, gated] }

const tile = (page: Page, label: string) => page.locator('dl > div', { hasText: label })

testConsole(
  'a new account gets first steps, and tasks appear and complete without a reload',
  async (opened) => {
    const page = await opened.open('/')
    const started = page.getByRole('region', { name: 'Getting started' })
    for (const [link, path] of [
      ['Choose an agent', '/agents'],
      ['Start a chat', '/chat'],
      ['Create API key', '/settings/keys'],
    ] as const) {
      expect(await started.getByRole('link', { name: link }).getAttribute('href')).toBe(path)
    }
    expect(await page.getByText('Key created').count()).toBe(0)
    await opened.check('overview-new')

    const key = await opened.service.createKey(opened.visitor.userId)
    const { body } = await opened.service.createTask(key, 'gated.wait')
    const running = page.getByRole('table', { name: 'Running tasks' })
    await running.getByText('Running', { exact: true }).waitFor()
    await page.getByText('1 running, 0 queued').waitFor()
    await started.waitFor({ state: 'detached' })
    await tile(page, 'Balance').getByText('$24.50').waitFor()
    await tile(page, 'Spent in').getByText('$0.5000 more reserved for tasks in progress').waitFor()
    await tile(page, 'Spent in').getByText('$0.00', { exact: true }).waitFor()
    await page.getByRole('img', { name: /\$0\.00 charged, \$0\.00 refunded, \$0\.5000 reserved/ }).waitFor()
    await opened.check('overview-reserved')
    await opened.open('/usage?groupBy=tag')
    await tile(page, 'Spent in').getByText('$0.5000 more reserved for tasks in progress').waitFor()
    await tile(page, 'Spent in').getByText('$0.00', { exact: true }).waitFor()
    await opened.open('/')
    await tile(page, 'Rate limit remaining').getByText('9 of 10').waitFor()
    expect(await tile(page, 'Rate limit remaining').textContent()).toMatch(/Next increase in \d+\ss, at \d\d:\d\d:\d\d/)

    open()
    await page.getByText('No running tasks or replies.').waitFor()
    await tile(page, 'Spent in').getByText('$0.0100').waitFor()
    await tile(page, 'Spent in').getByText('No refunds').waitFor()
    await page.getByRole('table', { name: 'Recent tasks' }).getByText('Completed').waitFor()
    await page.getByRole('table', { name: 'Recent tasks' }).getByRole('link').click()
    await page.waitForURL(`**/tasks/${body.taskId}`)
  },
  { config },
)

testConsole(
  'shows a block, and the amount that running chats hold',
  async (opened) => {
    const { service, visitor } = opened
    const key = await service.createKey(visitor.userId)
    await service.runTask(key, 'demo.fail')
    await service.runTask(key, 'demo.fail')
    const { body } = await service.post('/api/sessions', { agentId: 'talk' }, { key })
    const file = join(service.dataDir, 'go')
    const message = say({ do: 'text', delta: 'Hello' }, { do: 'await-file', file })
    const chat = service.post('/api/chat', { sessionId: body.sessionId, message }, { key })
    await expect
      .poll(async () => (await service.get('/api/account', key)).body.heldUsd, { timeout: 20_000 })
      .not.toBe('0.0000')
    const page = await opened.open('/')
    await page.getByRole('alert').getByText('New tasks are blocked').waitFor()
    expect(await page.getByRole('alert').locator('time').count(), 'when it ends is said once').toBe(1)
    await page
      .getByRole('row', { name: /demo\.fail.*refunded \$0\.0100/ })
      .first()
      .waitFor()
    expect(await tile(page, 'Balance').textContent()).toMatch(/\$\d\.\d{4} held for replies, \$2\d\.\d{4} available/)
    await opened.check('overview-blocked')
    writeFileSync(file, '')
    await chat
    await tile(page, 'Balance').getByText('Available now').waitFor()
  },
  { config, limits: { abuseFailures: 2 } },
)

testConsole('polls nothing while the tab is hidden, and refreshes once it is visible again', async (opened) => {
  const { page } = opened
  await page.clock.install()
  await opened.open('/')
  let asked = 0
  page.on('request', (request) => void (request.url().includes('/trpc/') && asked++))
  const show = (state: string) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'visibilityState', { value, configurable: true })
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
    }, state)
  // Shows that a visible page polls.
  const polled = page.waitForRequest(/tasks\.list/)
  await page.clock.runFor(5000)
  await polled
  await show('hidden')
  await page.waitForLoadState('networkidle')
  asked = 0
  await page.clock.runFor(60_000)
  expect(asked).toBe(0)
  const renewed = page.waitForRequest(/tasks\.list/)
  await show('visible')
  await renewed
})
