import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { announced, callApi, chatConfig, createChat, send } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

testConsole(
  'a session can be ended, restarted with its agent, deleted, and filtered in the list',
  async (opened) => {
    const { page } = opened
    const first = await createChat(page, 'writer', ['Which region grew most?\nAnd why?'])
    await createChat(page, 'talk')
    await opened.open(`/chat/${first}`)
    await page.getByRole('button', { name: 'Code examples' }).click()
    expect(await page.getByRole('group', { name: 'curl command' }).textContent()).toMatch(/^curl -N -X POST/)
    await page.getByRole('tab', { name: 'TypeScript' }).click()
    expect(await page.getByRole('group', { name: 'TypeScript code' }).textContent()).toContain(
      `for await (const event of client.chat.stream({ sessionId: '${first}', message: 'Hello' })) {`,
    )
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Details' }).click()
    await page.getByRole('heading', { name: 'Metadata' }).waitFor()
    await opened.check('chat-details')
    await page.getByRole('button', { name: 'End chat' }).click()
    const question = page.getByRole('dialog', { name: 'End this chat?' })
    await question.getByRole('button', { name: 'End chat' }).waitFor()
    await opened.check('chat-end-dialog')
    await question.getByRole('button', { name: 'End chat' }).click()
    await question.waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await page.getByText('This chat has ended. Your next message will start a new chat').waitFor()
    await opened.check('chat-completed')
    await send(page, 'And now?', { do: 'tell', what: 'history' })
    await announced(page, /The reply is complete.*Which region grew most\?/s)
    expect(page.url()).not.toContain(first)
    expect(await page.locator('h1').textContent()).toBe('Which region grew most?')
    await page.getByText('Continues an earlier chat').waitFor()
    await opened.check('chat-continued')

    await opened.open('/chat')
    await page.getByRole('link', { name: 'Which region grew most?' }).first().waitFor()
    expect(await page.getByRole('row').count()).toBe(4)
    // The two badges differ in color and in shape.
    const [active, completed] = [await badgeLook(page, 'Active'), await badgeLook(page, 'Ended')]
    expect([active.color === completed.color, active.icon === completed.icon]).toEqual([false, false])
    await opened.check('chat-list')
    await page.getByRole('textbox', { name: 'Status' }).click()
    await page.getByRole('option', { name: 'Ended' }).click()
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    expect(new URL(page.url()).search).toBe('?status=completed')
    await page.getByRole('link', { name: 'Which region grew most?' }).click()
    await page.waitForURL(`**/chat/${first}?status=completed`)
    await page.getByRole('link', { name: 'Details' }).click()
    await page.getByRole('button', { name: 'Delete chat' }).click()
    await page.getByRole('dialog', { name: 'Delete this chat?' }).getByRole('button', { name: 'Delete chat' }).click()
    await page.waitForURL('**/chat')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2)
    expect((await callApi(page, 'GET', '/api/sessions')).total).toBe(2)

    opened.allow(/status of 404/)
    await opened.open(`/chat/${first}`)
    await page.getByText('Chat not found').waitFor()
    await opened.check('chat-missing')
  },
  { config: chatConfig },
)

testConsole(
  'a chat can be started with a connector, and the session list is paged by the server',
  async (opened) => {
    const { page } = opened
    const connector = await callApi(page, 'POST', '/api/connectors', {
      name: 'Weather',
      url: 'https://example.com/mcp',
    })
    expect(connector.id).toMatch(/^con/)
    await opened.open('/chat?new=yes&agentId=talk')
    expect(await page.getByRole('radio', { name: 'Talker' }).isChecked()).toBe(true)
    await page.getByRole('textbox', { name: 'Connectors' }).click()
    await page.getByRole('option', { name: 'Weather' }).click()
    await page.keyboard.press('Escape')
    await send(page, 'Rain today?')
    await page.waitForURL('**/chat/ses_*')
    const sessionId = new URL(page.url()).pathname.split('/').at(-1)!
    expect((await callApi(page, 'GET', `/api/sessions/${sessionId}`)).metadata).toEqual({
      connectorIds: [connector.id],
    })
    await page.getByRole('link', { name: 'Details' }).click()
    await page.getByRole('definition').getByText('Weather').waitFor()
    await page.getByRole('button', { name: 'Change connectors' }).click()
    const change = page.getByRole('dialog', { name: 'Chat connectors' })
    await change.getByRole('textbox', { name: 'Connectors' }).waitFor()
    await opened.check('chat-connectors')
    await change.getByRole('textbox', { name: 'Connectors' }).press('Backspace')
    await page.keyboard.press('Tab')
    await change.getByRole('button', { name: 'Save connectors' }).click()
    await change.waitFor({ state: 'detached' })
    await page.getByRole('definition').getByText('Weather').waitFor({ state: 'detached' })
    expect((await callApi(page, 'GET', `/api/sessions/${sessionId}`)).metadata).toEqual({})

    for (let count = 0; count < 25; count++) await createChat(page, 'writer')
    await opened.open('/chat')
    await page.getByText('1–25 of 26').waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('26–26 of 26').waitFor()
    expect(new URL(page.url()).search).toBe('?offset=25')
    await page.getByRole('link', { name: 'Rain today?' }).click()
    await page.waitForURL(`**/chat/${sessionId}?offset=25`)
  },
  { config: chatConfig },
)

async function badgeLook(page: Page, says: string): Promise<{ color: string; icon: string | null | undefined }> {
  const label = page.getByRole('cell').getByText(says, { exact: true }).first()
  return await label.evaluate((element) => {
    const badge = element.closest('.mantine-Badge-root')!
    return { color: getComputedStyle(badge).color, icon: badge.querySelector('path')?.getAttribute('d') }
  })
}
