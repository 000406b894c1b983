import { average, maximum, median, minimum, readNumber, total } from './figures.ts'
import { readTable, type Table } from './read-table.ts'

export type Query = {
  /** `count`, or one of `operations`, which need a column. */
  readonly operation?: string
  readonly column?: string
  readonly groupBy?: string
  /** Column to filter by. A row is kept if the relation `is` holds between its value in this column and `value`. */
  readonly where?: string
  readonly is?: string
  readonly value?: string
}

const shownMax = 20

const operations: { readonly [operation: string]: (numbers: readonly number[]) => number } = {
  total,
  sum: total,
  average,
  mean: average,
  median,
  minimum,
  lowest: minimum,
  maximum,
  highest: maximum,
}

/**
 * Results of `compare` for which a relation holds. Relations that are not listed consist of their results: `<=` holds
 * for `<` and `=`.
 */
const orders: { readonly [is: string]: string } = { is: '=', 'is not': '<>!', '!=': '<>!' }

/** Runs a query on the rows of a table. Skips and counts non-numeric cells. Throws if the column does not exist. */
export async function queryTable(csv: string, { query, signal }: { query: Query; signal: AbortSignal }) {
  const { operation = '', column = '', groupBy, where, is = '', value = '' } = query
  const table = await readTable(csv, { signal })
  const filter = where === undefined ? undefined : findColumn(table, where)
  const wanted = orders[is.toLowerCase()] ?? is
  const all = [...Array(table.rows).keys()]
  const rows = filter ? all.filter((row) => wanted.includes(compare(filter[row]!, value))) : all
  const counts = { tableRows: table.rows, rows: rows.length }
  const compute = operations[operation.toLowerCase()]
  const cells = compute ? findColumn(table, column) : []
  const answer = (members: readonly number[]) => {
    if (compute === undefined) return { value: members.length, skipped: 0 }
    const numbers = members.map((row) => readNumber(cells[row]!)).filter((number) => number !== undefined)
    return { value: numbers.length === 0 ? null : compute(numbers), skipped: members.length - numbers.length }
  }
  if (groupBy === undefined) return { ...counts, ...answer(rows) }
  const by = findColumn(table, groupBy)
  const groups = [...Map.groupBy(rows, (row) => by[row]!)]
    .map(([group, members]) => ({ group, ...answer(members) }))
    .toSorted((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity))
  return { ...counts, groupCount: groups.length, groups: groups.slice(0, shownMax) }
}

/**
 * Compares numbers by size and other values, such as dates, alphabetically. If only one value is a number, the two are
 * unequal (`!`) but have no order.
 */
function compare(left: string, right: string): '<' | '=' | '>' | '!' {
  const [a, b] = [readNumber(left) ?? left.toLowerCase(), readNumber(right) ?? right.toLowerCase()]
  if (typeof a !== typeof b) return '!'
  return a < b ? '<' : a > b ? '>' : '='
}

/** Finds a column by name. Ignores case and treats spaces, hyphens and underscores alike. */
function findColumn({ names, columns }: Table, name: string): readonly string[] {
  const fold = (text: string) => text.toLowerCase().replace(/[\s_-]+/g, ' ')
  const found = columns[names.findIndex((known) => fold(known) === fold(name))]
  if (found === undefined)
    throw new Error(`There is no column "${name}". The columns are: ${names.slice(0, shownMax).join(', ')}.`)
  return found
}
