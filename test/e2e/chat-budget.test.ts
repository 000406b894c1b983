import { expect } from 'vitest'
import { callApi, chatConfig, createChat } from './chat-console.ts'
import { testConsole } from './open-console.ts'

testConsole(
  'a session gets a cap, its next message is refused there, and goes through once the cap is raised',
  async (opened) => {
    const { page } = opened
    // An invalid cap, one below the amount spent, and a message beyond it.
    opened.allow(/status of (400|403|409)/)
    await opened.open('/')
    const sessionId = await createChat(page, 'writer', ['Hello'])
    await opened.open(`/chat/${sessionId}?view=details`)
    await page.getByRole('button', { name: 'Set a cap' }).click()
    const dialog = page.getByRole('dialog', { name: 'What this session may cost' })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Enter an amount, such as 1.50').waitFor()
    const amount = dialog.getByLabel('At most, in USD')
    await amount.fill('much')
    await amount.press('Enter')
    await expect.poll(() => amount.getAttribute('aria-invalid')).toBe('true')
    await opened.check('chat-cap')
    const { spentUsd } = await callApi(page, 'GET', `/api/sessions/${sessionId}`)
    await amount.fill('0.0001')
    await amount.press('Enter')
    await dialog.getByText(/The cap was not changed/).waitFor()
    await amount.fill(spentUsd)
    await amount.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await page.getByText(`$${spentUsd} of at most $${spentUsd}`).first().waitFor()
    await opened.check('chat-capped')

    await opened.open(`/chat/${sessionId}`)
    const box = page.getByRole('textbox', { name: /Message/ })
    await box.fill('And again')
    await box.press('Enter')
    await page.getByText('The cap of this session is reached').waitFor()
    await opened.check('chat-cap-reached')
    await page.getByRole('button', { name: 'Raise the cap' }).click()
    await amount.fill('5')
    await amount.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('Dismiss', { exact: true }).click()
    await expect.poll(() => box.inputValue()).toBe('And again')
    await box.press('Enter')
    await page.getByText('You said: And again', { exact: true }).waitFor()
    await page
      .getByText(/of at most \$5\.0000/)
      .first()
      .waitFor()
  },
  { config: chatConfig },
)
