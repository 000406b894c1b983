import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { temporaryFolder } from '../../support/resources.ts'
import { announced, callApi, chatConfig, createChat, messageBox, send } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

const folder = temporaryFolder('chat')
const fileOf = (name: string) => join(folder, name)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const lines = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => `Line ${from + index}\n\n`).join('')

testConsole(
  'the page scrolls with a reply only if it is at the end; a stopped reply is charged and marked',
  async (opened) => {
    const { page } = opened
    const sessionId = await createChat(page, 'writer')
    await opened.open(`/chat/${sessionId}`)
    await send(
      page,
      'Count for me',
      { do: 'text', delta: lines(1, 60) },
      { do: 'await-file', file: fileOf('more') },
      { do: 'text', delta: lines(61, 60) },
      { do: 'await-file', file: fileOf('last') },
      { do: 'text', delta: lines(121, 20) },
      { do: 'await-abort' },
    )
    await page.getByText('Line 60', { exact: true }).waitFor()
    await page.waitForFunction(isAtEnd)
    expect(await page.getByRole('button', { name: 'Jump to latest' }).count()).toBe(0)

    const box = page.getByRole('region', { name: 'Messages' })
    await box.hover()
    await page.mouse.wheel(0, -600)
    await page.getByRole('button', { name: 'Jump to latest' }).waitFor()
    const before = await box.evaluate(({ scrollTop }) => scrollTop)
    writeFileSync(fileOf('more'), '')
    await page.getByText('Line 120', { exact: true }).waitFor({ state: 'attached' })
    expect(await box.evaluate(({ scrollTop }) => scrollTop)).toBe(before)
    await opened.check('chat-streaming')

    await page.getByRole('button', { name: 'Jump to latest' }).click()
    await page.waitForFunction(isAtEnd)
    writeFileSync(fileOf('last'), '')
    await page.getByText('Line 140', { exact: true }).waitFor()
    await page.waitForFunction(isAtEnd)

    await messageBox(page).fill('The next one')
    await page.getByRole('button', { name: 'Stop' }).click()
    await announced(page, 'The reply was cut off')
    await page.getByText(/You stopped this reply\. .*You were charged \$\d+\.\d{4}/).waitFor()
    await page.getByText('Cut off', { exact: true }).waitFor()
    expect(await messageBox(page).inputValue()).toBe('The next one')
    const { messages } = await callApi(page, 'GET', `/api/sessions/${sessionId}/messages`)
    expect(messages[1]).toMatchObject({ truncated: true, content: lines(1, 140) })
    await opened.check('chat-stopped')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await announced(page, 'The reply is complete')
    await page.getByText('You said: The next one', { exact: true }).waitFor()
  },
  { config: chatConfig },
)

function isAtEnd(): boolean {
  const box = document.querySelector('[aria-label="Messages"]')!
  return box.scrollHeight - box.clientHeight - box.scrollTop < 2
}

testConsole(
  'the page and its stop button work during a reply of five megabytes in many deltas',
  async (opened) => {
    const { page } = opened
    const sessionId = await createChat(page, 'free')
    await opened.open(`/chat/${sessionId}`)
    const flood = (name: string, times: number) =>
      JSON.stringify([
        { do: 'flood', times, delta: `Some **words** of ${name} and a [link](https://example.com).\n\n` },
      ])
    await messageBox(page).fill(flood('all', 100_000))
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText(/^The first 40,000 of/).waitFor()
    // The stream contains the whole reply, but the stored message is cut off at the maximum size.
    await announced(page, 'The reply was cut off')
    const { messages } = await callApi(page, 'GET', `/api/sessions/${sessionId}/messages?offset=1`)
    expect(messages).toMatchObject([{ role: 'assistant', truncated: true }])
    expect(messages[0].content.length).toBeGreaterThan(900_000)
    await page.getByText(`The first 40,000 of ${messages[0].content.length.toLocaleString('en')} characters`).waitFor()
    const before = await page.getByText('Some words of all').count()
    await page.getByRole('button', { name: 'Show more', exact: true }).click()
    await page.waitForFunction((count) => document.querySelectorAll('main li p').length > count, before)

    await messageBox(page).fill(flood('stopped', 1_000_000))
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('Some words of stopped').first().waitFor()
    await messageBox(page).pressSequentially('Meanwhile')
    expect(await messageBox(page).inputValue()).toBe('Meanwhile')
    await page.getByRole('button', { name: 'Stop' }).click()
    await announced(page, 'The reply was cut off')
  },
  { config: chatConfig, limits: { maxReplyBytes: 80_000_000 } },
)

testConsole(
  'earlier messages are loaded on demand, without moving the message being read',
  async (opened) => {
    const { page } = opened
    const messages = Array.from({ length: 14 }, (_, index) => `Message ${index + 1}`)
    const sessionId = await createChat(page, 'writer', messages)
    await opened.open(`/chat/${sessionId}`)
    await page.getByText('You said: Message 14').waitFor()
    await page.waitForFunction(isAtEnd)
    expect(await page.getByText('You said: Message 4', { exact: true }).count()).toBe(0)
    const earlier = page.getByRole('button', { name: 'Show earlier messages (8)' })
    await earlier.scrollIntoViewIfNeeded()
    // A paragraph, because Markdown replaces the plain text once it has loaded.
    const read = page.getByRole('paragraph').filter({ hasText: /^You said: Message 5$/ })
    const before = (await read.boundingBox())!
    await earlier.click()
    await page.getByText('You said: Message 1', { exact: true }).waitFor({ state: 'attached' })
    expect(await earlier.count()).toBe(0)
    const after = (await read.boundingBox())!
    expect(Math.abs(after.y - before.y)).toBeLessThan(60)
    await page.waitForFunction(() => /\$\d\.\d{4}/.test(document.querySelector('main ol > li')!.textContent))
  },
  { config: chatConfig, limits: { executionsPerMinute: 0 } },
)
