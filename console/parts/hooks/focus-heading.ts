/** Moves focus to the heading. Call it when the focused element is removed, such as the button of a deleted row. */
export function focusHeading(): void {
  // Waits for a closing dialog to return focus, because the dialog would return it to the removed element.
  setTimeout(() => document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true }), 50)
}
