import { classifyValue } from '../classify-value.ts'
import type { Pace } from '../pace-work.ts'

/** A table among the lines of a message: `end` is the line after its last one. */
export type FoundTable = {
  readonly csv: string
  readonly delimiter: string
  readonly start: number
  readonly end: number
}

type Run = { readonly delimiter: string; readonly start: number; readonly end: number }
type Row = { readonly columns: number; readonly end: number }

/** In order of preference when a table is as long by two of them, as in `detectDelimiter`. */
const delimiters = ['\t', ';', '|', ','] as const
/** A quoted value that goes on for more lines than this counts as a quote that is never closed. */
const quotedLinesMax = 50
const sampleRows = 50
const headerLengthMax = 100

/**
 * The tables among a message's lines: at least two rows in a row with equally many values, at least two, by one
 * delimiter. After that rows may be ragged, and an empty line may stand between rows with figures. Lines of prose that
 * happen to have equally many commas are told apart: see `looksLikeTable`.
 */
export async function findTables(lines: readonly string[], pace: Pace): Promise<FoundTable[]> {
  const runs: Run[] = []
  for (const delimiter of delimiters) {
    for await (const run of findRuns({ lines, delimiter, pace })) runs.push(run)
  }
  const chosen: Run[] = []
  for (const run of runs.toSorted((a, b) => b.end - b.start - (a.end - a.start))) {
    if (chosen.every((other) => run.end <= other.start || run.start >= other.end)) chosen.push(run)
  }
  return chosen
    .toSorted((a, b) => a.start - b.start)
    .map((run) => ({ ...run, csv: toCsv(lines.slice(run.start, run.end), run.delimiter) }))
}

async function* findRuns(source: { lines: readonly string[]; delimiter: string; pace: Pace }): AsyncGenerator<Run> {
  const { lines, delimiter, pace } = source
  for (let start = 0; start < lines.length - 1;) {
    if (pace.isDue()) await pace.rest()
    const first = readRow({ lines, at: start, delimiter })
    const second = first.columns < 2 ? undefined : readRow({ lines, at: first.end, delimiter })
    if (second === undefined || second.columns !== first.columns) {
      start += 1
      continue
    }
    let end = second.end
    for (let next = end; next > 0; next = extendRun({ lines, delimiter, end, columns: first.columns })) {
      if (pace.isDue()) await pace.rest()
      end = next
    }
    const run = trimProse({ delimiter, start, end }, lines)
    if (run.end - run.start >= 2 && looksLikeTable(run, lines)) yield run
    start = end
  }
}

/** Where the run ends with the next row, or 0 when there is none. */
function extendRun(run: { lines: readonly string[]; delimiter: string; end: number; columns: number }): number {
  const { lines, delimiter, end, columns } = run
  let at = end
  while (at < lines.length && lines[at]!.trim() === '') at += 1
  if (at >= lines.length) return 0
  const row = readRow({ lines, at, delimiter })
  if (at > end) return row.columns === columns && hasFigure(lines[at]!, delimiter) ? row.end : 0
  if (row.columns >= 2) return row.end
  // One short row in the midst of a table belongs to it.
  const after = readRow({ lines, at: row.end, delimiter })
  return after.columns === columns ? after.end : 0
}

/** How many values stand in the row that begins on a line; a value in quotes may go on for some lines. */
function readRow({ lines, at, delimiter }: { lines: readonly string[]; at: number; delimiter: string }): Row {
  let line = lines[at]
  if (line === undefined) return { columns: 0, end: at + 1 }
  const plain = { columns: line.trim() === '' ? 0 : line.split(delimiter).length, end: at + 1 }
  if (!line.includes('"')) return plain
  let [columns, end, from] = [1, at + 1, 0]
  for (;;) {
    const opening = /^[ ]*"/.exec(line.slice(from, from + 100))
    if (opening !== null) {
      from += opening[0].length
      let closing = findClosingQuote(line, from)
      while (closing < 0) {
        line = lines[end]
        if (line === undefined || end - at > quotedLinesMax) return plain
        end += 1
        closing = findClosingQuote(line, 0)
      }
      from = closing + 1
    }
    const next = line.indexOf(delimiter, from)
    if (next < 0) return { columns, end }
    columns += 1
    from = next + 1
  }
}

