import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, expect } from 'vitest'
import { announced, chatConfig, createChat, messageBox, scriptReply, secondTab, send } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

const folder = mkdtempSync(join(tmpdir(), 'errand-tabs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Returns the amounts on the page: the balance, the session's total, and the price of each reply. */
async function moneyOf(page: Page) {
  return await page.evaluate(() => {
    const amounts = (element: Element | null) => element?.textContent.match(/\$[\d.,]+/g) ?? []
    return {
      balance: amounts(document.querySelector('header a[href="/billing"]')),
      total: amounts(document.querySelector('main header')),
      prices: Array.from(document.querySelectorAll('main ol > li'), (reply) => amounts(reply).at(-1)),
    }
  })
}

/** Polls, because each amount is fetched again some time after the reply. */
async function expectSameMoney(page: Page, other: Page): Promise<void> {
  const differ = async () => {
    const [here, there] = await Promise.all([moneyOf(page), moneyOf(other)])
    return JSON.stringify(here) === JSON.stringify(there) ? [] : [here, there]
  }
  await expect.poll(differ, { timeout: 15_000 }).toEqual([])
}

testConsole(
  'two tabs on one session show the same messages, amounts and busy state',
  async (opened) => {
    const { page } = opened
    const sessionId = await createChat(page, 'writer', ['Hello'])
    await opened.open(`/chat/${sessionId}`)
    const other = await secondTab(opened, `/chat/${sessionId}`)
    await other.getByText('You said: Hello', { exact: true }).waitFor()
    const before = await moneyOf(other)

    const go = join(folder, 'go')
    await send(page, 'Take your time', { do: 'text', delta: 'Slowly' }, { do: 'await-file', file: go })
    await page.getByText('Slowly', { exact: true }).waitFor()
    opened.allow(/status of 409/)
    await messageBox(other).fill('Me too')
    await messageBox(other).press('Enter')
    await other.getByText('Another reply is in progress').waitFor()
    await opened.check('chat-busy', other)
    writeFileSync(go, '')
    await announced(page, 'The reply is complete')
    await other.getByText('Slowly', { exact: true }).waitFor()
    await other.getByText('Another reply is in progress').waitFor({ state: 'detached' })
    expect(await messageBox(other).inputValue()).toBe('Me too')
    await expectSameMoney(other, page)
    const after = await moneyOf(other)
    expect(after.prices.length).toBe(2)
    expect(after.prices.at(-1)).toMatch(/^\$\d/)
    expect([after.balance, after.total]).not.toEqual([before.balance, before.total])

    // The first tab follows along, even though it sends nothing itself.
    await send(other, 'Me too')
    await announced(other, 'The reply is complete')
    await page.getByText('You said: Me too', { exact: true }).waitFor()
    await expectSameMoney(page, other)
  },
  { config: chatConfig },
)

testConsole(
  'a reply to another client is shown while it keeps the session busy',
  async (opened) => {
    const { page, service, visitor } = opened
    const sessionId = await createChat(page, 'writer')
    const key = await service.createKey(visitor.userId)
    await opened.open(`/chat/${sessionId}`)
    await page.getByText('Write the first message').waitFor()
    const go = join(folder, 'program')
    scriptReply('From code', { do: 'text', delta: 'For a program' }, { do: 'await-file', file: go })
    const reply = service.post('/api/chat', { sessionId, message: 'From code' }, { key })
    await expect
      .poll(async () => (await service.get('/api/account', key)).body.heldUsd, { timeout: 15_000 })
      .not.toBe('0.0000')
    opened.allow(/status of 409/)
    await send(page, 'And from here')
    await page.getByText('Another reply is in progress').waitFor()
    // The other reply has not ended yet, so there are no new messages to show.
    await page.getByRole('button', { name: 'Load messages' }).click()
    await page.getByText('Another reply is in progress').waitFor({ state: 'detached' })
    writeFileSync(go, '')
    expect((await reply).body).toContain('"type":"done"')
    await page.getByText('For a program', { exact: true }).waitFor()
    const { balanceUsd } = (await service.get('/api/account', key)).body
    await page.getByRole('link', { name: 'Balance' }).getByTitle(`$${balanceUsd}`, { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await announced(page, 'The reply is complete')
  },
  { config: chatConfig },
)
