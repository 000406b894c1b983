import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import { testConsole, type OpenConsole } from '../open-console.ts'

const text = 'Bees make honey. Bees live in hives. A hive has one queen. The queen lays eggs. Honey feeds the bees.'

const assistant = quickstart.agents.find(({ id }) => id === 'assistant')!
const helpers = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => ({ ...assistant, id: `helper-${n}`, name: `Helper ${n}` }))

const runButton = (page: Page) => page.getByRole('button', { name: /^Run / })

async function balanceOf({ service, visitor }: OpenConsole): Promise<number | undefined> {
  return (await service.app.store.getAccount(visitor.userId))?.balance
}

testConsole('a task can be run by mouse from the catalog to its result, at the price shown', async (opened) => {
  const page = await opened.open('/')
  await page.getByRole('link', { name: 'Agents' }).click()
  await page.getByRole('heading', { name: 'Text tools' }).waitFor()
  await opened.check('agents')
  await page.getByRole('link', { name: 'summarize' }).click()
  await page.waitForURL('**/agents/text?endpoint=text.summarize')
  await page.getByText('Costs $0.0100; balance after: $24.99').waitFor()
  // Optional fields show their default, and required ones are marked.
  expect(await page.getByLabel('Sentences').inputValue()).toBe('3')
  await opened.check('agent')
  // Newly added credit appears when the page regains focus.
  const { userId } = opened.visitor
  await opened.service.app.store.credit({ userId, amount: 10_000, description: 'More', idempotencyKey: null })
  await page.evaluate(() => dispatchEvent(new Event('focus')))
  await page.getByText('Costs $0.0100; balance after: $25.99').waitFor()

  await runButton(page).click()
  const field = page.getByLabel('Text', { exact: false }).first()
  expect(await field.getAttribute('aria-invalid')).toBe('true')
  await page.getByText('Required').waitFor()
  await opened.check('agent-missing')
  expect(await balanceOf(opened), 'nothing was sent').toBe(260_000)

  await field.fill(text)
  await page.getByLabel('Sentences').fill('2')
  await page.getByRole('button', { name: 'Options' }).click()
  await page.getByRole('textbox', { name: 'Tags' }).fill('team:blue')
  await page.keyboard.press('Enter')
  expect(await opened.curl()).toContain(text)
  await page.getByRole('button', { name: 'Run for $0.0100' }).click()
  await page.waitForURL('**/tasks/task_*')
  await page.getByRole('heading', { name: 'Result' }).waitFor()
  await page.getByRole('link', { name: /25\.99/ }).waitFor()
  await opened.check('task-completed')

  await page.getByRole('link', { name: 'Run again' }).click()
  await page.waitForURL('**/agents/text?endpoint=text.summarize&from=task_*')
  await page.getByText('Prefilled from').waitFor()
  expect(await page.getByLabel('Sentences').inputValue()).toBe('2')
  expect(await opened.curl()).toContain('"team": "blue"')
  await page.getByRole('button', { name: 'Start over' }).click()
  await page.getByText('Prefilled from').waitFor({ state: 'detached' })
  const own = page.getByRole('table', { name: 'Your usage by endpoint' })
  await own.getByRole('row', { name: 'summarize 1 0% $0.0100', exact: true }).waitFor()
  expect(await page.getByLabel('Sentences').inputValue()).toBe('3')
})

testConsole(
  'the form works by keyboard alone: focus moves to the first error, and Enter in an input runs nothing',
  async (opened) => {
    const page = await opened.open('/agents/demo?endpoint=demo.wait')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await tabTo(page, 'Seconds')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('99')
    await tabTo(page, 'Run for $0.0010')
    await page.keyboard.press('Enter')
    await page.getByText('Must be at most 60').waitFor()
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('0.1')
    await page.keyboard.press('Enter')
    // A number input resets its caret after the last key, which would clear the selection.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)))
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('0.2')
    await page.keyboard.press('Control+Enter')
    await page.waitForURL('**/tasks/task_*')
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1')
    await page.getByRole('heading', { name: 'Result' }).waitFor()
    expect(await balanceOf(opened), 'Enter in an input has run nothing').toBe(249_990)
    expect(await page.getByText('0.2', { exact: true }).count(), 'in the params and in the result').toBe(2)
  },
)

testConsole(
  'many agents can be searched by name, description and endpoint',
  async (opened) => {
    const page = await opened.open('/agents')
    const cards = page.getByRole('list', { name: 'Agents', exact: true }).getByRole('heading', { level: 2 })
    await page.getByLabel('Search agents').fill('SUMMARI')
    await expect.poll(() => cards.allInnerTexts()).toEqual(['Text tools'])
    await page.getByLabel('Search agents').fill('helper 3')
    await expect.poll(() => cards.allInnerTexts()).toEqual(['Helper 3'])
    await opened.check('agents-search')
    await page.getByLabel('Search agents').fill('nothing like this')
    await page.getByText('No agents match “nothing like this”').waitFor()
    await page.getByRole('button', { name: 'Clear search' }).click()
    await page.getByRole('heading', { name: 'Assistant' }).waitFor()
  },
  { config: { ...quickstart, agents: [...quickstart.agents, ...helpers] } },
)