function findClosingQuote(line: string, from: number): number {
  let at = line.indexOf('"', from)
  while (at >= 0 && line[at + 1] === '"') at = line.indexOf('"', at + 2)
  return at
}

/** Leaves out a first or last line that is a sentence to the assistant and only happens to hold the delimiter. */
function trimProse(run: Run, lines: readonly string[]): Run {
  let { start, end } = run
  while (end - start > 1 && (isProse(lines[end - 1]!, run.delimiter) || lines[end - 1]!.trim() === '')) end -= 1
  while (end - start > 1 && isProse(lines[start]!, run.delimiter)) start += 1
  return { ...run, start, end }
}

const request =
  /^(?:please|can|could|what|which|how|who|when|show|give|tell|list|find|sum|count|calculate|compute|here|hi|hello|thanks|this|these|my|i)\b/i

function isProse(line: string, delimiter: string): boolean {
  if (delimiter === '\t' || delimiter === '|' || line.includes('"')) return false
  const text = line.trim()
  if (line.split(delimiter).some((value, at) => at > 0 && !/^(?: |$)/.test(value))) return false
  return text.endsWith('?') || (text.split(/\s+/).length >= 4 && (/[.!:]$/.test(text) || request.test(text)))
}

/**
 * In prose a comma or semicolon is followed by a space, in a table mostly not. Where it is, the table must have a
 * column of figures, or at least three rows of values of at most three words. Commas that only separate the thousands
 * of figures in sentences make no table either.
 */
function looksLikeTable({ delimiter, start, end }: Run, lines: readonly string[]): boolean {
  const sample = lines.slice(start, Math.min(end, start + sampleRows)).filter((line) => line.trim() !== '')
  const rows = sample.map((line) => line.split(delimiter))
  const header = rows[0] ?? []
  if (header.some((name) => name.length > headerLengthMax)) return false
  if (delimiter === '\t' || delimiter === '|') return true
  const gaps = rows.flatMap((row) => row.slice(1))
  const isThousands = sample.every((line) => line.replace(/\d,(?=\d{3}(?!\d))/g, '').split(delimiter).length === 1)
  if (isThousands && sample.some((line) => /\p{L}{2,}\s+\p{L}{2,}/u.test(line))) return false
  if (gaps.filter((value) => value.startsWith(' ')).length * 2 <= gaps.length) return true
  const data = rows.slice(1)
  if (header.some((_, at) => data.every((row) => isFigure(row[at]?.trim() ?? '')))) return true
  const isShort = (value: string) => !/[.!?]/.test(value) && value.trim().split(/\s+/).length <= 3
  return rows.length >= 3 && rows.every((row) => row.every(isShort))
}

function hasFigure(line: string, delimiter: string): boolean {
  return line.split(delimiter).some((value) => isFigure(value.trim()))
}

function isFigure(value: string): boolean {
  const type = classifyValue(value)
  return type === 'integer' || type === 'number' || type === 'date' || /^[+-]?\d+,\d+$/.test(value)
}

/** A Markdown table's outer bars and the rule below its header are no values. */
function toCsv(lines: readonly string[], delimiter: string): string {
  if (delimiter !== '|') return lines.join('\n')
  const rows = lines.map((line) => line.trim()).filter((line) => !line.includes('-') || !/^[\s|:-]+$/.test(line))
  const isFramed = rows.every((line) => line === '' || (line.length > 1 && line.startsWith('|') && line.endsWith('|')))
  return (isFramed ? rows.map((line) => line.slice(1, -1)) : rows).join('\n')
}
