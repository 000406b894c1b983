import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import {
  announced,
  callApi,
  chatConfig,
  createChat,
  messageBox,
  scriptReply,
  secondTab,
  send,
} from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

const rowsIn = (page: Page) => page.getByRole('navigation', { name: 'Chats' }).getByRole('listitem')

/** Counts the frames that do not show this text. */
function countBlankFrames(text: string) {
  const frames = { count: 0 }
  const look = () => {
    const typed = document.querySelector('textarea')?.value
    if (!document.body.innerText.includes(text) && !typed?.includes(text)) frames.count++
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
  return frames
}

const tellHistory = { do: 'tell', what: 'history' } as const

testConsole(
  'a new chat has its title and a dot while its first reply runs, and moves to the top of the list',
  async (opened) => {
    const { page } = opened
    await createChat(page, 'writer', ['An older question'])
    const older = await createChat(page, 'writer', ['Newest so far'])
    await opened.open('/chat?new=yes&agentId=writer')
    scriptReply('What is new?\nTell me.', { do: 'text', delta: 'Nothing' }, { do: 'await-abort' })
    // Without a click, because the box has focus.
    await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA')
    await page.keyboard.type('What is new?')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('Tell me.')
    await page.getByText('Enter to send, Shift+Enter for a new line.').waitFor({ state: 'detached' })
    await page.route('**/trpc/**', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 200))
      await route.continue()
    })
    const blankFrames = await page.evaluateHandle(countBlankFrames, 'Tell me.')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/chat/ses_*')
    await page.getByText('Nothing', { exact: true }).waitFor()
    expect(await blankFrames.evaluate(({ count }) => count), 'frames without the message').toBe(0)
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByText(/About \$0\.00[1-9]\d so far/).waitFor()
    await page.getByRole('heading', { level: 1, name: 'What is new?' }).waitFor()
    const titles = async () => await rowsIn(page).allInnerTexts()
    await expect
      .poll(async () => (await titles()).map((text) => text.split('\n')[0]?.trim()))
      .toEqual(['What is new?', 'Newest so far', 'An older question'])
    await rowsIn(page).first().getByRole('img', { name: 'Replying' }).waitFor()
    const other = await secondTab(opened, '/chat')
    await other.getByText('Replying').waitFor()
    await opened.check('chat-replying')
    const overview = await secondTab(opened, '/')
    await overview
      .getByRole('table', { name: 'Replies in progress' })
      .getByRole('link', { name: 'What is new?' })
      .waitFor()
    await overview.close()
    await page.keyboard.press('Escape')
    await announced(page, 'The reply was cut off')
    await page.getByRole('img', { name: 'Replying' }).waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Rename chat' }).click()
    await page.getByRole('textbox', { name: 'Title' }).fill('The news')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'The news' }).waitFor()
    await page.getByRole('textbox', { name: 'Search chats' }).fill('SO FAR')
    await expect.poll(() => rowsIn(page).count()).toBe(1)
    await rowsIn(page)
      .getByRole('link', { name: /Newest so far/ })
      .click()
    await page.waitForURL(`**/chat/${older}?search=SO+FAR`)
    await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA')
    await opened.check('chat-found')
  },
  { config: chatConfig },
)

testConsole(
  'the last reply can be regenerated, and the last message edited; each reply is charged, the agent sees only the last',
  async (opened) => {
    const { page } = opened
    const sessionId = await createChat(page, 'writer', ['First question'])
    scriptReply('Second question', { do: 'text', delta: 'An answer' })
    await opened.open(`/chat/${sessionId}`)
    await send(page, 'Second question')
    await announced(page, 'An answer')
    scriptReply('Second question', { do: 'text', delta: 'A better answer' })
    await page.getByRole('button', { name: 'Regenerate' }).hover()
    const price = page.getByRole('tooltip').getByText(/You are charged for both replies\. Up to \$\d+\.\d+ is held/)
    await price.waitFor()
    await opened.check('chat-regenerate-price')
    await page.getByRole('button', { name: 'Regenerate' }).click()
    await announced(page, 'A better answer')
    expect(await page.getByText('An answer', { exact: true }).count()).toBe(0)
    expect(await page.getByRole('button', { name: 'Regenerate' }).count(), 'only the last reply').toBe(1)
    await opened.check('chat-regenerated')
    await messageBox(page).fill('Another question')
    const hint = page.locator('#composer-hint').filter({ hasText: /^Up to \$\d+\.\d+ is held\.$/ })
    await hint.waitFor()
    await page.setViewportSize({ width: 360, height: 740 })
    await expect.poll(async () => (await hint.boundingBox())!.height, { message: 'one line' }).toBeLessThan(30)
    await page.setViewportSize({ width: 1280, height: 800 })
    await messageBox(page).fill('')

    await page.getByRole('button', { name: 'Edit message' }).click()
    const box = page.getByRole('textbox', { name: 'Edit message' })
    expect(await box.inputValue()).toBe('Second question')
    await opened.check('chat-edit')
    await page.keyboard.press('Escape')
    await box.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Edit message' }).click()
    scriptReply('An edited question', tellHistory)
    await box.fill('An edited question')
    await page.getByText(/You are charged for both replies\. Up to \$\d+\.\d+ is held/).waitFor()
    await page.keyboard.press('Enter')
    await announced(page, 'First question')
    await page.getByText('Second question').waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('An edited question').waitFor()
    expect(await page.getByText('A better answer').count()).toBe(0)
    expect(await page.getByText('Second question').count(), 'in the conversation and in the history').toBe(0)
    const { transactions } = await callApi(page, 'GET', `/api/transactions?sessionId=${sessionId}`)
    expect(transactions).toHaveLength(4)

    scriptReply('An edited question', { do: 'throw', message: 'No.' })
    await page.getByRole('button', { name: 'Regenerate' }).click()
    await page.getByText('The previous reply was kept.').waitFor()
    expect(await messageBox(page).inputValue()).toBe('')
    await page.getByRole('button', { name: 'Regenerate' }).waitFor()
  },
  { config: chatConfig },
)

testConsole(
  'a tool that answers like an MCP server shows its texts and pictures',
  async (opened) => {
    const { page } = opened
    const sessionId = await createChat(page, 'writer')
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
    const content = [
      { type: 'text', text: 'Two rows\nin the table' },
      { type: 'image', data: pixel, mimeType: 'image/png' },
      { type: 'image', data: pixel, mimeType: 'image/svg+xml' },
    ]
    await opened.open(`/chat/${sessionId}`)
    await send(
      page,
      'Draw it',
      { do: 'call', id: 'a', name: 'draw', arguments: { of: 'rows' } },
      { do: 'result', id: 'a', output: { content, isError: false } },
      { do: 'text', delta: 'Done' },
    )
    await announced(page, 'Done')
    await page.getByRole('button', { name: /^Tool draw/ }).click()
    const output = page.getByRole('group', { name: 'output of draw', exact: true })
    await output.getByText('Two rows').waitFor()
    expect(await output.locator('img').evaluateAll((images) => images.map((image: any) => image.naturalWidth))).toEqual(
      [1],
    )
    await output.getByText('image/svg+xml').waitFor()
    await opened.check('chat-tool-output')
  },
  { config: chatConfig },
)
