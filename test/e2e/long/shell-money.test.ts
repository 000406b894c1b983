import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { insertTasks } from '../../../bench/bench-data.ts'
import { chatConfig, createChat, messageBox } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'
import quickstart from '../../../examples/quickstart/errand.config.ts'

const config = { agents: [...quickstart.agents, ...chatConfig.agents.filter(({ id }) => id === 'writer')] }

/** Returns the amounts on the page that are not formatted like `$1,000.00`. */
async function oddAmounts(page: Page): Promise<string[]> {
  const text = await page.evaluate(() => {
    const labels = Array.from(document.querySelectorAll('main [aria-label]'), (one) => one.getAttribute('aria-label'))
    const code = new Set(Array.from(document.querySelectorAll('main pre'), (one) => one.textContent))
    const shown = document.querySelector('main')!.innerText
    return [
      ...labels,
      ...Array.from(code)
        .reduce((rest, one) => rest.replace(one, ''), shown)
        .split('\n'),
    ].join('\n')
  })
  return text.match(/[\d.]+ USD\b|\$-|-\$|\$\d{4,}|(?<![\d.$,])\d{4,}\.\d{4}(?!\d)/g) ?? []
}

testConsole(
  'amounts have one notation on every page, and counts have thousands separators',
  async (opened) => {
    const { page, service, visitor } = opened
    const key = await service.createKey(visitor.userId)
    await service.runTask(key, 'demo.wait', { seconds: 0 })
    await service.runTask(key, 'demo.fail', {})
    const { id: taskId } = await service.runTask(key, 'text.keywords', { text: 'Some words about words.' })
    await opened.open('/agents')
    const sessionId = await createChat(page, 'writer', ['Hello'])
    for (const path of [
      '/',
      '/agents',
      '/agents/text',
      '/agents/writer',
      '/tasks',
      `/tasks/${taskId}`,
      '/chat?new',
      '/chat',
      `/chat/${sessionId}`,
      `/chat/${sessionId}?view=details`,
      '/billing',
      `/billing/receipt?taskId=${taskId}`,
      '/admin/users',
      `/admin/users/${visitor.userId}`,
      '/admin/agents',
    ]) {
      await opened.open(path)
      expect(await oddAmounts(page), path).toEqual([])
    }
    await opened.open('/agents/text?endpoint=text.summarize')
    await page.getByText(/^Costs \$0\.0100; balance after: \$12,34\d\.\d{4}/).waitFor()
    await page.getByRole('button', { name: 'Run for $0.0100' }).waitFor()
    await opened.open('/agents')
    await page.getByText('Per million tokens: input $150, output $600').first().waitFor()
    await opened.check('agents-money')
    await opened.open(`/chat/${sessionId}`)
    await messageBox(page).waitFor()
    await page.getByText('$150 in, $600 out per million tokens').waitFor()

    insertTasks(service.dataDir, { users: [{ userId: visitor.userId, key: '' }], count: 3000, status: 'completed' })
    await opened.open('/')
    await page.getByText('Table', { exact: true }).click()
    const executions = page.getByRole('table', { name: /day/i }).getByText(/^3,\d{3}$/)
    await executions.first().waitFor()
    expect(
      await page
        .locator('main')
        .getByText(/^3\d{3}$/)
        .count(),
      'counts without separators',
    ).toBe(0)
    await opened.check('overview-money')
  },
  { config, balanceUsd: '12345.6789', isAdmin: true },
)

testConsole(
  "the service's message about a low balance uses the notation of the pages",
  async (opened) => {
    opened.allow(/status of 403/)
    const page = await opened.open('/agents/text?endpoint=text.summarize')
    await page.getByText('Costs $0.0100; $0.0050 short').waitFor()
    await page.getByText('Your balance is $0.0050. Ask an admin to add credit.').waitFor()
    await page.getByRole('textbox', { name: 'Text' }).fill('Some words about words.')
    await page.getByRole('button', { name: 'Run for $0.0100' }).click()
    await page.getByText('The balance of $0.0050 is lower than the required $0.0100.').waitFor()
    expect(await oddAmounts(page)).toEqual([])
    await opened.check('agent-too-expensive')
  },
  { balanceUsd: '0.0050' },
)
