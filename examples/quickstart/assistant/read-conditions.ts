import type { ColumnMention } from './match-columns.ts'
import { readFigure, type TableColumn } from './open-table.ts'
import { isVocabulary } from './question-vocabulary.ts'
import type { QuestionWord } from './question-words.ts'
import {
  findOwnValue,
  findValue,
  indexValues,
  valueWordsMax,
  type IndexedQuestion,
  type Question,
} from './find-values.ts'
import type { Condition } from './table-query.ts'

/** Conditions, two for "between", and the words of the question that they account for. */
export type FoundCondition = { readonly conditions: readonly Condition[]; readonly from: number; readonly to: number }

/** Longer ones first; the words are keys, so they are singular. */
const comparisons: readonly (readonly [string, Condition['is']])[] = (
  [
    ['is not equal to', '!='],
    ['is greater than', '>'],
    ['is more than', '>'],
    ['is less than', '<'],
    ['is at least', '>='],
    ['is at most', '<='],
    ['is higher than', '>'],
    ['is lower than', '<'],
    ['is equal to', '='],
    ['greater than', '>'],
    ['more than', '>'],
    ['larger than', '>'],
    ['higher than', '>'],
    ['less than', '<'],
    ['smaller than', '<'],
    ['fewer than', '<'],
    ['lower than', '<'],
    ['at least', '>='],
    ['at most', '<='],
    ['is not', '!='],
    ['are not', '!='],
    ['is over', '>'],
    ['is above', '>'],
    ['is under', '<'],
    ['is below', '<'],
    ['is after', '>'],
    ['is before', '<'],
    ['equal to', '='],
    ['equal', '='],
    ['is', '='],
    ['are', '='],
    ['was', '='],
    ['is other than', '!='],
    ['other than', '!='],
    ['is not in', '!='],
    ['not in', '!='],
    ['over', '>'],
    ['above', '>'],
    ['after', '>'],
    ['under', '<'],
    ['below', '<'],
    ['before', '<'],
    ['since', '>='],
    ['not', '!='],
    ['!=', '!='],
    ['==', '='],
    ['=', '='],
    ['>=', '>='],
    ['<=', '<='],
    ['>', '>'],
    ['<', '<'],
  ] as const
).toSorted((a, b) => b[0].length - a[0].length)

const monthNames = 'january february march april may june july august september october november december'.split(' ')
const datePattern = /^(?:1[5-9]|20)\d\d(?:-\d\d(?:-\d\d)?)?$/
const timeComparisons = new Map<string, Condition['is']>([
  ['after', '>'],
  ['since', '>='],
  ['from', '>='],
  ['before', '<'],
  ['until', '<='],
  ['till', '<='],
])

/**
 * The conditions of a question: a column with a comparison and a value (`region is North`, `amount > 5`), a column
 * beside one of its values (`region North`), a value by itself (`for North`), and a year, month or day of a column of dates.
 */
export function readConditions(question: Question): FoundCondition[] {
  const source = { ...question, valueIndex: indexValues(question.table) }
  const { words, mentions } = source
  const found: FoundCondition[] = []
  const isFree = (from: number, to: number) => {
    return ![...found, ...mentions].some((other) => from < other.to && to > other.from)
  }
  for (const mention of mentions) {
    const condition = readComparison(source, mention) ?? readNeighbour(source, mention)
    if (condition !== undefined) found.push(condition)
  }
  for (let from = 0; from < words.length; from += 1) {
    const length = [6, 5, 4, 3, 2, 1].find(
      (count) => isFree(from, from + count) && findValue(source, from, from + count),
    )
    const value = length === undefined ? undefined : findValue(source, from, from + length)
    if (length !== undefined && value !== undefined) {
      const start = findExclusion(words, from)
      // "Excluding North and South" excludes both.
      const before = found.find(({ to }) => to === from || (to === from - 1 && isConjunction(words[to])))
      const isExcluded =
        start < from || before?.conditions.some(({ column, is }) => column === value.column && is === '!=')
      // In "the Sales department" the column belongs to its value.
      const own = mentions.find((mention) => mention.from === from + length && mention.column.name === value.column)
      const to = own !== undefined && !found.some((other) => other.from === own.from) ? own.to : from + length
      found.push({ conditions: [{ ...value, is: isExcluded === true ? '!=' : '=' }], from: start, to })
      from = to - 1
    }
  }
  for (let from = 0; from < words.length; from += 1) {
    const date = readTime(source, from)
    if (date !== undefined && isFree(date.from, date.to)) found.push(date)
  }
  return found
}

/** Where "not", "other than", "excluding" and the like begin before a value; its own place when there is none. */
function findExclusion(words: readonly QuestionWord[], from: number): number {
  let at = from - 1
  while (at >= 0 && /^(?:in|for|from|of|the|than)$/.test(words[at]!.key)) at -= 1
  const isExclusion = /^(?:excluding|exclude|except|without|not|other)$/.test(words[at]?.key ?? '')
  return isExclusion ? at : from
}

