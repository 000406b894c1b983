import type { QueryResult, ShownRow } from './query-table.ts'
import { groupAlternatives } from './meet-conditions.ts'
import type { Condition, TableQuery } from './table-query.ts'

const names = {
  sum: 'total',
  average: 'average',
  median: 'median',
  min: 'minimum',
  max: 'maximum',
  count: 'number of values',
  distinct: 'number of different values',
} as const

/** An answer in words: the figure, what it is computed of, and which values were left out. */
export function phraseQuery(query: TableQuery, result: QueryResult): string {
  const scope = phraseScope(query, result)
  if (result.rows === 0) {
    return query.where === undefined ? 'The table has no rows.' : `There is no row${phraseConditions(query.where)}.`
  }
  return `${phraseAnswer(query, { result, scope })}${phraseLeftOut(query, result)}`
}

function phraseAnswer(query: TableQuery, { result, scope }: { result: QueryResult; scope: string }): string {
  if (result.groups !== undefined) return phraseGroups(query, { result, scope })
  switch (query.operation) {
    case 'rows':
    case 'top':
      return phraseRows(query, { result, scope })
    case 'distinct':
      return phraseValues(query, { result, scope })
    case 'count':
      if (query.column !== undefined) return `The column ${query.column} has ${result.value} values${scope}.`
      return result.rows === result.tableRows && query.where === undefined
        ? `The table has ${plural(result.rows, 'row')}.`
        : `${plural(result.rows, 'row')} of ${result.tableRows}${phraseConditions(query.where)}.`
    default: {
      if (result.value === null || result.value === undefined) {
        return `I cannot tell the ${names[query.operation]} of ${query.column}: it has no numbers${scope}.`
      }
      const rounded = result.rounded === true ? ' (rounded)' : ''
      const where = (result.ties ?? 1) > 1 ? `${result.ties} rows have it, the first of which is` : 'It is in the row'
      const row = result.row === undefined ? '' : ` ${where} ${phraseRow(result.row)}.`
      return `The ${names[query.operation]} of ${query.column} is ${result.value}${rounded}${scope}.${row}`
    }
  }
}

function phraseGroups(query: TableQuery, { result, scope }: { result: QueryResult; scope: string }): string {
  const groups = result.groups ?? []
  const isRowCount = query.operation === 'count' && query.column === undefined
  const of = isRowCount || query.column === undefined ? 'number of rows' : `${nameOf(query)} of ${query.column}`
  const by = query.every === undefined ? query.groupBy : `${query.every} of ${query.groupBy}`
  const order = query.order === undefined ? '' : `, ${query.order} first`
  const [first] = groups
  if (query.limit === 1 && first !== undefined) {
    const ties =
      result.ties === undefined
        ? ''
        : ` ${plural(result.ties, 'more group')} ${result.ties === 1 ? 'has' : 'have'} the same.`
    const what = query.order === 'lowest' ? 'lowest' : 'highest'
    return `The ${by} with the ${what} ${of} is ${first.group}, with ${first.value ?? 'no number'}, among ${plural(result.found ?? 0, 'group')}${scope}.${ties}`
  }
  const lines = groups.map(({ group, value, rounded }) => {
    return `- ${group}: ${value ?? 'no numbers'}${rounded === true ? ' (rounded)' : ''}`
  })
  const more = (result.found ?? 0) - groups.length
  const rest = more > 0 ? `\n- and ${plural(more, 'more group')}` : ''
  return `The ${of} by ${by}${scope}${order}:\n${lines.join('\n')}${rest}`
}

function phraseRows(query: TableQuery, { result, scope }: { result: QueryResult; scope: string }): string {
  const shown = result.shown ?? []
  const more = (result.found ?? 0) - shown.length
  const what =
    query.operation === 'top'
      ? `The ${plural(shown.length, 'row')} with the ${query.order ?? 'highest'} ${query.column}${scope}`
      : query.where === undefined
        ? `The first ${shown.length} of ${plural(result.rows, 'row')}`
        : `${plural(result.rows, 'row')} of ${result.tableRows}${phraseConditions(query.where)}`
  const lines = shown.map((row) => {
    const { column } = query
    const own = column === undefined ? undefined : row[column]
    return own === undefined
      ? `- ${phraseRow(row)}`
      : `- ${column}: ${own === '' ? '(empty)' : own} (${phraseRow(row, column)})`
  })
  const rest = more > 0 && query.operation === 'rows' ? `\n- and ${plural(more, 'more row')}` : ''
  return `${what}:\n${lines.join('\n')}${rest}`
}

function phraseValues(query: TableQuery, { result, scope }: { result: QueryResult; scope: string }): string {
  const values = result.values ?? []
  const more = (result.found ?? 0) - values.length
  const list = values.map(({ value, count }) => `${value} (${count})`).join(', ')
  const rest = more > 0 ? `, and ${more} more` : ''
  return `The column ${query.column} has ${plural(result.found ?? 0, 'different value')}${scope}: ${list}${rest}.`
}

function phraseScope(query: TableQuery, result: QueryResult): string {
  const conditions = phraseConditions(query.where)
  if (conditions !== '') return `, over the ${plural(result.rows, 'row')}${conditions}`
  return `, over ${result.tableRows === 1 ? 'the only row' : `all ${result.tableRows} rows`}`
}

function phraseConditions(conditions: readonly Condition[] = []): string {
  const all = groupAlternatives(conditions).map((alternatives) => {
    const [{ column, is }] = alternatives as [Condition]
    const verb = { '=': 'is', '!=': 'is not', 'starts with': 'is in' }[is as '=' | '!=' | 'starts with'] ?? is
    return `${column} ${verb} ${alternatives.map(({ value }) => value).join(' or ')}`
  })
  return all.length === 0 ? '' : ` where ${all.join(' and ')}`
}

function phraseLeftOut(query: TableQuery, { empty, skipped, skippedExample }: QueryResult): string {
  if (query.operation === 'rows' || query.column === undefined) return ''
  const separator = query.groupBy === undefined ? ' ' : '\n'
  const notes = [
    ...(skipped === 0
      ? []
      : [
          `I skipped ${plural(skipped, 'cell')} of ${query.column} that ${skipped === 1 ? 'is no number' : 'are no numbers'}` +
            `${skippedExample === undefined ? '' : `, such as "${skippedExample}"`}.`,
        ]),
    ...(empty === 0 ? [] : [`${plural(empty, 'cell')} of ${query.column} ${empty === 1 ? 'is' : 'are'} empty.`]),
  ]
  return notes.length === 0 ? '' : `${separator}${notes.join(' ')}`
}

function phraseRow(row: ShownRow, except?: string): string {
  return Object.entries(row)
    .filter(([name]) => name !== except)
    .map(([name, value]) => `${name}: ${value === '' ? '(empty)' : value}`)
    .join(', ')
}

function nameOf({ operation }: TableQuery): string {
  return operation === 'top' || operation === 'rows' ? operation : names[operation]
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
