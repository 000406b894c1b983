import { readDate } from '../classify-value.ts'
import type { Pace } from '../pace-work.ts'
import { collectGroups, type GroupFigure } from './collect-groups.ts'
import { compare, FigureCollector, type Figure } from './collect-figure.ts'
import type { Decimal } from './exact-decimal.ts'
import { meetsConditions } from './meet-conditions.ts'
import { readFigure, type Table, type TableColumn } from './open-table.ts'
import type { TableQuery } from './table-query.ts'

/** A row as the names of its columns with their values, the first few of both, shortened. */
export type ShownRow = { readonly [column: string]: string }

export type QueryResult = Omit<Figure, 'value'> & {
  readonly tableRows: number
  readonly value?: string | null
  /** The row that has the minimum or maximum, the first one of `ties` rows. */
  readonly row?: ShownRow
  /** Rows that have the minimum or maximum, or groups beyond those shown whose figure is the last one's. */
  readonly ties?: number
  readonly groups?: readonly GroupFigure[]
  /** How many groups, values or rows there are, of which the first are shown. */
  readonly found?: number
  readonly values?: readonly { readonly value: string; readonly count: number }[]
  readonly shown?: readonly ShownRow[]
}

const shownRowsMax = 20
const shownValuesMax = 20
const shownGroupsMax = 50
const shownColumnsMax = 12
const shownLengthMax = 80

/** Answers a query exactly. Throws when it names a column that the table does not have. */
export async function queryTable(table: Table, query: TableQuery, pace: Pace): Promise<QueryResult> {
  const column = query.column === undefined ? undefined : findColumn(table, query.column)
  const rows: (readonly string[])[] = []
  const meets = meetsConditions(table, query.where ?? [])
  for (const row of table.rows) {
    if (pace.isDue()) await pace.rest()
    if (meets(row)) rows.push(row)
  }
  const source: Source = { table, query, column, rows, pace }
  const result = query.groupBy === undefined ? await answerPlain(source) : await answerGroups(source, query.groupBy)
  return { tableRows: table.rows.length, ...result }
}

export function findColumn(table: Table, name: string): TableColumn {
  const column = table.columns.find((candidate) => candidate.name === name)
  if (column === undefined) throw new Error(`The table has no column "${name}".`)
  return column
}

type Source = {
  readonly table: Table
  readonly query: TableQuery
  readonly column: TableColumn | undefined
  /** Those that meet the conditions. */
  readonly rows: Table['rows']
  readonly pace: Pace
}
type Answer = Omit<QueryResult, 'tableRows'>

async function answerPlain(source: Source): Promise<Answer> {
  const { table, query, column, rows, pace } = source
  if (query.operation === 'top' && column !== undefined) return rankRows(source, column)
  if (query.operation === 'rows') {
    const shown = rows.slice(0, Math.min(query.limit ?? shownRowsMax, shownRowsMax))
    return { ...countOnly(rows.length), found: rows.length, shown: shown.map((row) => showRow(table, row, column)) }
  }
  const collector = new FigureCollector(query.operation, column)
  const counts = new Map<string, number>()
  for (const row of rows) {
    if (pace.isDue()) await pace.rest()
    collector.add(row)
    const value = query.operation === 'distinct' && column !== undefined ? (row[column.at] ?? '') : ''
    if (value.trim() !== '') counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  const { bestRow } = collector
  const figure = collector.figure()
  if (query.operation !== 'distinct')
    return { ...figure, ...(bestRow && { row: showRow(table, bestRow), ties: collector.ties }) }
  const first = keepBest([...counts], { limit: shownValuesMax, order: (a, b) => b[1] - a[1] })
  return { ...figure, found: counts.size, values: first.map(([value, count]) => ({ value: shorten(value), count })) }
}

async function answerGroups({ table, query, column, rows, pace }: Source, groupBy: string): Promise<Answer> {
  const all = await collectGroups({ rows, query, column, group: findColumn(table, groupBy), pace })
  const sign = query.order === 'lowest' ? 1 : -1
  const limit = Math.min(query.limit ?? shownGroupsMax, shownGroupsMax)
  const isTime = query.every !== undefined && query.order === undefined
  const figures = new Map(all.map((group) => [group, group.value === null ? undefined : toComparable(group.value)]))
  // Groups without a figure come last.
  const order = (a: GroupFigure, b: GroupFigure) => {
    if (isTime) return a.group < b.group ? -1 : a.group > b.group ? 1 : 0
    const [left, right] = [figures.get(a), figures.get(b)]
    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined)
    return sign * compare(left, right)
  }
  const sum = (key: 'used' | 'empty' | 'skipped') => all.reduce((total, group) => total + group[key], 0)
  const example = all.find(({ skippedExample }) => skippedExample !== undefined)?.skippedExample
  const best = keepBest(all, { limit, order })
  const last = best.at(-1)?.value
  const ties =
    query.order === undefined ? 0 : all.filter((group) => group.value === last && !best.includes(group)).length
  const groups = best.map(({ skippedExample: _, ...group }) => ({
    ...group,
    group: shorten(group.group),
  }))
  return {
    rows: rows.length,
    used: sum('used'),
    empty: sum('empty'),
    skipped: sum('skipped'),
    ...(example === undefined ? {} : { skippedExample: example }),
    found: all.length,
    groups,
    ...(ties === 0 ? {} : { ties }),
  }
}

