import type { ColumnMention } from './match-columns.ts'
import type { Table, TableColumn } from './open-table.ts'
import { isVocabulary } from './question-vocabulary.ts'
import type { QuestionWord } from './question-words.ts'

/** A question with the columns that it names. */
export type Question = {
  readonly question: string
  readonly words: readonly QuestionWord[]
  readonly mentions: readonly ColumnMention[]
  readonly table: Table
}
/** A question about a table whose values are indexed. */
export type IndexedQuestion = Question & { readonly valueIndex: ReadonlyMap<string, TableColumn> }

/** How many words a value of several words may have. */
export const valueWordsMax = 6

/** The first column that has a value, figures aside. */
export function indexValues({ columns }: Table): Map<string, TableColumn> {
  const index = new Map<string, TableColumn>()
  for (const column of columns) {
    if (column.figures > 0) continue
    for (const value of column.values.keys()) if (!index.has(value)) index.set(value, column)
  }
  return index
}

/** The longest value of the column that begins with a word. */
export function findOwnValue(source: IndexedQuestion, column: TableColumn, start: number) {
  for (let length = valueWordsMax; length > 0; length -= 1) {
    const text = sliceWords(source, start, start + length)
    const value = text === undefined ? undefined : (column.values.get(text) ?? column.values.get(dropPossessive(text)))
    if (value !== undefined) return { value, to: start + length }
  }
  return undefined
}

/** The first column, figures aside, that has these words as a value, unless they are all the assistant's own. */
export function findValue(
  source: IndexedQuestion,
  from: number,
  to: number,
): { column: string; value: string } | undefined {
  const words = source.words.slice(from, to)
  if (words.every((word) => !word.isQuoted && (isVocabulary(word.key) || /^[+-]?\d/.test(word.text)))) return undefined
  const text = sliceWords(source, from, to)
  if (text === undefined) return undefined
  const bare = dropPossessive(text)
  const forms =
    to - from === 1 && words[0]?.isQuoted === false ? [text, bare, words[0].key, `${words[0].key}s`] : [text, bare]
  for (const form of forms) {
    const column = source.valueIndex.get(form)
    const value = column?.values.get(form)
    if (column !== undefined && value !== undefined) return { column: column.name, value }
  }
  return undefined
}

function sliceWords({ question, words }: IndexedQuestion, from: number, to: number): string | undefined {
  const first = words[from]
  const last = words[to - 1]
  if (first === undefined || last === undefined) return undefined
  return (to - from === 1 ? first.text : question.slice(first.start, last.end)).trim().toLowerCase()
}

function dropPossessive(text: string): string {
  return text.replace(/['’]s$/, '')
}
