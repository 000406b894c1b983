import { afterAll, expect } from 'vitest'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import { defineConfig } from '../../../server/agents/config/define-config.ts'
import { StripeStub } from '../../payments/stripe-stub.ts'
import { announced } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

const stub = await StripeStub.start()
afterAll(() => stub.stop())

testConsole(
  'without a balance, payment is one click away, and no page mentions an admin',
  async (opened) => {
    const page = await opened.open('/')
    const link = page.getByRole('main').getByRole('link', { name: 'Add credit' })
    await link.waitFor()
    const inHeader = page.getByRole('banner').getByRole('link', { name: 'Add credit' })
    expect(await inHeader.getAttribute('href')).toBe('/billing?tab=payments')
    await opened.check('overview-no-money')
    await link.click()
    await page.getByRole('form', { name: 'Add credit' }).waitFor()
    for (const path of ['/', '/billing', '/billing?tab=payments', '/agents']) {
      await opened.open(path)
      expect(await page.getByRole('main').innerText(), path).not.toMatch(/\badmin\b/)
    }
    await page.setViewportSize({ width: 360, height: 740 })
    await opened.open('/billing')
    await link.click()
    await page.getByRole('form', { name: 'Add credit' }).waitFor()
    await page.setViewportSize({ width: 1280, height: 800 })
    opened.allow(/status of 403/)
    await opened.open('/agents/text?endpoint=text.summarize')
    await page.getByLabel('Text').first().fill('One sentence.')
    await page.getByRole('button', { name: /^Run/ }).click()
    const notice = page.getByRole('alert').filter({ hasText: 'Insufficient balance' })
    await notice.getByRole('link', { name: 'Add credit' }).waitFor()
    expect(await notice.innerText()).not.toMatch(/\badmin\b/)
  },
  { payments: stub.settings, balanceUsd: '0' },
)

const assistant = quickstart.agents.find(({ id }) => id === 'assistant')
const expert = { ...assistant!, id: 'expert', name: 'Expert' }
const plans = { free: { agents: ['assistant'] }, basic: { agents: ['text'] }, pro: {} }

testConsole(
  'agents that the plan excludes are locked, name the plans that include them, and cannot be run or chosen',
  async (opened) => {
    const page = await opened.open('/agents')
    const card = page.getByRole('listitem').filter({ has: page.getByRole('heading', { level: 2 }) })
    await card.filter({ hasText: 'Not in your plan' }).first().waitFor()
    await opened.check('agents-not-in-plan')
    const names = await card.filter({ hasText: 'Not in your plan' }).getByRole('heading', { level: 2 }).allInnerTexts()
    expect(names).not.toContain('Assistant')
    expect(names.length).toBe((await card.count()) - 1)
    expect(await page.getByRole('banner').getByText('Add credit').count()).toBe(0)
    await card
      .filter({ hasText: 'Text tools' })
      .getByText('Included in the plans basic and pro. Ask an admin')
      .waitFor()
    await opened.open('/chat?new&agentId=expert')
    expect(await page.getByRole('radio', { name: 'Assistant' }).isChecked()).toBe(true)
    const locked = page.locator('label', { has: page.getByRole('radio', { name: 'Expert', disabled: true }) })
    await locked.getByText('Not in your plan. Included in the plan pro. Ask an admin to change your plan.').waitFor()
    await opened.check('new-chat-not-in-plan')
    await page.keyboard.press('Control+k')
    await page.getByRole('button', { name: 'Expert' }).getByText('Agent (not in your plan)').waitFor()
    await opened.open('/agents/text')
    await page.getByText('Not in your plan').waitFor()
    expect(await page.getByRole('button', { name: /^Run/ }).count()).toBe(0)
    await opened.open('/agents/assistant')
    expect(await page.getByText('Not in your plan').count()).toBe(0)
    await page.getByRole('link', { name: 'Start a chat with Assistant' }).first().click()
    await page.getByLabel('Message Assistant').fill('Hello')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/chat\/ses_/)
    await announced(page, 'The reply is complete')
    const { store } = opened.service.app
    await store.changeAccountLimits({ userId: opened.visitor.userId, changes: { agents: ['demo'] } })
    await page.reload()
    await page.getByText('Your account limits do not include this agent.').waitFor()
    expect(await page.getByLabel('Message Assistant').count()).toBe(0)
    await opened.check('chat-not-in-plan')
  },
  { config: { ...quickstart, agents: [...quickstart.agents, expert], plans, defaultPlan: 'free' } },
)

