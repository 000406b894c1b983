const charsMax = 2000
const charsKept = 200
const itemsMax = 100

/** Shortens very long strings and lists, so that a JSON value can serve as an example. */
export function shortened(value: unknown): { value: unknown; isShortened: boolean } {
  let isShortened = false
  const cut = (part: unknown): unknown => {
    if (typeof part === 'string' && part.length > charsMax) {
      isShortened = true
      return `${part.slice(0, charsKept).toWellFormed()}…`
    }
    if (Array.isArray(part)) {
      if (part.length > itemsMax) isShortened = true
      return part.slice(0, itemsMax).map(cut)
    }
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(Object.entries(part).map(([key, item]) => [key, cut(item)]))
  }
  return { value: cut(value), isShortened }
}
