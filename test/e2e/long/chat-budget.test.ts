import { expect } from 'vitest'
import { callApi, chatConfig, createChat } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

testConsole(
  'a session at its cap rejects the next message until the cap is raised',
  async (opened) => {
    const { page } = opened
    // Allows the errors for an invalid cap, a cap below the amount spent, and a message beyond the cap.
    opened.allow(/status of (400|403|409)/)
    await opened.open('/')
    const sessionId = await createChat(page, 'writer', ['Hello'])
    await opened.open(`/chat/${sessionId}?view=details`)
    await page.getByRole('button', { name: 'Set cap' }).click()
    const dialog = page.getByRole('dialog', { name: 'Chat cap' })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Enter an amount in USD, such as 1.50').waitFor()
    const amount = dialog.getByLabel('Cap in USD')
    await amount.fill('much')
    await amount.press('Enter')
    await expect.poll(() => amount.getAttribute('aria-invalid')).toBe('true')
    await opened.check('chat-cap')
    const { spentUsd } = await callApi(page, 'GET', `/api/sessions/${sessionId}`)
    await amount.fill('0.0001')
    await amount.press('Enter')
    await dialog.getByText(/Could not save the cap/).waitFor()
    await amount.fill(spentUsd)
    await amount.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await page.getByText(`$${spentUsd} of $${spentUsd}`).first().waitFor()
    await opened.check('chat-capped')

    await opened.open(`/chat/${sessionId}`)
    const box = page.getByRole('textbox', { name: /Message/ })
    await box.fill('And again')
    await box.press('Enter')
    await page.getByText('Chat cap reached').waitFor()
    await opened.check('chat-cap-reached')
    await page.getByRole('button', { name: 'Raise cap' }).click()
    await amount.fill('5')
    await amount.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('Dismiss', { exact: true }).click()
    await expect.poll(() => box.inputValue()).toBe('And again')
    await box.press('Enter')
    await page.getByText('You said: And again', { exact: true }).waitFor()
    await page
      .getByText(/of \$5\.00/)
      .first()
      .waitFor()
    const { spentUsd: spent } = await callApi(page, 'GET', `/api/sessions/${sessionId}`)
    await box.fill('Once more')
    await page.getByText(`Costs at most $${(5 - Number(spent)).toFixed(4)}`).waitFor()
  },
  { config: chatConfig },
)