const waiting = defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'job',
      name: 'Job',
      endpoints: {
        wait: {
          description: 'Ends when it is stopped.',
          priceUsd: '0.0100',
          params: {},
          run: ({ signal }) =>
            new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        },
      },
    },
  ],
})

testConsole(
  'a canceled task is not shown as failed',
  async (opened) => {
    const { service, visitor } = opened
    const key = await service.createKey(visitor.userId, ['read', 'execute'])
    const { taskId } = (await service.createTask(key, 'job.wait', {})).body as { taskId: string }
    expect((await service.post(`/api/tasks/${taskId}/cancel`, {}, { key })).status).toBe(200)
    const page = await opened.open(`/tasks/${taskId}`)
    await page.getByRole('status').getByText('Canceled').waitFor()
    expect(await page.getByRole('main').innerText()).not.toMatch(/Failed/)
    await opened.check('task-canceled')
    await opened.open(`/billing/receipt?taskId=${taskId}`)
    await page.getByRole('main').getByText('Canceled', { exact: true }).waitFor()
    expect(await page.getByRole('main').innerText()).not.toMatch(/Failed|Failure/)
    await opened.open('/tasks')
    await page.getByRole('table').getByText('Canceled').waitFor()
    expect(await page.getByRole('table').innerText()).not.toMatch(/Failed/)
    const choose = async (label: string) => {
      await page.getByRole('textbox', { name: 'Status' }).click()
      await page.getByRole('option', { name: label, exact: true }).click()
    }
    await choose('Failed')
    await page.getByText('No task').first().waitFor()
    await choose('Canceled')
    await page.getByRole('table').getByText('Canceled').waitFor()
    await opened.open('/')
    await page.getByText('No failures').waitFor()
    await opened.check('overview-canceled')
    const { tasks } = (await service.get('/api/tasks', key)).body as { tasks: object[] }
    expect(tasks).toMatchObject([{ id: taskId, status: 'failed', errorCode: 'CANCELED' }])
  },
  { config: waiting },
)

testConsole('cells of the keys table do not overlap, and no button is cut off', async (opened) => {
  const { service, visitor } = opened
  const key = await service.createKey(visitor.userId, ['read', 'execute', 'manage'])
  const draft = {
    name: 'A key with limits',
    limitUsd: '20000',
    limitReset: 'month',
    executionsPerMinute: 100,
    agents: ['text', 'data', 'demo'],
  }
  expect((await service.post('/api/keys', draft, { key })).status).toBe(200)
  const page = await opened.open('/settings/keys')
  await page.getByRole('table', { name: 'Active API keys' }).waitFor()
  const row = page.getByRole('row', { name: 'A key with limits' })
  for (const width of [1024, 1280, 1440, 1920]) {
    await page.setViewportSize({ width, height: 900 })
    if (width >= 1440) expect((await row.boundingBox())!.height, `${width} px wide`).toBeLessThanOrEqual(72)
    const faults = await page.evaluate(() => {
      const found: string[] = []
      for (const cell of document.querySelectorAll('table td')) {
        const { left, right } = cell.getBoundingClientRect()
        for (const part of cell.querySelectorAll('*')) {
          const box = part.getBoundingClientRect()
          if (box.width > 0 && (box.right > right + 1 || box.left < left - 1))
            found.push(`${part.textContent} leaves its cell`)
        }
      }
      for (const button of document.querySelectorAll('table button, table .mantine-Badge-label')) {
        if (button.scrollWidth > button.clientWidth + 1) found.push(`${button.textContent} is cut off`)
      }
      for (const table of document.querySelectorAll('table')) {
        const { right } = table.getBoundingClientRect()
        if (right > table.parentElement!.getBoundingClientRect().right + 1)
          found.push('the table is wider than its place')
      }
      return [...new Set(found)]
    })
    expect(faults, `${width} px wide`).toEqual([])
  }
  await opened.check('keys-with-limits')
})
