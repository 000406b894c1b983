import type { Page } from 'playwright-core'

/** Presses “Try again” while the service is still away: the page asks at once. Later it recovers by itself. */
export async function askAgain(page: Page): Promise<void> {
  const asked = page.waitForRequest(/\/trpc\//)
  await page.getByRole('button', { name: 'Try again' }).first().click()
  await asked
}
