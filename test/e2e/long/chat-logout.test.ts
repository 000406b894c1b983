import { expect } from 'vitest'
import { chatConfig, createChat, messageBox, send } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

testConsole(
  'logging out ends the running reply and leaves neither message nor draft in the tab',
  async (opened) => {
    const { page, service, visitor } = opened
    const sessionId = await createChat(page, 'writer')
    await opened.open(`/chat/${sessionId}`)
    await send(page, 'A secret message', { do: 'text', delta: 'A secret reply' }, { do: 'await-abort' })
    await page.getByText('A secret reply', { exact: true }).waitFor()
    await messageBox(page).fill('A secret draft')
    expect(await page.evaluate(() => Object.values(sessionStorage).join(' '))).toMatch(
      /secret message.*secret draft|secret draft.*secret message/,
    )

    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await page.getByRole('heading', { name: 'Log in to Errand' }).waitFor()
    await expect.poll(async () => (await service.app.store.getUser(visitor.userId))!.held, { timeout: 20_000 }).toBe(0)
    expect(await page.evaluate(() => Object.keys(sessionStorage))).toEqual([])

    await page.getByLabel('Email').fill(visitor.email)
    await page.getByLabel('Password', { exact: true }).fill(visitor.password)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Account' }).waitFor()
    await page.evaluate((path) => history.pushState(null, '', path), `/chat/${sessionId}`)
    await page.getByText('A secret reply', { exact: true }).waitFor()
    expect(await messageBox(page).inputValue()).toBe('')
  },
  { config: chatConfig },
)

testConsole(
  'logging out while the agent is slow to stop sends no unauthenticated requests',
  async (opened) => {
    const { page, service, visitor } = opened
    const sessionId = await createChat(page, 'writer')
    await opened.open(`/chat/${sessionId}`)
    await send(page, 'A message', { do: 'text', delta: 'A reply' }, { do: 'sleep', ms: 6000 })
    await page.getByText('A reply', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await page.getByRole('heading', { name: 'Log in to Errand' }).waitFor()
    await expect.poll(async () => (await service.app.store.getUser(visitor.userId))!.held, { timeout: 20_000 }).toBe(0)
  },
  { config: chatConfig },
)
