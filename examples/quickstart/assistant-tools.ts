import { findKeywords } from './find-keywords.ts'
import { profileCsv } from './profile-csv.ts'
import { queryTable, type Query } from './query-table.ts'
import { summarizeText } from './summarize-text.ts'

export type Args = Query & { readonly sentences?: string; readonly limit?: string }
type ToolRun = { readonly pasted: string; readonly args: Args; readonly signal: AbortSignal }

const shownMax = 20

/** Tools for a pasted table (`data`) or text. Each returns its output as an object and as text. */
export const tools = {
  async 'data.query'({ pasted, args, signal }: ToolRun) {
    const output = await queryTable(pasted, { query: args, signal })
    return { output, text: phraseQuery(args, output) }
  },
  async 'data.profile'({ pasted, signal }: ToolRun) {
    const { columns, ...profile } = await profileCsv(pasted, { signal })
    const shown = columns.slice(0, shownMax)
    const lines = shown.map((column) => {
      const range = 'min' in column ? `, ${column.min} to ${column.max}` : ''
      return `- ${column.name}: ${column.type}${range}, ${column.distinct} distinct, ${column.missing} missing`
    })
    const text = [`The table has ${profile.rows} rows and ${columns.length} columns:`, ...lines, ...profile.warnings]
    return { output: { ...profile, columnCount: columns.length, columns: shown }, text: text.join('\n') }
  },
  async 'text.summarize'({ pasted, args: { sentences = '3' }, signal }: ToolRun) {
    const { summary, totals, notes } = await summarizeText(pasted, { sentences: Number(sentences), signal })
    return { output: { summary, totals, notes }, text: summary || 'The text has no words.' }
  },
  async 'text.keywords'({ pasted, args: { limit = '10' }, signal }: ToolRun) {
    const { keywords } = await findKeywords(pasted, { limit: Number(limit), signal })
    const lines = keywords.map(({ phrase, count }) => `- ${phrase} (${count})`)
    return { output: { keywords }, text: lines.join('\n') || 'The text has no keywords.' }
  },
  async 'text.count'({ pasted, signal }: ToolRun) {
    const { totals } = await summarizeText(pasted, { sentences: 1, signal })
    return { output: totals, text: `The text has ${totals.words} words in ${totals.sentences} sentences.` }
  },
}

function phraseQuery(query: Query, output: Awaited<ReturnType<typeof queryTable>>): string {
  const { operation, column, groupBy, where, is, value: wanted } = query
  const what = column === undefined ? 'number of rows' : `${operation} of ${column}`
  const only =
    where === undefined ? `all ${output.tableRows} rows` : `the ${output.rows} rows where ${where} ${is} ${wanted}`
  if ('groups' in output) {
    const lines = output.groups.map(({ group, value }) => `- ${group}: ${value ?? 'no numbers'}`)
    const more = output.groupCount > lines.length ? [`- and ${output.groupCount - lines.length} more`] : []
    return [`The ${what} by ${groupBy}, over ${only}:`, ...lines, ...more].join('\n')
  }
  const skipped = output.skipped > 0 ? ` Skipped cells that are not numbers: ${output.skipped}.` : ''
  return `The ${what} is ${output.value ?? 'unknown'}, over ${only}.${skipped}`
}
