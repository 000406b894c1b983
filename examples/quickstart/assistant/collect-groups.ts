import type { Pace } from '../pace-work.ts'
import { FigureCollector, type Figure } from './collect-figure.ts'
import type { Table, TableColumn } from './open-table.ts'
import type { TableQuery } from './table-query.ts'

/** A group's figure; rows without a value to group by form the group "(empty)". */
export type GroupFigure = { readonly group: string } & Figure

type Source = {
  readonly rows: Table['rows']
  readonly query: TableQuery
  readonly column: TableColumn | undefined
  readonly group: TableColumn
  readonly pace: Pace
}

/** How much of an ISO date names its year, month or day. */
const dateLengths = { year: 4, month: 7, day: 10 }

/** The figure of each group, in the order in which the groups first occur. */
export async function collectGroups({ rows, query, column, group, pace }: Source): Promise<GroupFigure[]> {
  const collectors = new Map<string, FigureCollector>()
  for (const row of rows) {
    if (pace.isDue()) await pace.rest()
    const value = (row[group.at] ?? '').trim()
    const own = query.every === undefined ? value : value.slice(0, dateLengths[query.every])
    const name = own === '' ? '(empty)' : own
    let collector = collectors.get(name)
    if (collector === undefined) {
      collector = new FigureCollector(query.operation, column)
      collectors.set(name, collector)
    }
    collector.add(row)
  }
  const figures: GroupFigure[] = []
  for (const [name, collector] of collectors) {
    if (pace.isDue()) await pace.rest()
    figures.push({ group: name, ...collector.figure() })
  }
  return figures
}
