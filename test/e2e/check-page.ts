import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { ofTier } from '../run/tiers.ts'

export const screenshots = fileURLToPath(new URL('../.output/screenshots/', import.meta.url))
const desktop = { width: 1280, height: 800 }
const phone = { width: 360, height: 740 }
type Scheme = 'light' | 'dark'
/** Accessibility rules by color scheme. The schemes differ only in their colors. */
const rules: Record<Scheme, axe.RunOnly> = {
  light: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'] },
  dark: { type: 'rule', values: ['color-contrast'] },
}

/**
 * Checks the open page for accessibility and horizontal scrolling, in light and dark mode, on a desktop and a phone.
 * Saves screenshots in test/.output/screenshots. The small tier checks accessibility only once.
 */
export async function checkPage(page: Page, name: string): Promise<void> {
  mkdirSync(screenshots, { recursive: true })
  for (const [viewport, suffix] of [[desktop, ''] as const, [phone, '-phone'] as const]) {
    await page.setViewportSize(viewport)
    // Moves the pointer away. Otherwise an element that moves under it would show its tooltip.
    await page.mouse.move(0, 0)
    const schemes = ofTier<readonly Scheme[]>(viewport === desktop ? ['light'] : [], ['light', 'dark'])
    for (const scheme of schemes) await checkScheme(page, { scheme, name: `${name}${suffix}` })
    await settle(page)
    await expectNoScroll(page, `${name} at ${viewport.width} px`)
  }
  await page.setViewportSize(desktop)
  await page.emulateMedia({ colorScheme: 'light' })
  await settle(page)
  // Lets charts and popovers adapt to the size.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
}

async function checkScheme(page: Page, { name, scheme }: { name: string; scheme: Scheme }): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme })
  await page.waitForSelector(`html[data-mantine-color-scheme="${scheme}"]`)
  await settle(page)
  // Without this, the header of a scrolled page would be in the middle of the screenshot.
  await page.evaluate(() => scrollTo(0, 0))
  const path = join(screenshots, `${name}-${scheme}.png`)
  await page.screenshot({ path, fullPage: true, animations: 'disabled' })
  const found = await violationsOf(page, scheme)
  expect(found.join('\n'), `accessibility of ${name} in ${scheme}: ${found.join('; ')}`).toBe('')
}

/** Expects that nothing is wider than the page, once a resize has settled. */
async function expectNoScroll(page: Page, what: string): Promise<void> {
  const width = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  await expect.poll(width, { message: `what ${what} has beside the screen`, timeout: 10_000 }).toBeLessThanOrEqual(0)
}

/** Waits until nothing is loading and the page has its heading. */
export async function settle(page: Page): Promise<void> {
  await page.waitForSelector('h1')
  await page.waitForFunction(() => !document.querySelector('[aria-busy="true"], [aria-label^="Loading"]'))
  await page.evaluate(() => document.fonts.ready.then(() => undefined))
}

async function violationsOf(page: Page, scheme: Scheme): Promise<string[]> {
  // Injected through the debugger, which the page's content security policy does not affect.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  return await page.evaluate(async (runOnly) => {
    const found = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, {
      runOnly,
      resultTypes: ['violations'],
    })
    return found.violations.flatMap(({ id, help, nodes }) =>
      nodes.map((node) => `${id} (${help}): ${node.html.slice(0, 200)} ${node.failureSummary ?? ''}`),
    )
  }, rules[scheme])
}
