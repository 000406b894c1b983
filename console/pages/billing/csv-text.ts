/** A row of a CSV file as RFC 4180 has it. */
export function csvRow(values: readonly (string | number | boolean | undefined)[]): string {
  return `${values.map((value) => csvCell(String(value ?? ''))).join(',')}\r\n`
}

const plainNumber = /^-?\d+(?:\.\d+)?$/
/**
 * What a spreadsheet would take for a formula: at the start of the cell, and after what another program, or another
 * country's settings, take for the end of a cell.
 */
const formulaStart = /(^|[;|\t\r\n])(\s*)(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g

function csvCell(value: string): string {
  // A negative amount is to stay a number.
  if (plainNumber.test(value)) return value
  const safe = value.replace(formulaStart, "$1$2'")
  return /[",;|\t\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
