import type { ColumnProfile } from '../profile-column.ts'
import type { CsvProfile } from '../profile-csv.ts'
import { plural } from './phrase-query.ts'

const columnsMax = 20
const warningsMax = 5
const nameLengthMax = 80

/** A profile of which only the first columns and warnings are kept, since tables may have thousands of columns. */
export type ShownProfile = CsvProfile & { readonly columnCount: number }

export function shortenProfile(profile: CsvProfile): ShownProfile {
  const columns = profile.columns
    .slice(0, columnsMax)
    .map((column) => ({ ...column, name: column.name.slice(0, nameLengthMax) }))
  const warnings = profile.warnings.slice(0, warningsMax).map((warning) => warning.slice(0, 300))
  return { ...profile, columnCount: profile.columns.length, columns, warnings }
}

const delimiterNames: Readonly<Record<string, string>> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'bars' }

/** How many rows and columns a table has, what is in each column, and what is odd about it. */
export function phraseProfile(profile: ShownProfile): string {
  const { rows, columnCount, columns, delimiter, header, warnings } = profile
  const separated = columnCount < 2 ? '' : `, separated by ${delimiterNames[delimiter] ?? `"${delimiter}"`}`
  const lines = columns.map((column) => `- ${column.name}: ${phraseColumn(column)}`)
  const more = columnCount > columns.length ? [`- and ${plural(columnCount - columns.length, 'more column')}`] : []
  const noHeader = header
    ? []
    : ['The first row holds figures, not names, so I count it as data and number the columns.']
  return [
    `The table has ${plural(rows, 'row')} and ${plural(columnCount, 'column')}${separated}:`,
    ...lines,
    ...more,
    ...noHeader,
    ...warnings.map((warning) => `Note: ${warning}`),
  ].join('\n')
}

function phraseColumn(column: ColumnProfile): string {
  const missing = column.missing === 0 ? '' : `, ${column.missing} missing`
  switch (column.type) {
    case 'empty':
      return 'empty'
    case 'integer':
    case 'number':
      return `${column.type} from ${column.min} to ${column.max}${missing}`
    case 'date':
      return `date from ${column.min} to ${column.max}${missing}`
    case 'boolean':
    case 'string': {
      const type = column.type === 'string' ? 'text' : 'yes or no'
      const first = column.top[0]
      const often = first !== undefined && first.count > 1 ? `, most often "${first.value}" (${first.count})` : ''
      const distinct = `${column.distinctIsExact ? '' : 'at least '}${plural(column.distinct, 'different value')}`
      return `${type}, ${distinct}${often}${missing}`
    }
  }
}
