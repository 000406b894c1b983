import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { listText, numberText, numberTexts, type Fields } from './payload-shape.ts'
import classes from './task.module.css'

const rowsAtFirst = 50
const rowsAtOnceMax = 1000
const narrowColumnsMax = 6
/** Maximum total width of the number columns in characters. Unlike text, numbers do not wrap. */
const narrowCharsMax = 40

type PayloadTableProps = { list: readonly Fields[]; columns: readonly string[]; what: string }

export function PayloadTable({ list, columns, what }: PayloadTableProps) {
  const { rows, ...more } = useRows(list)
  const isWide = columns.length > narrowColumnsMax || numberChars(list, columns) > narrowCharsMax
  return (
    <>
      <DataTable
        caption={what}
        columns={columns.map((name) => toColumn(name, list))}
        rows={rows.map((fields, index) => ({ fields, key: String(index) }))}
        rowKey={({ key }) => key}
        scrolls={isWide}
      />
      <ShowMore {...more} />
    </>
  )
}

function toColumn(name: string, list: readonly Fields[]): Column<{ fields: Fields }> {
  const toText = numberTexts(list.map((fields) => fields[name]))
  return {
    id: name,
    label: name,
    ...(toText && { align: 'right' }),
    cell: ({ fields }) => {
      const value = fields[name]
      if (!toText || typeof value !== 'number') return <ScalarText value={value} isCell />
      return <NumberText value={value} text={toText(value)} />
    },
  }
}

function numberChars(list: readonly Fields[], columns: readonly string[]): number {
  const widest = (name: string) => {
    const cells = list.map((fields) => fields[name])
    const toText = numberTexts(cells) ?? numberText
    return cells.reduce<number>(
      (most, cell) => (typeof cell === 'number' ? Math.max(most, toText(cell).length) : most),
      0,
    )
  }
  return columns.reduce((sum, name) => sum + widest(name), 0)
}

export function ScalarText({ value, isCell = false }: { value: unknown; isCell?: boolean }) {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No'
  if (typeof value === 'number') return <NumberText value={value} text={numberText(value)} />
  if (typeof value === 'string' && value !== '') return <span className={classes.inline}>{value}</span>
  const list = listText(value)
  if (list) return <span className={classes.inline}>{list}</span>
  const text = value === '' ? 'Empty string' : list === '' ? 'Empty list' : 'None'
  return (
    <Text component="span" inherit c="dimmed" aria-label={isCell ? text : undefined} role={isCell ? 'img' : undefined}>
      {isCell ? '–' : text}
    </Text>
  )
}

function NumberText({ text, value }: { value: number; text: string }) {
  return (
    <span className={classes.number} title={String(value)}>
      {text}
    </span>
  )
}

export function useRows<Row>(list: readonly Row[]) {
  const [shown, setShown] = useState(rowsAtFirst)
  const next = Math.min(list.length, shown + rowsAtOnceMax)
  return { rows: list.slice(0, shown), shown, next, total: list.length, onMore: () => setShown(next) }
}

type ShowMoreProps = Omit<ReturnType<typeof useRows>, 'rows'>

export function ShowMore({ shown, next, total, onMore }: ShowMoreProps) {
  if (shown >= total) return null
  const count = (value: number) => value.toLocaleString('en')
  return (
    <Button size="xs" variant="default" mt="xs" onClick={onMore}>
      {next === total ? `Show all ${count(total)}` : `Show ${count(next - shown)} more of ${count(total)}`}
    </Button>
  )
}
