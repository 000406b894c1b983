import type { Page } from 'playwright-core'

/**
 * Presses “Try again” while the service is still down, which retries immediately. The page recovers on its own later.
 */
export async function askAgain(page: Page): Promise<void> {
  const asked = page.waitForRequest(/\/trpc\//)
  await page.getByRole('button', { name: 'Try again' }).first().click()
  await asked
}