function isConjunction(word: QuestionWord | undefined): boolean {
  return word?.key === 'and' || word?.key === 'or' || word?.key === 'nor'
}

function readComparison(
  source: IndexedQuestion,
  { column, from, to: named }: ColumnMention,
): FoundCondition | undefined {
  const { words } = source
  // "An amount of at least 5", "an amount that is over 5".
  const to = /^(?:of|that|which)$/.test(words[named]?.key ?? '') ? named + 1 : named
  const range = readRange(source, { column, at: to })
  if (range !== undefined) return { ...range, from }
  const comparison = comparisons.find(([phrase]) => phrase.split(' ').every((part, i) => keyOf(words[to + i]) === part))
  if (comparison === undefined) return undefined
  const [phrase, is] = comparison
  const found = readValue(source, { column, at: to + phrase.split(' ').length })
  if (found === undefined) return undefined
  // "The amount since March" compares dates, not amounts.
  const isOrder = is !== '=' && is !== '!='
  const isKnown = column.values.has(found.value.toLowerCase())
  if (!isComparable(column, found.value) && (isOrder || (column.figures > 0 && !isKnown))) return undefined
  return { conditions: [{ column: column.name, is, value: found.value }], from, to: found.to }
}

/** "Between 5 and 10", both included. */
function readRange(source: IndexedQuestion, { column, at }: { column: TableColumn; at: number }) {
  const { words } = source
  const start = words[at]?.key === 'is' || words[at]?.key === 'are' ? at + 1 : at
  const [low, high] = [words[start + 1], words[start + 3]]
  if (words[start]?.key !== 'between' || words[start + 2]?.key !== 'and' || !low || !high) return undefined
  if (!isComparable(column, low.text) || !isComparable(column, high.text)) return undefined
  const conditions: Condition[] = [
    { column: column.name, is: '>=', value: low.text },
    { column: column.name, is: '<=', value: high.text },
  ]
  return { conditions, to: start + 4 }
}

function isComparable(column: TableColumn, value: string): boolean {
  if (column.figures > 0) return readFigure(column, value) !== undefined
  return column.dates > 0 && datePattern.test(value)
}

/** One of the column's values, or else what stands there up to the next word of the assistant's own. */
function readValue(source: IndexedQuestion, { column, at }: { column: TableColumn; at: number }) {
  const { words, question } = source
  const known = findOwnValue(source, column, at)
  if (known !== undefined) return known
  const word = words[at]
  // "The region is the largest one" compares nothing.
  if (word === undefined || (!word.isQuoted && isVocabulary(word.key))) return undefined
  let end = at + 1
  while (!word.isQuoted && !/^[+-]?\d/.test(word.text) && end < words.length && end - at < valueWordsMax) {
    const next = words[end]!
    const isApart = question.slice(words[end - 1]!.end, next.start).trim() !== ''
    if (next.isQuoted || isVocabulary(next.key) || isApart) break
    end += 1
  }
  return { value: word.isQuoted ? word.text : question.slice(word.start, words[end - 1]!.end), to: end }
}

function readNeighbour(source: IndexedQuestion, { column, from, to }: ColumnMention): FoundCondition | undefined {
  const known = findOwnValue(source, column, to)
  const word = source.words[to]
  // In "amount by region" a value of amount that is called "by" would be far-fetched.
  if (known === undefined || word === undefined || (!word.isQuoted && isVocabulary(word.key))) return undefined
  return { conditions: [{ column: column.name, is: '=', value: known.value }], from, to: known.to }
}

/** "2013", "since 2013-05", "before 2013-05-17", "May 2013", where the table has one column of dates alone. */
function readTime(source: IndexedQuestion, at: number): FoundCondition | undefined {
  const { words, table } = source
  const columns = table.columns.filter((column) => column.dates > 0 && column.dates === column.filled)
  const [column] = columns
  if (column === undefined || columns.length > 1) return undefined
  const range = readRange(source, { column, at })
  if (range !== undefined) return { ...range, from: at }
  const word = words[at]
  const is = timeComparisons.get(word?.key ?? '')
  const start = is === undefined ? at : at + 1
  const month = monthNames.indexOf(words[start]?.text.toLowerCase() ?? '') + 1
  const next = words[start + 1]?.text ?? ''
  const isMonth = month > 0 && /^\d{4}$/.test(next)
  const value = isMonth ? `${next}-${String(month).padStart(2, '0')}` : (words[start]?.text ?? '')
  if (!datePattern.test(value)) return undefined
  return {
    conditions: [{ column: column.name, is: is ?? 'starts with', value }],
    from: at,
    to: start + (isMonth ? 2 : 1),
  }
}

function keyOf(word: QuestionWord | undefined): string | undefined {
  return word?.isQuoted === true ? undefined : word?.key
}
