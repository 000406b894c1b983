export function csvRow(values: readonly (string | number | boolean | undefined)[]): string {
  return `${values.map((value) => csvCell(String(value ?? ''))).join(',')}\r\n`
}

/** Formats tags for one cell, such as `team:a, env:prod`. */
export function tagsText(tags: Readonly<Record<string, string>> | null | undefined): string {
  return Object.entries(tags ?? {})
    .map(([name, value]) => `${name}:${value}`)
    .join(', ')
}

const plainNumber = /^-?\d+(?:\.\d+)?$/
/**
 * Matches the start of a spreadsheet formula, at the start of the cell or after a character that some programs or
 * locales use as a cell separator.
 */
const formulaStart = /(^|[;|\t\r\n])(\s*)(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g

function csvCell(value: string): string {
  // A negative amount must stay a number.
  if (plainNumber.test(value)) return value
  const safe = value.replace(formulaStart, "$1$2'")
  return /[",;|\t\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
