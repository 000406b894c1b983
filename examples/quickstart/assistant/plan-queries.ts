import type { Table, TableColumn } from './open-table.ts'
import type { TableQuestion } from './read-table-question.ts'
import type { TableQuery } from './table-query.ts'

/** What a question comes to: queries, a description of the table, or the reason why it cannot be answered. */
export type Plan =
  | { readonly kind: 'queries'; readonly queries: readonly TableQuery[]; readonly note?: string }
  | { readonly kind: 'profile' }
  | { readonly kind: 'refusal'; readonly reason: string }

type Figure = 'sum' | 'average' | 'median' | 'min' | 'max' | 'count' | 'distinct'

const queriesMax = 4
const shownColumnsMax = 12

/**
 * Plans how to answer a question about a table. A word that is neither a column, a value nor one of the assistant's own
 * refuses the question, since a figure that leaves out a condition would be wrong.
 */
export function planQueries(question: TableQuestion, table: Table): Plan {
  const { asked, columns, conditions, group, unknown, unclear, ambiguous } = question
  const isEmpty = columns.length === 0 && conditions.length === 0 && group === undefined
  if (question.isProfile && asked.every((what) => what === 'rows' || what === 'count') && isEmpty)
    return { kind: 'profile' }
  if (asked.length === 0 && isEmpty) return refuseUnclear(question, table)
  if (ambiguous !== undefined) {
    return refuse(`"${ambiguous.word}" may mean ${listNames(ambiguous.columns, 'or')}. Please name the column in full.`)
  }
  if (unknown.length > 0) {
    return refuse(`The table has no column and no value called ${listNames(unknown, 'or')}. ${describeColumns(table)}`)
  }
  if (unclear.length > 0) {
    return refuse(
      `I do not understand ${listNames(unclear, 'and')} in this question. I know conditions such as "${columnExample(table)} is over 5" and ` +
        `"is not", which must all be met.`,
    )
  }
  if (group?.isNested === true) return refuse('I can group by one column at a time.')
  const figures = asked.filter((what): what is Figure => what !== 'most' && what !== 'fewest' && what !== 'rows')
  const plan = planRanking(question, figures) ?? planFigures(question, { figures, table })
  if (plan.kind !== 'queries') return plan
  const queries = plan.queries
    .slice(0, queriesMax)
    .map((query) => (query.where === undefined && conditions.length > 0 ? { ...query, where: conditions } : query))
  const { counted } = question
  return { kind: 'queries', queries, ...(counted && { note: `I take each row as one of "${counted}".` }) }
}

/** "Top 3 products by amount" and "which region has the highest total amount". */
function planRanking(question: TableQuestion, figures: readonly Figure[]): Plan | undefined {
  const { asked, columns, subject, ranks } = question
  const isMost = asked.includes('most') || asked.includes('fewest')
  const isLow = asked.includes('min') || asked.includes('fewest')
  const aggregate = figures.find((figure) => figure !== 'min' && figure !== 'max')
  const ranksOne =
    isMost || ((asked.includes('min') || asked.includes('max')) && (aggregate !== undefined || columns.length > 1))
  const order = ranks ?? (isLow ? 'lowest' : 'highest')
  const limit = question.limit ?? 1
  const group = question.group?.column ?? subject ?? columns.find((column) => column.figures === 0)
  const measure = columns.findLast((column) => column !== group)
  const span = question.group?.every === undefined ? {} : { every: question.group.every }
  if (ranks === undefined && (!ranksOne || group === undefined)) return undefined
  if (group === undefined || (measure === undefined && group.figures > 0 && !isMost)) {
    const column = measure ?? group
    if (column === undefined) return undefined
    return plan([{ operation: 'top', column: column.name, order, limit }])
  }
  // "Which product has the highest price" asks for one row, "the most sales" for a sum.
  if (ranks === undefined && !isMost && aggregate === undefined && question.group === undefined) return undefined
  const isCount = measure === undefined || aggregate === 'count'
  if (isCount) return plan([{ operation: 'count', groupBy: group.name, ...span, order, limit }])
  return plan([{ operation: aggregate ?? 'sum', column: measure.name, groupBy: group.name, ...span, order, limit }])
}

