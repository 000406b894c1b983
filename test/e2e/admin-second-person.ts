import type { Page } from 'playwright-core'
import type { OpenConsole } from './open-console.ts'

export const grace = { email: 'grace@example.com', password: 'a long password of grace' }

/** Logs a second user in to a separate browser. */
export async function logInGrace(opened: OpenConsole): Promise<{ page: Page; userId: string; key: string }> {
  const { key, userId } = await opened.service.createPerson({ ...grace, balanceUsd: '10.0000' })
  const page = await opened.newVisit()
  await opened.open('/login', page)
  await page.getByLabel('Email').fill(grace.email)
  await page.getByLabel('Password', { exact: true }).fill(grace.password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('link', { name: /Balance \$10\.00/ }).waitFor()
  return { page, userId, key }
}
