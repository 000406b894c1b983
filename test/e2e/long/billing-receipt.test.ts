import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { say, talk } from '../../support/chat-agents.ts'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import { testConsole } from '../open-console.ts'

let open = (): void => {}
const gate = new Promise<void>((resolve) => (open = resolve))
const gated = {
  kind: 'code' as const,
  id: 'gated',
  name: 'Gated',
  endpoints: {
    fail: {
      description: 'Fails.',
      priceUsd: '0.0100',
      params: {},
      run: () =>
        gate.then(() => {
          throw new Error('It failed.')
        }),
    },
  },
}
const config = { ...quickstart, agents: [...quickstart.agents, talk, gated] }

testConsole(
  'a chat receipt adds up to its charge, prints without the console and saves as JSON',
  async (opened) => {
    const { service, visitor } = opened
    const key = await service.createKey(visitor.userId)
    const { body } = await service.post('/api/sessions', { agentId: 'talk' }, { key })
    const message = say(
      { do: 'reasoning', delta: 'Hm.' },
      { do: 'call', id: 'one' },
      { do: 'result', id: 'one', output: {} },
      { do: 'text', delta: 'Hello.' },
      { do: 'usage', promptTokens: 1234, cachedPromptTokens: 200, completionTokens: 567, reasoningTokens: 89 },
    )
    await service.post('/api/chat', { sessionId: body.sessionId, message }, { key })
    const [charge] = (await service.get('/api/transactions?type=chat_charge', key)).body.transactions
    const { page } = opened
    const lines = page.getByRole('table', { name: 'Items' })
    await opened.open(`/billing/receipt?turnId=${charge.turnId}`)
    const amounts = await lines.locator('tr td:last-child').allTextContents()
    expect(amounts).toEqual([
      '$0.15510517',
      '$0.0100',
      '$0.2868',
      '$0.080100089',
      '$0.001255',
      '$0.533260259',
      '−$0.000060259',
      '$0.5332',
    ])
    expect(charge.amountUsd).toBe('-0.5332')
    await opened.check('receipt')

    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download JSON' }).click(),
    ])
    expect(file.suggestedFilename()).toBe(`errand-receipt-${charge.turnId}.json`)
    expect(JSON.parse(await readFile(await file.path(), 'utf8'))).toMatchObject({
      email: opened.visitor.email,
      turnId: charge.turnId,
      paidUsd: '0.5332',
      price: {
        exactUsd: '0.533260259',
        adjustments: [
          { name: 'Carried over from earlier chats', amountUsd: '0.0000' },
          { name: 'Carried over to the next chat', amountUsd: '-0.000060259' },
        ],
        costUsd: '0.5332',
      },
      transactions: [charge],
    })

    await page.evaluate(() => void (globalThis.print = () => void (document.title = 'printed')))
    await page.getByRole('button', { name: 'Print' }).click()
    expect(await page.title()).toBe('printed')
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    expect(await page.getByRole('banner').isVisible()).toBe(false)
    expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(false)
    expect(await lines.isVisible()).toBe(true)
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe('rgb(255, 255, 255)')
  },
  { config },
)

testConsole(
  'the receipt of a failed task shows its refund without a reload',
  async (opened) => {
    const { page, service, visitor } = opened
    const key = await service.createKey(visitor.userId)
    const running = (await service.createTask(key, 'gated.fail')).body.taskId
    await opened.open(`/billing/receipt?taskId=${running}`)
    const lines = page.getByRole('table', { name: 'Items' })
    expect(await lines.locator('tfoot tr').allTextContents()).toEqual(['Paid$0.0100'])
    open()
    await page.getByText('Refunded in full (task failed)').waitFor()
    await page.getByText('AGENT_ERROR: It failed.').waitFor()
    expect(await lines.locator('tfoot tr').allTextContents()).toEqual([
      'Charged$0.0100',
      'Refunded in full (task failed)\u2212$0.0100',
      'Paid$0.0000',
    ])
    await page.getByText('Balance after the refund').waitFor()
    await page.getByRole('link', { name: 'Open task' }).click()
    await page.waitForURL(`**/tasks/${running}`)
  },
  { config },
)

testConsole('a credit has a receipt with its number and seller', async (opened) => {
  const page = await opened.open('/billing')
  await page
    .getByRole('row', { name: /Test balance/ })
    .getByRole('link', { name: /^Receipt/ })
    .click()
  await page.waitForURL('**/billing/receipt?transactionId=txn_*')
  await page.getByRole('heading', { name: 'Test balance' }).waitFor()
  const number = new URL(page.url()).searchParams.get('transactionId')!
  await page.getByText(number, { exact: true }).waitFor()
  await page.getByText(new URL(page.url()).host, { exact: true }).waitFor()
  await page.getByText('+$25.0000').waitFor()
  await opened.check('receipt-credit')
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download JSON' }).click(),
  ])
  expect(JSON.parse(await readFile(await file.path(), 'utf8'))).toMatchObject({ id: number, amountUsd: '25.0000' })
})

testConsole('an unknown receipt leads back to billing', async (opened) => {
  const { page } = opened
  await opened.open('/billing/receipt')
  await page.getByText('No receipt selected').waitFor()
  opened.allow(/status of 404|status of 207/)
  await opened.open('/billing/receipt?taskId=task_none')
  await page.getByText('Receipt not found').waitFor()
  await opened.check('receipt-none')
  await page.getByRole('link', { name: 'Go to billing' }).click()
  await page.waitForURL('**/billing')
})
