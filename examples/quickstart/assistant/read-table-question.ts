import { matchColumns, type ColumnMention } from './match-columns.ts'
import type { Table, TableColumn } from './open-table.ts'
import { askedBy, groupWords, isVocabulary, isWeighty, timeSpanOf, type Asked } from './question-vocabulary.ts'
import { readQuestionWords, type QuestionWord } from './question-words.ts'
import { readConditions, type FoundCondition } from './read-conditions.ts'
import type { Condition, TimeSpan } from './table-query.ts'

/** What a question says, before it is known whether that makes a query. */
export type TableQuestion = {
  readonly asked: readonly Asked[]
  /** Columns that are neither grouped by nor part of a condition, in their order. */
  readonly columns: readonly TableColumn[]
  /** The column that "which …" or "how many …" asks for. */
  readonly subject?: TableColumn
  readonly group?: {
    readonly column: TableColumn
    readonly every?: TimeSpan
    /** Whether a second column to group by follows. */
    readonly isNested: boolean
  }
  readonly conditions: readonly Condition[]
  readonly limit?: number
  /** Whether "top 3" or the like ranks. */
  readonly ranks?: 'highest' | 'lowest'
  readonly isProfile: boolean
  /** Words that change the question in a way that is not understood. */
  readonly unclear: readonly string[]
  /** A word for the rows of the table, as in "how many orders". */
  readonly counted?: string
  /** Words that may be meant for a column or a value, but are none. */
  readonly unknown: readonly string[]
  readonly ambiguous?: { readonly word: string; readonly columns: readonly string[] }
}

const profileWords =
  /\b(?:describe|profile|overview|columns?|headers?|schema|types?|contains?|about (?:this|the|my) (?:table|data|csv|file)|summar\w+|structure|analy[sz]e|rows and columns|in (?:this|the|my) (?:table|data|csv|file))\b/i
const numberWords = 'one two three four five six seven eight nine ten'.split(' ')
/** Units and politeness that no table needs to have. */
const harmless = new Set('usd eur gbp dollar euro pound $ € £ % number answer exactly please'.split(' '))

/** Reads a question by its words: columns, then conditions, groups, what is asked, and what is left over. */
export function readTableQuestion(question: string, table: Table): TableQuestion {
  const words = readQuestionWords(question)
  const { mentions: all, ambiguous } = matchColumns(words, table)
  // "What is the total" asks for a sum, unless nothing is left to ask for.
  const plain = all.filter(
    ({ from, to }) => to - from > 1 || words[from]?.isQuoted || askedBy(words[from]!.key) === undefined,
  )
  // In "sum of total by region" the column "total" is all that there is to add up.
  const hasMeasure = plain.some(({ from }) => !groupWords.has(words[from - 1]?.key ?? ''))
  const mentions = hasMeasure ? plain : all
  const found = readConditions({ question, words, mentions, table })
  const conditionOf = (at: number) => found.some(({ from, to }) => at >= from && at < to)
  const free = mentions.filter(({ from }) => !conditionOf(from))
  const group = readGroup({ words, free, table })
  const columns = free.filter((mention) => mention !== group?.mention)
  const taken = (at: number) => {
    return conditionOf(at) || free.some(({ from, to }) => at >= from && at < to) || (group?.at ?? -1) === at
  }
  const rest = words.map((word, at) => ({ word, at })).filter(({ at }) => !taken(at))
  const asked = rest.flatMap(({ word }) => (word.isQuoted ? [] : (askedBy(word.key) ?? [])))
  const rank = readRank(words, taken)
  const subject = columns.find(({ from }) => /^(?:which|what|whose|many)$|^number$/.test(subjectWord(words, from)))
  const first = readFirst(words)
  const isFirst = (at: number) => first !== undefined && (at === first.at || at === first.at + 1)
  const isUnknownAt = (at: number) => at !== rank?.at && !isFirst(at) && (words[at]!.isQuoted || isUnknown(words[at]!))
  const unknown = rest.filter(({ at }) => isUnknownAt(at))
  // "How many orders are there": the thing that is counted is a row.
  const counted = unknown.find(
    ({ word, at }) => !word.isQuoted && /^(?:many|most|fewest|number)$/.test(subjectWord(words, at)),
  )
  return {
    asked: [...new Set(asked.length > 0 || mentions.length === 0 ? asked : askedOf(words, mentions))],
    columns: [...new Set(columns.map(({ column }) => column))],
    ...(subject === undefined ? {} : { subject: subject.column }),
    ...(group === undefined ? {} : { group: group.by }),
    conditions: found.flatMap(({ conditions }) => conditions),
    ...(first === undefined ? {} : { limit: first.limit }),
    ...(rank === undefined ? {} : { limit: rank.limit, ranks: rank.ranks }),
    unclear: findUnclear(words, { rest: rest.map(({ at }) => at).filter((at) => !isFirst(at)), found }),
    isProfile: profileWords.test(question),
    unknown: [...new Set(unknown.filter((other) => other !== counted).map(({ word }) => word.text))],
    ...(counted === undefined ? {} : { counted: counted.word.text }),
    // What is counted cannot be ambiguous either.
    ...(ambiguous === undefined || ambiguous.word === counted?.word.text ? {} : { ambiguous }),
  }
}

