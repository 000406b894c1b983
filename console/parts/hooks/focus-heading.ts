/** Where the focus goes when what had it is gone, such as the button of a row that was deleted. */
export function focusHeading(): void {
  // Dialogs that close give the focus back after a moment, to nothing here.
  setTimeout(() => document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true }), 50)
}
