import type { ReactNode } from 'react'
import classes from './data-table.module.css'

export type Column<Row> = {
  id: string
  label: string
  cell: (row: Row) => ReactNode
  /** Numbers and money stand at the right. */
  align?: 'right'
  /** Names the column for screen readers only, as for a column of buttons. */
  isLabelHidden?: boolean
}

type DataTableProps<Row> = {
  /** What the table lists, for screen readers. */
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
  /** Turns into cards earlier, as its columns need much room. */
  isWide?: boolean
}

/** A table that turns into a card for each row on a phone, where its first column is the heading of the card. */
export function DataTable<Row>({ caption, columns, rows, rowKey, isWide }: DataTableProps<Row>) {
  // The roles are said again because the styles of the cards would take them away.
  return (
    <div className={isWide ? classes.wide : undefined}>
      <table className={classes.table} role="table" aria-label={caption} data-is-wide={isWide || undefined}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ id, label, align, isLabelHidden }) => (
              <th key={id} scope="col" role="columnheader" data-align={align}>
                <span className={isLabelHidden ? classes.hidden : undefined}>{label}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={rowKey(row)} role="row">
              {columns.map(({ id, label, cell, align, isLabelHidden }) => (
                <td key={id} role="cell" data-align={align} data-label={isLabelHidden ? undefined : label}>
                  <div className={classes.value}>{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
