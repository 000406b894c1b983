const format = new Intl.NumberFormat('en')

/** A whole number with its thousands apart: `3,273`. */
export function countText(count: number): string {
  return format.format(count)
}
