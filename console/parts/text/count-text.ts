const format = new Intl.NumberFormat('en')

export function countText(count: number): string {
  return format.format(count)
}
