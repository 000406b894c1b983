import type { Page } from 'playwright-core'

/** Returns what a person would see as broken in the layout of the open page. */
export async function pageFaults(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const faults = new Set<string>()
    const isShown = (element: Element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    const textOf = (element: Element) => (element.textContent ?? '').slice(0, 60)
    for (const control of document.querySelectorAll(
      'button, [role="tab"], .mantine-Badge-label, .mantine-Button-label',
    )) {
      if (isShown(control) && control.scrollWidth > control.clientWidth + 1) faults.add(`cut off: ${textOf(control)}`)
    }

    const boxesOf = (element: Element) => {
      const range = document.createRange()
      range.selectNodeContents(element)
      return [...range.getClientRects()].filter(({ width, height }) => width > 1 && height > 1)
    }
    // Text that is cut off with an ellipsis ends at its box.
    const shownBoxesOf = (cell: Element) => {
      const value = cell.firstElementChild
      if (!value || getComputedStyle(value).overflowX !== 'hidden') return boxesOf(cell)
      return [value.getBoundingClientRect()]
    }
    // The heads of tables are hidden on phones.
    for (const row of document.querySelectorAll('tbody tr')) {
      const cells = [...row.querySelectorAll('td')].filter(isShown)
      for (const [at, cell] of cells.entries()) {
        const next = cells[at + 1]
        if (!next) continue
        const meets = shownBoxesOf(cell).some((one) =>
          shownBoxesOf(next).some(
            (other) =>
              one.right > other.left + 1 &&
              other.right > one.left + 1 &&
              one.bottom > other.top + 1 &&
              other.bottom > one.top + 1,
          ),
        )
        if (meets) faults.add(`overlapping cells: ${textOf(cell)} | ${textOf(next)}`)
      }
    }

    // Ids, URLs and other long tokens may be broken, but words may not.
    const word = /(?<![\w."/-])[A-Za-z]{2,16}(?![\w."@/-])/g
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      if (!text.parentElement || !isShown(text.parentElement)) continue
      for (const { 0: found, index } of (text.nodeValue ?? '').matchAll(word)) {
        const range = document.createRange()
        range.setStart(text, index)
        range.setEnd(text, index + found.length)
        const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)))
        if (tops.size > 1) faults.add(`broken word: ${found} in ${textOf(text.parentElement)}`)
      }
    }
    // iOS zooms in on inputs with a smaller font.
    for (const input of innerWidth < 768
      ? document.querySelectorAll('input:not([type="radio"]), textarea, select')
      : [])
      if (isShown(input) && Number.parseFloat(getComputedStyle(input).fontSize) < 16)
        faults.add(
          `small font: ${input.getAttribute('aria-label') ?? (input as HTMLInputElement).labels?.[0]?.textContent}`,
        )
    // Links within text are exempt (WCAG 2.2, target size).
    for (const control of document.querySelectorAll('button, select, [role="tab"], [role="radio"]')) {
      const { height, width } = control.getBoundingClientRect()
      if (isShown(control) && Math.min(height, width) < 24)
        faults.add(`small target: ${control.getAttribute('aria-label') ?? textOf(control)}, ${width}x${height}`)
    }
    const { clientWidth, scrollWidth } = document.documentElement
    if (scrollWidth > clientWidth) {
      const widest = [...document.querySelectorAll('main *')].filter(
        (element) => element.getBoundingClientRect().right >= scrollWidth,
      )
      faults.add(`the page scrolls sideways by ${scrollWidth - clientWidth} px: ${widest.map(textOf).at(-1)}`)
    }
    return [...faults]
  })
}

/** Records layout shifts from the start of each page on. */
export async function observeShift(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const shifts: { value: number; what: string }[] = []
    Object.assign(globalThis, { shifts })
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { hadRecentInput, sources, value } = entry as PerformanceEntry & {
          hadRecentInput: boolean
          sources: { node: Element | null }[]
          value: number
        }
        const what = sources.map(({ node }) => node?.parentElement?.textContent?.slice(0, 40) ?? '').join(' | ')
        if (!hadRecentInput) shifts.push({ value, what })
      }
    }).observe({ type: 'layout-shift', buffered: true })
  })
}

export async function shiftOf(page: Page): Promise<{ total: number; largest: string }> {
  return await page.evaluate(() => {
    const { shifts } = globalThis as unknown as { shifts: { value: number; what: string }[] }
    const largest = shifts.toSorted((a, b) => b.value - a.value)[0]
    return { total: shifts.reduce((sum, { value }) => sum + value, 0), largest: largest?.what ?? '' }
  })
}