testConsole('Start chat opens a new chat with the agent, whose first message creates the session', async (opened) => {
  const page = await opened.open('/agents')
  await page.getByRole('link', { name: 'Start a chat with Assistant' }).click()
  await page.getByRole('textbox', { name: 'Message Assistant' }).fill('Hello')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/chat/ses_*')
  const sessionId = decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1)!)
  const { userId } = opened.visitor
  const session = await opened.service.app.store.getSession({ userId, sessionId })
  expect(session?.agentId).toBe('assistant')
})

testConsole(
  'connectors can be selected if there are any, and are sent with the task',
  async (opened) => {
    const page = await opened.open('/agents/services?endpoint=services.tools')
    await page.getByText('This endpoint has no params.').waitFor()
    expect(await page.getByLabel('Connectors').count()).toBe(0)
    const connectorId = await page.evaluate(async () => {
      const answer = await fetch('/api/connectors', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ name: 'Docs', url: 'http://127.0.0.1:9/mcp' }),
      })
      return ((await answer.json()) as { id: string }).id
    })
    await opened.open('/agents/text?endpoint=text.keywords')
    await page.getByRole('form', { name: 'Run keywords' }).waitFor()
    expect(await page.getByLabel('Connectors').count()).toBe(0)
    await opened.open('/agents/services?endpoint=services.call')
    // The connectors come before the inputs.
    await page.getByRole('textbox', { name: 'Connectors' }).waitFor()
    const inputs = page.getByRole('form').getByRole('textbox')
    expect(
      await inputs.evaluateAll((found) => found.map((input) => (input as HTMLInputElement).labels?.[0]?.textContent)),
    ).toEqual(['Connectors', 'Tool *', 'Arguments'])
    await page.getByRole('textbox', { name: 'Tool' }).fill('search')
    await runButton(page).click()
    await page.waitForURL('**/tasks/task_*')
    await page.getByText('No connector in this run has the tool "search". Call one of the listed tools.').waitFor()
    await page.getByText('A task can call tools only from its selected connectors').waitFor()
    expect(await page.getByText('Details:').count(), 'nothing but the name of a class').toBe(0)
    await opened.check('task-no-tool')
    await opened.open('/agents/services?endpoint=services.tools')
    await page.getByRole('textbox', { name: 'Connectors' }).click()
    await page.getByRole('option', { name: 'Docs (not tested)' }).click()
    await page.keyboard.press('Escape')
    await opened.check('agent-connectors')
    expect(await opened.curl()).toContain(connectorId)
    await runButton(page).click()
    await page.waitForURL('**/tasks/task_*')
    // Nothing listens there, so the failure proves that the connector was used.
    await page.getByText('The charge was refunded in full.').waitFor()
    await page.getByText(/Docs/).first().waitFor()
  },
  { privateHosts: ['127.0.0.1'] },
)

testConsole('an unknown agent or endpoint is reported, with a way to continue', async (opened) => {
  opened.allow(/status of 404/)
  const page = await opened.open('/agents/nobody')
  await page.getByText('You do not have access to this agent').waitFor()
  await opened.check('agent-missing-page')
  await opened.open('/agents/text?endpoint=text.gone')
  await page.getByText('Endpoint text.gone not found').waitFor()
  await runButton(page).waitFor()
})

async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab')
    const found = await page.evaluate(() => {
      const active = document.activeElement
      const labels = active instanceof HTMLInputElement ? [...(active.labels ?? [])] : []
      return labels.map((label) => label.textContent).join(' ') || (active?.textContent ?? '')
    })
    if (found.startsWith(name)) return
  }
  throw new Error(`the keyboard does not reach ${name}`)
}

testConsole('each sample fills a form that runs', async (opened) => {
  const page = await opened.open('/')
  for (const endpoint of ['text.summarize', 'text.keywords', 'data.profile']) {
    await opened.open(`/agents/${endpoint.split('.')[0]}?endpoint=${endpoint}`, page)
    await page.getByRole('button', { name: 'Try a sample' }).click()
    await page.getByRole('button', { name: 'Clear' }).waitFor()
    expect(await page.getByRole('button', { name: 'Try a sample' }).count()).toBe(0)
    // Fields that the sample omits keep their defaults.
    if (endpoint === 'data.profile') expect(await page.getByRole('checkbox', { name: 'Header' }).isChecked()).toBe(true)
    await runButton(page).click()
    await page.waitForURL('**/tasks/task_*')
    await page.getByRole('heading', { name: 'Result' }).waitFor()
  }
})
