import type { Page } from 'playwright-core'

/** Clicks “Try again” while the service is still down, which retries immediately. The page recovers by itself later. */
export async function askAgain(page: Page): Promise<void> {
  const asked = page.waitForRequest(/\/trpc\//)
  await page.getByRole('button', { name: 'Try again' }).first().click()
  await asked
}
