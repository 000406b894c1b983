const format = new Intl.NumberFormat('en')

/** Formats a whole number with thousands separators: `3,273`. */
export function countText(count: number): string {
  return format.format(count)
}