/** Where a column is called "total", "What is the total?" asks for its sum. */
function askedOf(words: readonly QuestionWord[], mentions: readonly ColumnMention[]): Asked[] {
  return mentions.flatMap(({ from, to }) => (to - from === 1 ? (askedBy(words[from]!.key) ?? []) : []))
}

function isUnknown({ key, text }: QuestionWord): boolean {
  return !isVocabulary(key) && !harmless.has(key) && !/^[<>=!]+$/.test(text) && !numberWords.includes(key)
}

/** Leftover words that would change the answer, and an "or" between conditions on different columns. */
function findUnclear(
  words: readonly QuestionWord[],
  { rest, found }: { rest: readonly number[]; found: readonly FoundCondition[] },
): string[] {
  const columns = new Set(found.flatMap(({ conditions }) => conditions.map(({ column }) => column)))
  return rest
    .filter((at) => {
      const { key, isQuoted } = words[at]!
      if (isQuoted) return false
      if (key === 'or') return columns.size > 1
      // "Largest first", "at least".
      if (key === 'first') return askedBy(words[at - 1]?.key ?? '') === undefined
      const isNow = timeSpanOf(key) !== undefined && words[at - 1]?.key === 'this'
      return isWeighty(key) || isNow
    })
    .map((at) => words[at]!.text)
}

/** "The first 3 rows". */
function readFirst(words: readonly QuestionWord[]): { limit: number; at: number } | undefined {
  const at = words.findIndex(({ key }, i) => key === 'first' && words[i + 2]?.key === 'row')
  const limit = readSmallNumber(words[at + 1]?.key)
  return at < 0 || limit === undefined ? undefined : { limit: Math.min(limit, 20), at }
}

/** The word before a column, articles and "different" aside. */
function subjectWord(words: readonly QuestionWord[], from: number): string {
  let at = from - 1
  while (at >= 0 && /^(?:the|of|different|distinct|unique|single)$/.test(words[at]!.key)) at -= 1
  return words[at]?.key ?? ''
}

/** "by region", "for each region", "per month": the column behind the first such word, or a span of the only dates. */
function readGroup({
  words,
  free,
  table,
}: {
  words: readonly QuestionWord[]
  free: readonly ColumnMention[]
  table: Table
}) {
  const isRanked = words.some(({ key }) => key === 'top' || key === 'bottom' || key === 'best' || key === 'worst')
  for (const [at, word] of words.entries()) {
    const dates = table.columns.filter((column) => column.dates > 0 && column.dates === column.filled)
    const span = timeSpanOf(words[at + 1]?.key ?? '')
    if (word.key === 'which' && span !== undefined && span !== 'day' && dates.length === 1) {
      return { by: { column: dates[0]!, every: span, isNested: false }, at: at + 1 }
    }
    if (!groupWords.has(word.key) || word.isQuoted) continue
    // In "top 3 products by amount" the column behind "by" is what ranks.
    if (word.key === 'by' && isRanked && free.length > 1 && free[0]!.from < at) continue
    const next = words[at + 1]?.key === 'the' || words[at + 1]?.key === 'each' ? at + 2 : at + 1
    const mention = free.find(({ from }) => from === next)
    if (mention !== undefined) {
      const isNested = words[mention.to]?.key === 'and' && free.some(({ from }) => from === mention.to + 1)
      return { mention, by: { column: mention.column, isNested }, at: -1 }
    }
    const every = timeSpanOf(words[next]?.key ?? '')
    if (every !== undefined && dates.length === 1)
      return { by: { column: dates[0]!, every, isNested: false }, at: next }
  }
  return undefined
}

/** "top 3", "bottom five", "3 highest": a number beside a word that ranks. */
function readRank(words: readonly QuestionWord[], taken: (at: number) => boolean) {
  for (const [at, word] of words.entries()) {
    const asked = taken(at) || word.isQuoted ? undefined : askedBy(word.key)
    const isLow = asked === 'min' || asked === 'fewest'
    if ((!isLow && asked !== 'max' && asked !== 'most') || words[at - 1]?.key === 'at') continue
    const near = [at + 1, at - 1].find((i) => !taken(i) && readSmallNumber(words[i]?.key) !== undefined)
    const limit = near === undefined ? undefined : readSmallNumber(words[near]?.key)
    const isTop = word.key === 'top' || word.key === 'bottom'
    if (limit === undefined && !isTop) continue
    return {
      limit: Math.min(limit ?? 5, 20),
      ranks: isLow ? ('lowest' as const) : ('highest' as const),
      at: near ?? -1,
    }
  }
  return undefined
}

function readSmallNumber(key: string | undefined): number | undefined {
  if (key === undefined) return undefined
  if (numberWords.includes(key)) return numberWords.indexOf(key) + 1
  return /^[1-9]\d{0,2}$/.test(key) ? Number(key) : undefined
}
