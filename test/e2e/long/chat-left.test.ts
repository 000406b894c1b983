import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { temporaryFolder } from '../../support/resources.ts'
import { chatConfig, createChat, send } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

const folder = temporaryFolder('chat-left')
const file = join(folder, 'more')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

testConsole(
  'a reply that ends while its chat is left is announced with a link, in the title and in the icon',
  async (opened) => {
    const { page } = opened
    const sessionId = await createChat(page, 'writer')
    await opened.open(`/chat/${sessionId}`)
    await send(page, 'Think long', { do: 'text', delta: 'First' }, { do: 'await-file', file })
    await page.getByText('First', { exact: true }).waitFor()
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Billing' }).click()
    await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor()
    writeFileSync(file, '')
    const notice = page.getByRole('alert').filter({ hasText: 'Reply: Think long' })
    await notice.waitFor()
    expect(await page.title()).toBe('✓ Think long · Errand')
    expect(await page.locator('link[rel="icon"]').getAttribute('href')).toContain('data:image/svg+xml')
    await opened.check('reply-announced')
    await notice.getByRole('link', { name: 'View chat' }).click()
    await page.waitForURL(`**/chat/${sessionId}`)
    await notice.waitFor({ state: 'detached' })
    expect(await page.title()).toMatch(/^Think long/)
    // A reply that ends on the open page is not announced.
    await send(page, 'Now here')
    await page.getByText('You said: Now here', { exact: true }).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
  },
  { config: chatConfig },
)
