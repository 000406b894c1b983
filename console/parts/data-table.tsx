import type { MouseEvent, ReactNode } from 'react'
import classes from './data-table.module.css'

export type Column<Row> = {
  id: string
  label: string
  cell: (row: Row) => ReactNode
  align?: 'right'
  /** Hides the label visually, for example for a column of buttons. */
  isLabelHidden?: boolean
  /**
   * Position of the column on phones. If any column sets this, a row becomes two lines: `title`, `middle` and `aside`,
   * then `line` and `end`. Otherwise, a row becomes a list of labels and values.
   */
  phone?: 'title' | 'middle' | 'aside' | 'line' | 'end' | 'hidden'
}

type DataTableProps<Row> = {
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
  /** Switches to cards at a larger width than usual, because the columns need much space. */
  isWide?: boolean
  /** Keeps the table's natural width, so that it scrolls in a narrow container. */
  scrolls?: boolean
  /** Whether a click anywhere in a row opens the row's first link. */
  opensRows?: boolean
}

/** A table. On phones, a row becomes two lines or a card, with the first column as its heading. */
export function DataTable<Row>({ caption, columns, rows, rowKey, isWide, opensRows, scrolls }: DataTableProps<Row>) {
  // Set roles explicitly, because the `display` values of the cards remove the implicit roles.
  return (
    <div
      className={['scroll-fade', classes.box, isWide && classes.wide, scrolls && classes.scrolls]
        .filter(Boolean)
        .join(' ')}
      {...(scrolls && { tabIndex: 0, role: 'group', 'aria-label': `${caption}, scrolls horizontally` })}
    >
      <table
        className={classes.table}
        role="table"
        aria-label={caption}
        data-is-wide={isWide || undefined}
        data-opens-rows={opensRows || undefined}
        data-is-compact={columns.some(({ phone }) => phone !== undefined) || undefined}
      >
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
            <tr key={rowKey(row)} role="row" onClick={opensRows ? openRow : undefined}>
              {columns.map(({ id, label, cell, align, isLabelHidden, phone }) => (
                <td
                  key={id}
                  role="cell"
                  data-align={align}
                  data-label={isLabelHidden ? undefined : label}
                  data-phone={phone}
                >
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

function openRow(event: MouseEvent<HTMLTableRowElement>): void {
  const { ctrlKey, currentTarget, metaKey, shiftKey, target } = event
  // A dialog or menu opened from a cell is outside the row, but its clicks bubble to it.
  if (!currentTarget.contains(target as Element)) return
  const isOwnClick = (target as Element).closest('a, button, input, label') !== null
  if (isOwnClick || getSelection()?.isCollapsed === false) return
  const link = currentTarget.querySelector('a')
  if (link && (ctrlKey || metaKey || shiftKey)) open(link.href, '_blank', 'noopener')
  else link?.click()
}
