import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { paceWork } from './pace-work.ts'

export type Table = {
  readonly names: readonly string[]
  /** Values by column. Missing values are empty. Arrays of rows would take several times the memory. */
  readonly columns: readonly (readonly string[])[]
  readonly rows: number
  readonly delimiter: string
  /** Irregularities of the table, as sentences. */
  readonly warnings: readonly string[]
}

export type TableOptions = {
  /** If omitted, the delimiter is detected. */
  readonly delimiter?: string | undefined
  readonly header?: boolean
  readonly signal?: AbortSignal | undefined
}

const columnsMax = 20_000

/** Reads a CSV (RFC 4180). Throws if it is empty or its quotes are malformed. The error names the line. */
export async function readTable(csv: string, options: TableOptions): Promise<Table> {
  const { header = true, delimiter = detectDelimiter(csv), signal } = options
  const parser = parse({
    delimiter,
    bom: true,
    trim: true,
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
  })
  let names: readonly string[] | undefined
  let columns: readonly string[][] = []
  const counts = { rows: 0, short: 0, long: 0 }
  try {
    // Parse in chunks, so that other runs can continue in between. The flag `u` keeps surrogate pairs whole.
    const parts = Readable.from(csv.match(/[^]{1,65536}/gu) ?? [])
    for await (const row of paceWork<string[]>(parts.pipe(parser), signal)) {
      if (names === undefined) {
        names = row.map((name, at) => (header && name !== '' ? name : `column ${at + 1}`))
        if (names.length > columnsMax)
          throw new Error(`The CSV has ${names.length} columns. At most ${columnsMax} are supported.`)
        columns = names.map(() => [])
        if (header) continue
      }
      counts.rows += 1
      if (row.length < names.length) counts.short += 1
      if (row.length > names.length) counts.long += 1
      for (const [at, column] of columns.entries()) column.push(row[at] ?? '')
    }
  } catch (error) {
    throw error instanceof CsvError ? new Error(`The CSV is malformed. ${error.message}`, { cause: error }) : error
  }
  if (names === undefined) throw new Error('The CSV is empty.')
  const { rows, short, long } = counts
  const warnings = [
    ...(rows === 0 ? ['The table has no rows below its header.'] : []),
    ...(short > 0 ? [`Rows with fewer values than columns: ${short}. The other values count as missing.`] : []),
    ...(long > 0 ? [`Rows with more values than columns: ${long}. The extra values are ignored.`] : []),
  ]
  return { names, columns, rows, delimiter, warnings }
}

/**
 * Returns the character that splits the first row into the most values. If the row has only one value, returns a comma.
 */
export function detectDelimiter(csv: string): string {
  const unquoted = csv.slice(0, 65_536).replace(/"[^"]*"/g, '')
  const [first = ''] = unquoted.trimStart().split(/[\r\n]/)
  const countOf = (delimiter: string) => first.split(delimiter).length - 1
  // If counts are equal, the comma loses, because commas also occur inside values.
  return ['|', ';', '\t'].reduce((best, one) => (countOf(one) > 0 && countOf(one) >= countOf(best) ? one : best), ',')
}
