import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import type { Pace } from './pace-work.ts'

/** A row's values and the line of the file on which it ends; a quoted value may hold line breaks. */
export type CsvRow = { readonly values: readonly string[]; readonly line: number }

const chunkLength = 65_536

/**
 * The rows of a CSV (RFC 4180) in order. Lines may end in LF, CRLF or CR; a byte order mark, empty lines and spaces around
 * values are dropped; rows may differ in length. Throws an error that names the line when quotes are broken.
 */
export async function* readCsv(source: { csv: string; delimiter: string; pace: Pace }): AsyncGenerator<CsvRow> {
  const { csv, delimiter, pace } = source
  // The parser runs ahead of this loop, and its error overtakes the rows that wait here; the last row counts.
  let lineBefore = 0
  const parser = parse({
    delimiter,
    bom: true,
    trim: true,
    info: true,
    on_record(row: string[], { lines }) {
      lineBefore = lines
      return row
    },
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: ['\r\n', '\n', '\r'],
  })
  try {
    for await (const parsed of Readable.from(readChunks(csv)).pipe(parser)) {
      const { record, info } = parsed as { record: string[]; info: { lines: number } }
      if (pace.isDue()) await pace.rest()
      yield { values: record, line: info.lines }
    }
  } catch (error) {
    throw error instanceof CsvError ? nameError({ error, csv, lineBefore }) : error
  }
}

function* readChunks(csv: string): Generator<string> {
  for (let start = 0; start < csv.length;) {
    // A chunk must not end inside of a surrogate pair: each is encoded on its own.
    const end = start + chunkLength
    const cut = /[\ud800-\udbff]/.test(csv.charAt(end - 1)) ? end + 1 : end
    yield csv.slice(start, cut)
    start = cut
  }
}

function nameError(failure: { error: CsvError; csv: string; lineBefore: number }): Error {
  const { error, csv, lineBefore } = failure
  const options = { cause: error }
  const at = `The CSV is broken on line ${String(error['lines'])}`
  switch (error.code) {
    case 'CSV_QUOTE_NOT_CLOSED': {
      // The parser knows only the file's last line; the row in question begins after the last whole one.
      const lines = csv.split(/\r\n|\n|\r/)
      let line = lineBefore + 1
      while (lines[line - 1]?.trim() === '') line += 1
      return new Error(`The CSV is broken: a quote in the row that begins on line ${line} is never closed.`, options)
    }
    case 'INVALID_OPENING_QUOTE':
      return new Error(`${at}: a quote stands inside of a value that does not begin with one.`, options)
    case 'CSV_INVALID_CLOSING_QUOTE':
    case 'CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE':
      return new Error(`${at}: text follows a closing quote; a quote in a value is written "".`, options)
    default:
      return new Error(`The CSV is broken: ${error.message}.`, options)
  }
}
