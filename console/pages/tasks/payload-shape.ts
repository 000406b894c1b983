const columnsMax = 16
const cellCharsMax = 500
const lineCharsMax = 100
const openFieldsMax = 20
const openCharsMax = 4000

export type Scalar = string | number | boolean | null
export type Fields = Readonly<Record<string, unknown>>

export function isScalar(value: unknown): value is Scalar {
  return typeof value !== 'object' || value === null
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isNothing(value: unknown): boolean {
  if (value === '') return true
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

export function isLine(value: unknown): value is Scalar {
  return isScalar(value) && (typeof value !== 'string' || (value.length <= lineCharsMax && !value.includes('\n')))
}

const toolResultNames = new Set(['content', 'structuredContent', 'isError', 'text'])

/** Whether the value is the result of a connector's tool, in which `text` repeats the text of `content`. */
export function isToolResult(value: unknown): value is Fields {
  if (!isFields(value) || !Array.isArray(value['content']) || value['content'].length === 0) return false
  return (
    Object.keys(value).every((name) => toolResultNames.has(name)) &&
    value['content'].every((part) => isFields(part) && typeof part['type'] === 'string')
  )
}

/** Whether the object is small enough to be shown in full inside another object. */
export function isSmall(value: object): boolean {
  return Object.keys(value).length <= openFieldsMax && JSON.stringify(value).length <= openCharsMax
}

const listItemsMax = 8
const itemFieldsMax = 3

/** Returns the table-cell text for a short list. Returns undefined for any other value. */
export function listText(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length > listItemsMax) return undefined
  const items = value.map((item) => (isFields(item) ? Object.values(item) : [item]))
  if (!items.every((item) => item.length <= itemFieldsMax && item.every(isLine))) return undefined
  const text = items.map((item) => item.join(' ')).join(', ')
  return text.length <= cellCharsMax ? text : undefined
}

/**
 * Returns the columns if the list can be shown as a table, because its items are objects with short values. Otherwise
 * returns undefined.
 */
export function columnsOf(list: readonly unknown[]): readonly string[] | undefined {
  const names = new Set<string>()
  for (const row of list) {
    if (!isFields(row)) return undefined
    for (const [name, cell] of Object.entries(row)) {
      if (!isScalar(cell) && listText(cell) === undefined) return undefined
      if (typeof cell === 'string' && (cell.length > cellCharsMax || cell.includes('\n'))) return undefined
      names.add(name)
      if (names.size > columnsMax) return undefined
    }
  }
  return names.size > 0 ? [...names] : undefined
}

const decimalsMax = 6

/**
 * Returns a function that formats the column's numbers with the same number of decimals, so that they align. Returns
 * undefined if the column does not consist of numbers.
 */
export function numberTexts(cells: readonly unknown[]): ((cell: number) => string) | undefined {
  let decimals = 0
  let numbers = 0
  for (const cell of cells) {
    if (cell === undefined || cell === null) continue
    if (typeof cell !== 'number') return undefined
    numbers++
    const text = String(cell)
    const fraction = text.includes('e') ? Infinity : (text.split('.')[1]?.length ?? 0)
    decimals = Math.max(decimals, fraction)
  }
  if (numbers === 0) return undefined
  return decimals > decimalsMax ? numberText : (cell) => cell.toFixed(decimals)
}

/** Rounds a number with many decimals. Very small numbers keep their digits. */
export function numberText(value: number): string {
  const text = String(value)
  const decimals = text.split('.')[1]?.length ?? 0
  if (text.includes('e') || decimals <= decimalsMax || Math.abs(value) < 0.001) return text
  return value.toFixed(decimalsMax)
}
