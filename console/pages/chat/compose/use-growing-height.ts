import { useEffect, useLayoutEffect, type RefObject } from 'react'

/**
 * Makes a textarea as tall as its text, up to its CSS `max-height`. Adjusts the height when the text or the width
 * changes.
 */
export function useGrowingHeight(ref: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    if (ref.current) fit(ref.current)
  }, [ref, text])
  useEffect(() => {
    const box = ref.current
    if (!box) return undefined
    let width = box.clientWidth
    const observer = new ResizeObserver(() => {
      if (box.clientWidth === width) return
      width = box.clientWidth
      fit(box)
    })
    observer.observe(box)
    return () => observer.disconnect()
  }, [ref])
}

function fit(box: HTMLTextAreaElement): void {
  box.style.height = '0'
  box.style.height = `${box.scrollHeight}px`
}
