import { defineEndpoint } from 'errand'
import { z } from 'zod'
import { average, maximum, median, minimum, readNumber, standardDeviation } from './figures.ts'
import { paceWork } from './pace-work.ts'
import { readTable, type TableOptions } from './read-table.ts'

const shorten = (value: string) => (value.length > 100 ? `${value.slice(0, 99).toWellFormed()}…` : value)

/** Describes each column of a CSV. Throws if the CSV is empty or malformed. The error names the line. */
export async function profileCsv(csv: string, options: TableOptions = {}) {
  const { names, rows, delimiter, warnings, ...table } = await readTable(csv, options)
  const columns: ReturnType<typeof describeColumn>[] = []
  for await (const [at, cells] of paceWork(table.columns.entries(), options.signal)) {
    columns.push(describeColumn(names[at]!, cells))
  }
  return { rows, columns, delimiter, header: options.header ?? true, warnings }
}

/** Column types. A column gets the first type that fits all of its values. */
const types = {
  integer: (value: string) => readNumber(value) !== undefined && !/[.e]/i.test(value),
  number: (value: string) => readNumber(value) !== undefined,
  boolean: (value: string) => /^(?:true|false|yes|no)$/i.test(value),
  date: isDate,
  string: () => true,
}

function describeColumn(name: string, cells: readonly string[]) {
  const values = cells.filter((cell) => cell.trim() !== '')
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  const base = { name, count: values.length, missing: cells.length - values.length, distinct: counts.size }
  if (values.length === 0) return { ...base, type: 'empty' as const }

  const type = (Object.keys(types) as (keyof typeof types)[]).find((key) => values.every(types[key]))!
  if (type === 'integer' || type === 'number') {
    const numbers = values.map(Number)
    const range = { min: minimum(numbers), max: maximum(numbers), median: median(numbers) }
    return { ...base, type, ...range, mean: average(numbers), standardDeviation: standardDeviation(numbers) }
  }
  if (type === 'date') {
    const min = values.reduce((least, value) => (Date.parse(value) < Date.parse(least) ? value : least))
    const max = values.reduce((most, value) => (Date.parse(value) > Date.parse(most) ? value : most))
    return { ...base, type, min, max }
  }
  const top = [...counts]
    .toSorted((a, b) => b[1] - a[1])
    .slice(0, 5)
    .map(([value, count]) => ({ value: shorten(value), count }))
  if (type === 'boolean') return { ...base, type, top }
  const lengths = values.map(({ length }) => length)
  return { ...base, type, minLength: minimum(lengths), maxLength: maximum(lengths), top }
}

/** Whether the value is an existing ISO 8601 date, with or without a time. */
function isDate(value: string): boolean {
  const [, day] = /^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}.*)?$/.exec(value) ?? []
  if (day === undefined || Number.isNaN(Date.parse(value))) return false
  return new Date(`${day}T00:00Z`).toISOString().startsWith(day)
}

export const profile = defineEndpoint({
  description:
    'Describes each column of a CSV table: its type, its missing and distinct values, and either the minimum, maximum, ' +
    'mean, median and standard deviation (numbers), the range (dates), or the most frequent values (text). Numbers ' +
    'have a decimal point: "1,5" and "007" are text. Dates are ISO 8601. Unbalanced quotes cause an error that names ' +
    'the line.',
  priceUsd: '0.0200',
  timeoutSeconds: 120,
  retries: 1,
  connectorTokensMax: 0,
  params: z
    .object({
      csv: z
        .string()
        .min(1, 'The CSV is empty.')
        .describe('The table as CSV text. Values with separators, quotes or line breaks must be in double quotes.'),
      delimiter: z
        .string()
        .regex(/^[^"\r\n]$/, 'The delimiter must be one character other than a quote or a line break.')
        .optional()
        .describe('Character between values. If omitted, it is detected: comma, semicolon, tab or vertical bar.'),
      header: z.boolean().default(true).describe('Whether the first row contains the column names.'),
    })
    .meta({ examples: [{ csv: 'city,month,amount\nBerlin,May,1204.50\nParis,May,980.00\nBerlin,June,1310.25' }] }),
  run: ({ params: { csv, ...options }, signal }) => profileCsv(csv, { ...options, signal }),
})
