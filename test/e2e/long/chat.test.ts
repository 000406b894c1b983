import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { announced, callApi, chatConfig, send } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

const markdown = [
  '## Findings\n\nThe **west** grew by 12 %, see [the table](https://example.com/table) and `sum(amount)`.',
  '\n\n| region | amount |\n| --- | ---: |\n| west | 1,204.50 |\n| east | 980.00 |\n\n',
  '1. First\n2. Second\n\n- [x] done\n- [ ] open\n\n> A quotation.\n\n```ts\nconst total = rows.length\n```\n\n',
  '![a chart](https://example.com/chart.png)\n\n<b>No markup</b> and [a local link](/settings/keys).\n',
]

testConsole(
  'a chat is started, answered with tools and reasoning, stored, charged and found again',
  async (opened) => {
    const page = await opened.open('/chat')
    await page.getByText('No chats yet').waitFor()
    await opened.check('chat-empty')
    await page.getByRole('link', { name: 'New chat' }).first().click()
    await page.getByRole('radio', { name: 'Writer' }).waitFor()
    await page.getByText('Writes whatever it is told to').click()
    expect(await page.getByRole('radio', { name: 'Writer' }).isChecked()).toBe(true)
    expect(await opened.curl()).toContain('"agentId": "writer"')
    await opened.check('chat-new')
    expect((await callApi(page, 'GET', '/api/sessions')).total, 'no session before the first message').toBe(0)

    await send(
      page,
      'Which region grew most?',
      { do: 'reasoning', delta: 'Which table is meant? ' },
      { do: 'call', id: 'a', name: 'query_table', arguments: { sql: 'select sum(amount)', limit: 2 } },
      { do: 'result', id: 'a', output: { rows: [{ region: 'west', amount: 1204.5 }] } },
      ...markdown.map((delta) => ({ do: 'text' as const, delta })),
    )
    await announced(page, 'The reply is complete and cost $')
    await page.getByRole('heading', { name: 'Findings' }).waitFor()
    await page.getByRole('link', { name: 'Receipt' }).waitFor()

    const link = page.getByRole('link', { name: /^the table/ })
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer nofollow')
    expect(await link.getAttribute('target')).toBe('_blank')
    expect(await page.getByRole('link', { name: /Image: a chart/ }).getAttribute('href')).toContain('chart.png')
    expect(await page.locator('main li img[src]').count()).toBe(0)
    expect(await page.getByRole('link', { name: 'a local link' }).count()).toBe(0)
    await page.getByRole('paragraph').getByText('<b>No markup</b>').waitFor()
    await page.getByRole('button', { name: 'Copy ts code' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('const total = rows.length')

    await page.getByRole('button', { name: 'Copy message' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('Which region grew most?')

    await page.getByRole('button', { name: /query_table/ }).click()
    await page.getByRole('group', { name: 'arguments of query_table' }).getByText('select sum(amount)').waitFor()
    await page.getByRole('group', { name: 'output of query_table' }).getByText('rows').waitFor()
    await page.getByRole('button', { name: /^Reasoning/ }).click()
    await page.getByText('Which table is meant?').waitFor()
    await page.getByRole('button', { name: 'Tokens' }).click()
    await page.getByText('of which reasoning').waitFor()
    await opened.check('chat-reply')

    const sessionId = new URL(page.url()).pathname.split('/').at(-1)!
    const { transactions } = await callApi(page, 'GET', `/api/transactions?sessionId=${sessionId}`)
    const [{ amountUsd, turnId }] = transactions
    const costUsd = amountUsd.slice(1)
    await page.getByText(`Total $${costUsd}`).waitFor()
    const receipt = page.getByRole('link', { name: 'Receipt' })
    expect(await receipt.getAttribute('href')).toBe(`/billing/receipt?turnId=${turnId}`)

    await page.reload()
    await page.getByRole('heading', { name: 'Findings' }).waitFor()
    await page.getByText(`$${costUsd}`).first().waitFor()
    expect(await page.getByRole('button', { name: /^Reasoning/ }).count()).toBe(0)
    await page.getByRole('button', { name: /query_table/ }).waitFor()
    await page.getByRole('link', { name: 'Details' }).click()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as Markdown' }).click(),
    ])
    expect(file.suggestedFilename()).toBe(`${sessionId}.md`)
    const text = (await readFile(await file.path(), 'utf8')).replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, 'TIME')
    const start = [
      '# Which region grew most?',
      `Chat ${sessionId} with Writer (writer), created TIME.`,
      '## User, TIME',
      'Which region grew most?',
      '## Assistant, TIME',
      'Tool call: `query_table`',
      markdown.join(''),
    ]
    expect(text).toBe(`${start.join('\n\n')}\n`)
  },
  { config: chatConfig },
)
