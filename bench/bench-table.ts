import type { BenchData } from './bench-data.ts'

export type Measure = (data: BenchData & { isQuick: boolean }) => Promise<Row[]>

export type Row = {
  what: string
  value: number
  unit: string
  against?: string
  ratio?: number
  spread?: readonly [number, number]
  bar?: string
  isMet?: boolean
}

export function atLeast(row: Row & { ratio: number }, bar: number): Row {
  return { ...row, bar: `≥ ${bar}`, isMet: row.ratio >= bar }
}

export function atMost(row: Row, bar: number): Row {
  return { ...row, bar: `≤ ${bar} ${row.unit}`, isMet: row.value <= bar }
}

export function formatValue(value: number, unit: string): string {
  return `${value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2)} ${unit}`
}

export function formatTable(rows: readonly Row[]): string {
  const cells = rows.map(({ against, bar, isMet, ratio, spread, unit, value, what }) => [
    what,
    formatValue(value, unit),
    ratio === undefined
      ? ''
      : ratio.toFixed(2) + (spread ? ` (${spread[0].toFixed(2)} to ${spread[1].toFixed(2)})` : ''),
    against ?? '',
    bar ?? '',
    isMet === undefined ? '' : isMet ? 'yes' : 'NO',
  ])
  const all = [['what', 'value', 'ratio', 'against', 'bar', 'met'], ...cells]
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  const line = (row: readonly string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`
  return [line(all[0]!), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)].join('\n')
}
