/** Moves focus to the heading. Call it when the focused element is removed, such as the button of a deleted row. */
export function focusHeading(): void {
  // Wait until a closing dialog has returned focus to the removed element.
  setTimeout(() => document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true }), 50)
}
