import { detectDelimiter } from './detect-delimiter.ts'
import { paceWork } from './pace-work.ts'
import { ColumnProfiler, type ColumnProfile } from './profile-column.ts'
import { readCsv } from './read-csv.ts'

export type CsvProfile = {
  /** Rows of data, the header not counted. */
  readonly rows: number
  /** In the order of the table. */
  readonly columns: readonly ColumnProfile[]
  readonly delimiter: string
  /** Whether the first row was read as the columns' names. */
  readonly header: boolean
  /** What is odd about the table, in sentences. */
  readonly warnings: readonly string[]
}

export type ProfileOptions = {
  /** The character between values; detected among comma, semicolon, tab and bar when left out. */
  readonly delimiter?: string | undefined
  readonly header: boolean
  readonly signal?: AbortSignal
}

const columnsMax = 20_000
/** Different values that are told apart in a whole table: at about 100 bytes each, what bounds a profile's memory. */
const distinctMax = 500_000
const distinctPerColumnMin = 100
const warnedLinesMax = 5
const warningsMax = 50

/** Describes each column of a CSV. Throws when the CSV is empty or broken, naming the line. */
export async function profileCsv(csv: string, options: ProfileOptions): Promise<CsvProfile> {
  const pace = paceWork(options.signal)
  const delimiter = options.delimiter ?? detectDelimiter(csv)
  let columns: ColumnProfiler[] | undefined
  const warnings: string[] = []
  const short = new RowWarning('fewer values than there are columns; the rest count as missing')
  const long = new RowWarning('more values than there are columns; the surplus was left out')
  let rows = 0
  for await (const { values, line } of readCsv({ csv, delimiter, pace })) {
    const isHeader = columns === undefined && options.header
    columns ??= openColumns(nameColumns(options.header ? values : values.map(() => ''), { warnings, ...options }))
    if (isHeader) continue
    rows += 1
    if (values.length < columns.length) short.add(line)
    if (values.length > columns.length) long.add(line)
    for (const [at, column] of columns.entries()) column.add(values[at])
  }
  if (columns === undefined) throw new Error('The CSV is empty.')
  if (rows === 0) warnings.push('The table has no rows below its header.')
  const profiles: ColumnProfile[] = []
  for (const column of columns) {
    if (pace.isDue()) await pace.rest()
    profiles.push(column.describe())
    warnings.push(...column.warnings())
  }
  const all = [...short.texts(), ...long.texts(), ...warnings]
  const more = all.length > warningsMax ? [`${all.length - warningsMax} more warnings were left out.`] : []
  return {
    rows,
    columns: profiles,
    delimiter,
    header: options.header,
    warnings: [...all.slice(0, warningsMax), ...more],
  }
}

/** Gives every column a name of its own: a nameless one its number, a repeated name a number behind it. */
export function nameColumns(
  header: readonly string[],
  { warnings, header: isHeader }: { warnings: string[]; header: boolean },
) {
  if (header.length > columnsMax)
    throw new Error(`The CSV has ${header.length} columns; at most ${columnsMax} are read.`)
  const taken = new Set(header)
  const seen = new Set<string>()
  // Where the numbers go on, since a name may occur thousands of times.
  const copies = new Map<string, number>()
  return header.map((name, at) => {
    const wanted = name.trim() === '' ? `column ${at + 1}` : name
    let unique = wanted
    while (seen.has(unique) || (unique !== name && taken.has(unique))) {
      const copy = (copies.get(wanted) ?? 1) + 1
      copies.set(wanted, copy)
      unique = `${wanted} (${copy})`
    }
    seen.add(unique)
    if (isHeader && name.trim() === '') warnings.push(`Column ${at + 1} has no name in the header.`)
    else if (unique !== wanted) warnings.push(`The name "${name}" occurs again as column ${at + 1}, here "${unique}".`)
    return unique
  })
}

function openColumns(names: readonly string[]): ColumnProfiler[] {
  const distinctPerColumnMax = Math.max(distinctPerColumnMin, Math.floor(distinctMax / names.length))
  return names.map((name) => new ColumnProfiler({ name, distinctMax: distinctPerColumnMax }))
}

/** Counts the rows with one oddity and names the lines of the first few. */
class RowWarning {
  readonly #what: string
  readonly #lines: number[] = []
  #count = 0

  constructor(what: string) {
    this.#what = what
  }

  add(line: number): void {
    this.#count += 1
    if (this.#lines.length < warnedLinesMax) this.#lines.push(line)
  }

  texts(): string[] {
    if (this.#count === 0) return []
    const lines = `${this.#count === 1 ? 'line' : 'lines'} ${this.#lines.join(', ')}`
    const rest = this.#count > this.#lines.length ? ', …' : ''
    return [`${this.#count} ${this.#count === 1 ? 'row has' : 'rows have'} ${this.#what} (${lines}${rest}).`]
  }
}