async function rankRows({ table, query, rows, pace }: Source, column: TableColumn): Promise<Answer> {
  const ranked: { row: readonly string[]; figure: Decimal | number }[] = []
  const isDate = column.figures === 0 && column.dates > 0
  let [empty, skipped, example] = [0, 0, '']
  for (const row of rows) {
    if (pace.isDue()) await pace.rest()
    const value = row[column.at] ?? ''
    const figure = isDate ? readDate(value) : readFigure(column, value)
    if (figure !== undefined) ranked.push({ row, figure })
    else if (value.trim() === '') empty += 1
    else {
      example ||= value.slice(0, 40)
      skipped += 1
    }
  }
  const sign = query.order === 'lowest' ? 1 : -1
  const limit = Math.min(query.limit ?? 5, shownRowsMax)
  const best = keepBest(ranked, { limit, order: (a, b) => sign * compare(a.figure, b.figure) })
  const shown = best.map(({ row }) => showRow(table, row))
  const skips = skipped === 0 ? { skipped } : { skipped, skippedExample: example }
  return { rows: rows.length, used: ranked.length, empty, ...skips, found: ranked.length, shown }
}

function toComparable(value: string): Decimal | number {
  const [whole = '', fraction = ''] = value.split('.')
  if (/^-?\d+$/.test(whole) && /^\d*$/.test(fraction)) {
    return { digits: BigInt(whole + fraction), scale: fraction.length }
  }
  return readDate(value) ?? 0
}

/** The first few items in an order, equal ones as they come: cheaper than sorting all of them. */
function keepBest<Item>(
  items: readonly Item[],
  { limit, order }: { limit: number; order: (a: Item, b: Item) => number },
): Item[] {
  const best: Item[] = []
  for (const item of items) {
    if (best.length === limit && order(item, best[limit - 1]!) >= 0) continue
    const at = best.findIndex((other) => order(item, other) < 0)
    best.splice(at < 0 ? best.length : at, 0, item)
    if (best.length > limit) best.pop()
  }
  return best
}

function countOnly(rows: number): Omit<Figure, 'value'> {
  return { rows, used: rows, empty: 0, skipped: 0 }
}

function showRow(table: Table, row: readonly string[], first?: TableColumn): ShownRow {
  const columns = table.columns.slice(0, shownColumnsMax)
  if (first !== undefined && !columns.includes(first)) columns.unshift(first)
  return Object.fromEntries(columns.map(({ name, at }) => [shorten(name), shorten(row[at] ?? '')]))
}

function shorten(value: string): string {
  return value.length <= shownLengthMax
    ? value
    : `${value.slice(0, shownLengthMax - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
