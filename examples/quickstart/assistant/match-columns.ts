import type { Table, TableColumn } from './open-table.ts'
import { splitName, type QuestionWord } from './question-words.ts'
import { isVocabulary } from './question-vocabulary.ts'

/** A column that a question names, by its words from `from` up to, not including, `to`. */
export type ColumnMention = { readonly column: TableColumn; readonly from: number; readonly to: number }

export type ColumnMentions = {
  /** In the order of the question. */
  readonly mentions: readonly ColumnMention[]
  /** A word that is part of the names of several columns, which then is not taken for any of them. */
  readonly ambiguous?: { readonly word: string; readonly columns: readonly string[] }
}

/**
 * The columns that a question names: in quotes, or by all words of their names, longer names first. A word that no whole
 * name accounts for stands for the one column that it is a part of: "price" for `unit_price`.
 */
export function matchColumns(words: readonly QuestionWord[], table: Table): ColumnMentions {
  const mentions: ColumnMention[] = []
  const isFree = (from: number, to: number) => mentions.every((other) => to <= other.from || from >= other.to)
  const names = table.columns
    .map((column) => ({ column, words: splitName(column.name), whole: column.name.trim().toLowerCase() }))
    .toSorted((a, b) => b.words.length - a.words.length)
  for (const { column, words: name, whole } of names) {
    for (const [from, word] of words.entries()) {
      const isQuote = word.isQuoted && (word.key === whole || splitName(word.text).join(' ') === name.join(' '))
      const isName =
        name.length > 0 && name.every((part, i) => words[from + i]?.key === part && !words[from + i]?.isQuoted)
      const isJoined = name.length > 1 && word.key === name.join('')
      const to = isName && !isQuote && !isJoined ? from + name.length : from + 1
      if ((isQuote || isName || isJoined) && isFree(from, to)) mentions.push({ column, from, to })
    }
  }
  let ambiguous: ColumnMentions['ambiguous']
  for (const [from, word] of words.entries()) {
    if (word.isQuoted || !isFree(from, from + 1) || isVocabulary(word.key) || !/\p{L}{3}/u.test(word.key)) continue
    const partial = names.filter((name) => name.words.includes(word.key))
    if (partial.length === 1) mentions.push({ column: partial[0]!.column, from, to: from + 1 })
    else if (partial.length > 1) ambiguous ??= { word: word.text, columns: partial.map((name) => name.column.name) }
  }
  mentions.sort((a, b) => a.from - b.from)
  return { mentions, ...(ambiguous === undefined ? {} : { ambiguous }) }
}
