import { compareDecimals, readDecimal } from './exact-decimal.ts'
import { readFigure, type Table, type TableColumn } from './open-table.ts'
import type { Condition } from './table-query.ts'

/**
 * Conditions that a row must meet, each a list of alternatives: "North and South" asks for rows of either, since no row
 * is both.
 */
export function groupAlternatives(conditions: readonly Condition[]): Condition[][] {
  const groups: Condition[][] = []
  for (const condition of conditions) {
    const isAlternative = condition.is === '=' || condition.is === 'starts with'
    const own = groups.find(([first]) => first?.column === condition.column && first.is === condition.is)
    if (isAlternative && own !== undefined) own.push(condition)
    else groups.push([condition])
  }
  return groups
}

/**
 * Whether a row meets all conditions, of which several values of one column are alternatives. Figures compare by their worth, so that 5 is 5.0; ISO dates as far as the condition
 * states them, so that a day of 2014 is not after 2014; other values as text, whatever their case.
 */
export function meetsConditions(table: Table, conditions: readonly Condition[]): (row: readonly string[]) => boolean {
  const tests = groupAlternatives(conditions).map((alternatives) => {
    return alternatives.map((condition) => {
      const column = table.columns.find(({ name }) => name === condition.column)
      if (column === undefined) throw new Error(`The table has no column "${condition.column}".`)
      return testValue(column, condition)
    })
  })
  return (row) => tests.every((alternatives) => alternatives.some((test) => test(row)))
}

function testValue(column: TableColumn, { is, value }: Condition): (row: readonly string[]) => boolean {
  const wanted = value.trim().toLowerCase()
  const figure = readFigure(column, value.trim()) ?? readDecimal(value.trim())
  const isDate = column.dates > 0 && /^\d{4}(?:-\d{2})*$/.test(wanted)
  return (row) => {
    const own = (row[column.at] ?? '').trim().toLowerCase()
    if (own === '') return is === '!='
    if (is === 'starts with') return own.startsWith(wanted)
    const ownFigure = figure === undefined || isDate ? undefined : readFigure(column, own)
    if (figure !== undefined && ownFigure !== undefined) return holds(compareDecimals(ownFigure, figure), is)
    if (isDate) {
      const part = own.slice(0, wanted.length)
      return holds(part < wanted ? -1 : part > wanted ? 1 : 0, is)
    }
    // Text is neither greater nor less than anything.
    return is === '=' ? own === wanted : is === '!=' && own !== wanted
  }
}

function holds(order: number, is: Condition['is']): boolean {
  switch (is) {
    case '=':
      return order === 0
    case '!=':
      return order !== 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case 'starts with':
      return false
  }
}
