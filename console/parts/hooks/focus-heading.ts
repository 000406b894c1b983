/** Moves focus to the heading when the focused element is removed, such as the button of a deleted row. */
export function focusHeading(): void {
  // A closing dialog returns focus after a short delay, here to a removed element.
  setTimeout(() => document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true }), 50)
}
