/** Gives the focus to the heading of the page when the button that had it is gone. */
export function focusMain(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true }))
}
