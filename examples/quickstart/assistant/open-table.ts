import { classifyValue } from '../classify-value.ts'
import type { Pace } from '../pace-work.ts'
import { nameColumns } from '../profile-csv.ts'
import { readCsv } from '../read-csv.ts'
import { readDecimal, type Decimal } from './exact-decimal.ts'
import type { PastedTable } from './read-message.ts'

export type TableColumn = {
  readonly name: string
  readonly at: number
  /** How many values are figures, dates, and neither empty nor missing. */
  readonly figures: number
  readonly dates: number
  readonly filled: number
  /** Whether its figures are written with a decimal comma, as in "1.234,50". */
  readonly hasDecimalComma: boolean
  /** Different values, in lower case, as they are first written; not all of them when there are very many. */
  readonly values: ReadonlyMap<string, string>
}

export type Table = {
  readonly columns: readonly TableColumn[]
  readonly rows: readonly (readonly string[])[]
  /** Whether the first row holds the names of the columns. */
  readonly header: boolean
}

const valuesMax = 2000
const valueLengthMax = 80

const decimalComma = /^[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+),\d+$/

/** Reads a table whole. Throws when it is empty or broken, naming the line. */
export async function openTable({ csv, delimiter }: PastedTable, pace: Pace): Promise<Table> {
  const all: (readonly string[])[] = []
  for await (const { values } of readCsv({ csv, delimiter, pace })) all.push(values)
  const [first, second] = all
  if (first === undefined) throw new Error('The CSV is empty.')
  const header = isHeader(first, second)
  const names = nameColumns(header ? first : first.map(() => ''), { warnings: [], header })
  const rows = header ? all.slice(1) : all
  const columns: TableColumn[] = []
  for (const [at, name] of names.entries()) {
    columns.push(await surveyColumn({ name, at, rows, isCommaFree: delimiter === ',', pace }))
  }
  return { columns, rows, header }
}

/** Whether a table's first row holds names, without reading the rest of it. */
export async function detectHeader({ csv, delimiter }: PastedTable, pace: Pace): Promise<boolean> {
  const rows: (readonly string[])[] = []
  for await (const { values } of readCsv({ csv, delimiter, pace })) {
    if (rows.push(values) === 2) break
  }
  return rows[0] === undefined || isHeader(rows[0], rows[1])
}

/**
 * A first row with a figure or date above another one holds no names. Whole numbers from 1900 to 2100 may be names:
 * columns are often called after years.
 */
function isHeader(first: readonly string[], second: readonly string[] | undefined): boolean {
  return !first.some((value, at) => {
    const isYear = /^(?:19|20)\d\d$|^2100$/.test(value)
    return !isYear && isFigure(value) && (second === undefined || isFigure(second[at] ?? ''))
  })
}

function isFigure(value: string): boolean {
  const type = classifyValue(value)
  return type === 'integer' || type === 'number' || type === 'date'
}

type Survey = {
  readonly name: string
  readonly at: number
  readonly rows: Table['rows']
  readonly isCommaFree: boolean
  readonly pace: Pace
}

async function surveyColumn({ name, at, rows, isCommaFree, pace }: Survey): Promise<TableColumn> {
  const counts = { integer: 0, number: 0, date: 0, boolean: 0, string: 0 }
  let [commas, clearCommas] = [0, 0]
  const values = new Map<string, string>()
  for (const row of rows) {
    if (pace.isDue()) await pace.rest()
    const value = row[at] ?? ''
    if (value.trim() === '') continue
    counts[classifyValue(value)] += 1
    if (values.size < valuesMax && value.length <= valueLengthMax) {
      const key = value.toLowerCase()
      if (!values.has(key)) values.set(key, value)
    }
    if (isCommaFree || value.length > valueLengthMax || !decimalComma.test(value)) continue
    commas += 1
    // Three digits may as well be thousands.
    if (!/,\d{3}$/.test(value)) clearCommas += 1
  }
  const hasDecimalComma = clearCommas > 0 && counts.number === 0
  const figures = counts.integer + counts.number + (hasDecimalComma ? commas : 0)
  const filled = counts.integer + counts.number + counts.date + counts.boolean + counts.string
  return { name, at, figures, dates: counts.date, filled, hasDecimalComma, values }
}

/** A value of a column as an exact number, if it is one. */
export function readFigure(column: TableColumn, value: string): Decimal | undefined {
  if (!column.hasDecimalComma || !decimalComma.test(value)) return readDecimal(value)
  return readDecimal(value.replaceAll('.', '').replace(',', '.'))
}