function planFigures(question: TableQuestion, { figures, table }: { figures: readonly Figure[]; table: Table }): Plan {
  const { group, conditions, asked } = question
  const by = group === undefined ? {} : { groupBy: group.column.name, ...(group.every && { every: group.every }) }
  const isSuperlative = figures.includes('min') || figures.includes('max')
  // "Which product has the highest price" asks for the price and shows its row.
  const columns = isSuperlative && question.columns.length > 1 ? withoutSubject(question) : question.columns
  if (figures.length === 0) {
    if (group !== undefined && columns.length > 0) {
      return plan(
        columns.map((column) => ({ operation: column.figures > 0 ? 'sum' : 'count', column: column.name, ...by })),
      )
    }
    if (group !== undefined) return plan([{ operation: 'count', ...by }])
    if (columns.length > 0 && conditions.length === 0) {
      return plan(columns.map((column) => ({ operation: 'distinct', column: column.name })))
    }
    if (columns.length === 0 && conditions.length === 0 && !asked.includes('rows'))
      return refuseUnclear(question, table)
    const limit = question.limit ?? 10
    return plan([{ operation: 'rows', ...(columns.length === 1 ? { column: columns[0]!.name } : {}), limit }])
  }
  const pairs = pair(figures, columns)
  const queries: TableQuery[] = []
  for (const [figure, named] of pairs) {
    const column = named ?? (figure === 'count' ? undefined : onlyFigures(table))
    if (column === undefined && figure !== 'count') {
      return refuse(`Which column do you mean? ${describeColumns(table)}`)
    }
    const yes = figure === 'count' && column !== undefined ? findYes(column) : undefined
    if (column !== undefined && yes !== undefined) {
      queries.push({ operation: 'count', where: [...conditions, { column: column.name, is: '=', value: yes }], ...by })
      continue
    }
    const isSubject = figure === 'count' && column !== undefined && column === question.subject && column.figures === 0
    const operation = isSubject ? 'distinct' : figure
    queries.push({ operation, ...(column && { column: column.name }), ...by })
  }
  return plan(queries)
}

/** "Total amount and average price" goes pair by pair; otherwise every figure is asked of every column. */
function pair(figures: readonly Figure[], columns: readonly TableColumn[]): [Figure, TableColumn | undefined][] {
  // "How many different regions" and "the number of unique regions" ask for one figure.
  const wanted = figures.includes('distinct') ? figures.filter((figure) => figure !== 'count') : figures
  if (columns.length === 0) return wanted.map((figure) => [figure, undefined])
  if (wanted.length === columns.length) return wanted.map((figure, at) => [figure, columns[at]])
  return wanted.flatMap((figure) => columns.map((column): [Figure, TableColumn] => [figure, column]))
}

function withoutSubject({ columns, subject }: TableQuestion): readonly TableColumn[] {
  const figures = columns.filter((column) => column !== subject && column.figures + column.dates > 0)
  return figures.length > 0 ? figures : columns
}

/** "How many are active" asks for the rows that say yes, where a column says nothing but yes and no. */
function findYes({ values }: TableColumn): string | undefined {
  if (![...values.keys()].every((value) => /^(?:yes|no|true|false)$/.test(value))) return undefined
  return values.get('yes') ?? values.get('true')
}

function columnExample({ columns }: Table): string {
  return (columns.find((column) => column.figures > 0) ?? columns[0])?.name.slice(0, 40) ?? 'amount'
}

function onlyFigures(table: Table): TableColumn | undefined {
  const columns = table.columns.filter((column) => column.figures > 0)
  return columns.length === 1 ? columns[0] : undefined
}

function plan(queries: readonly TableQuery[]): Plan {
  return { kind: 'queries', queries }
}

function refuse(reason: string): Plan {
  return { kind: 'refusal', reason }
}

function refuseUnclear({ unknown }: TableQuestion, table: Table): Plan {
  const words = unknown.length === 0 ? '' : `: the table has no column and no value called ${listNames(unknown, 'or')}`
  return refuse(`I do not understand this question${words}. ${describeColumns(table)} ${suggestQuestions(table)}`)
}

export function describeColumns({ columns }: Table): string {
  const more = columns.length > shownColumnsMax ? ` and ${columns.length - shownColumnsMax} more` : ''
  return `Its columns are ${listNames(
    columns.slice(0, shownColumnsMax).map(({ name }) => name),
    'and',
  )}${more}.`
}

/** Questions on the user's own columns that the assistant can answer. */
export function suggestQuestions({ columns }: Table): string {
  const figures = columns.filter((column) => column.figures > 0)
  // Nobody adds up identifiers.
  const figure = figures.find(({ name }) => !/(?:\bid|_id|Id|number|code|year|no)$/i.test(name)) ?? figures[0]
  const texts = columns.filter((column) => column.figures === 0 && column.values.size > 0)
  // Values that repeat make better groups.
  const text = texts.find((column) => column.values.size * 2 <= column.filled) ?? texts[0]
  const value = text?.values.values().next().value
  const examples = [
    ...(figure === undefined ? [] : [`What is the total ${figure.name}?`]),
    ...(figure === undefined || text === undefined ? [] : [`What is the average ${figure.name} by ${text.name}?`]),
    ...(text === undefined || value === undefined ? [] : [`How many rows have ${text.name} "${value.slice(0, 40)}"?`]),
  ]
  const can =
    'I can compute sums, averages, medians, minimums, maximums and counts, list values and the top rows, by group and with conditions.'
  return examples.length === 0 ? can : `${can} For example: ${examples.join(' ')}`
}

function listNames(names: readonly string[], conjunction: 'and' | 'or'): string {
  const quoted = names.slice(0, shownColumnsMax).map((name) => `"${name.slice(0, 60)}"`)
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} ${conjunction} ${quoted.at(-1)}`
}
