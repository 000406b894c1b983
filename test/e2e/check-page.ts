import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

export const screenshots = fileURLToPath(new URL('../.output/screenshots/', import.meta.url))
const desktop = { width: 1280, height: 800 }
const phone = { width: 360, height: 740 }
const tags = ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice']

/**
 * Checks the open page for accessibility, in light and in dark, on a desktop and on a phone, where nothing may scroll
 * sideways; leaves a screenshot of each in test/.output/screenshots.
 */
export async function checkPage(page: Page, name: string): Promise<void> {
  mkdirSync(screenshots, { recursive: true })
  for (const [viewport, suffix] of [[desktop, ''] as const, [phone, '-phone'] as const]) {
    await page.setViewportSize(viewport)
    // What comes to lie under the resting pointer would show its tooltip.
    await page.mouse.move(0, 0)
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme })
      await page.waitForSelector(`html[data-mantine-color-scheme="${scheme}"]`)
      await settle(page)
      // A page that was scrolled would have its header in the middle of the picture.
      await page.evaluate(() => scrollTo(0, 0))
      await page.screenshot({
        path: join(screenshots, `${name}${suffix}-${scheme}.png`),
        fullPage: true,
        animations: 'disabled',
      })
      const found = await violationsOf(page)
      expect(found.join('\n'), `accessibility of ${name}${suffix} in ${scheme}: ${found.join('; ')}`).toBe('')
    }
    const { scrolled, shown } = await page.evaluate(() => ({
      scrolled: document.documentElement.scrollWidth,
      shown: document.documentElement.clientWidth,
    }))
    expect(scrolled, `width of ${name} at ${viewport.width} px`).toBeLessThanOrEqual(shown)
  }
  await page.setViewportSize(desktop)
  await page.emulateMedia({ colorScheme: 'light' })
}

/** Until nothing is loading any more and the page has its heading. */
export async function settle(page: Page): Promise<void> {
  await page.waitForSelector('h1')
  await page.waitForFunction(() => !document.querySelector('[aria-busy="true"], [aria-label^="Loading"]'))
  await page.evaluate(() => document.fonts.ready.then(() => undefined))
}

/** What axe finds, in words that say where. */
async function violationsOf(page: Page): Promise<string[]> {
  // The script comes through the debugger, which the page's content security policy does not concern.
  await page.evaluate(axe.source)
  return await page.evaluate(async (values) => {
    const found = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, {
      runOnly: { type: 'tag', values },
      resultTypes: ['violations'],
    })
    return found.violations.flatMap(({ id, help, nodes }) =>
      nodes.map((node) => `${id} (${help}): ${node.html.slice(0, 200)} ${node.failureSummary ?? ''}`),
    )
  }, tags)
}
