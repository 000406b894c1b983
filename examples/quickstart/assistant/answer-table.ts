import type { ChatPart } from 'errand'
import { paceWork } from '../pace-work.ts'
import { profileCsv } from '../profile-csv.ts'
import { streamText, type Toolbox } from './call-tool.ts'
import { detectHeader, openTable, type Table } from './open-table.ts'
import { phraseProfile, shortenProfile } from './phrase-profile.ts'
import { phraseQuery } from './phrase-query.ts'
import { planQueries, suggestQuestions, type Plan } from './plan-queries.ts'
import { queryTable, type QueryResult } from './query-table.ts'
import type { PastedTable } from './read-message.ts'
import { readTableQuestion, type TableQuestion } from './read-table-question.ts'
import type { TableQuery } from './table-query.ts'

const shownValuesMax = 10
const clausesMax = 3
const introduction =
  /^(?:hi|hello|hey|dear|thanks|thank you|good (?:morning|day|evening)|here|below|this is|these are|i have|i've|my|see)\b[^?]*$/i

type TableRun = { readonly table: PastedTable; readonly tools: Toolbox; readonly signal: AbortSignal }

/** Describes a table by `data.profile`. */
export async function* describeTable({ table, tools, signal }: TableRun): AsyncGenerator<ChatPart> {
  const { csv, delimiter } = table
  // A header that cannot be read fails in the tool, which names the line.
  const header = await detectHeader(table, paceWork(signal)).catch(() => true)
  const outcome = yield* tools.call({ name: 'data.profile', arguments: { delimiter, header } }, async () => {
    return shortenProfile(await profileCsv(csv, { delimiter, header, signal }))
  })
  if ('error' in outcome) yield* streamText(phraseFailure(outcome.error))
  else yield* streamText(phraseProfile(outcome.output))
}

/** Answers a question about a table by `data.query`. Earlier questions, newest first, fill in what it leaves out. */
export async function* answerTable(
  { table: pasted, tools, signal }: TableRun,
  { question, earlier, isNew }: { question: string; earlier: readonly string[]; isNew: boolean },
): AsyncGenerator<ChatPart> {
  const pace = paceWork(signal)
  let table: Table
  try {
    table = await openTable(pasted, pace)
  } catch (error) {
    signal.throwIfAborted()
    yield* streamText(phraseFailure(error instanceof Error ? error.message : String(error)))
    return
  }
  const clauses = readClauses(question)
  if (clauses.length === 0 && isNew) yield* describeTable({ table: pasted, tools, signal })
  else if (clauses.length === 0) yield* streamText(`You can ask me about your table. ${suggestQuestions(table)}`)
  for (const [at, clause] of clauses.entries()) {
    if (at > 0) yield* streamText('\n')
    const plan = planQuestion(clause, { table, earlier: [...clauses.slice(0, at).toReversed(), ...earlier] })
    yield* carryOut(plan, { table, run: { table: pasted, tools, signal } })
  }
}

/** "Hello. Here is my table:" asks nothing; of several sentences those with a question mark count if there are any. */
function readClauses(question: string): string[] {
  const sentences = question
    .split(/(?<=[.?!:])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence) && !introduction.test(sentence))
  const asking = sentences.filter((sentence) => sentence.endsWith('?'))
  return (asking.length > 0 ? asking : sentences).slice(0, clausesMax)
}

async function* carryOut(plan: Plan, { table, run }: { table: Table; run: TableRun }): AsyncGenerator<ChatPart> {
  const { tools, signal } = run
  const pace = paceWork(signal)
  if (plan.kind === 'refusal') yield* streamText(plan.reason)
  if (plan.kind === 'profile') {
    yield* describeTable(run)
    yield* streamText(`\n${suggestQuestions(table)}`)
  }
  if (plan.kind !== 'queries') return
  for (const [at, query] of plan.queries.entries()) {
    if (at > 0) yield* streamText('\n')
    const outcome = yield* tools.call({ name: 'data.query', arguments: query }, () => queryTable(table, query, pace))
    if ('error' in outcome) yield* streamText(phraseFailure(outcome.error))
    else yield* streamText(`${phraseQuery(query, outcome.output)}${explainNoRows(outcome.output, { query, table })}`)
  }
  if (plan.note !== undefined) yield* streamText(`\n${plan.note}`)
}

function planQuestion(text: string, { table, earlier }: { table: Table; earlier: readonly string[] }): Plan {
  const question = readTableQuestion(text, table)
  if (!isElliptic(text, question)) return planQueries(question, table)
  for (const previous of earlier.flatMap(readClauses)) {
    const full = readTableQuestion(previous, table)
    if (full.unknown.length === 0 && (full.columns.length > 0 || full.group !== undefined)) {
      return planQueries(completeQuestion(question, full), table)
    }
  }
  return planQueries(question, table)
}

/** "And the median?", "and by region?", "what about the South?": these lean on the question before. */
function isElliptic(text: string, question: TableQuestion): boolean {
  const leans = /^\s*(?:and|what about|how about|now|also|same|then)\b/i.test(text)
  return leans && question.unknown.length === 0 && (question.columns.length === 0 || question.asked.length === 0)
}

function completeQuestion(question: TableQuestion, full: TableQuestion): TableQuestion {
  const group = question.group ?? full.group
  const own = new Set(question.conditions.map(({ column }) => column))
  return {
    ...question,
    asked: question.asked.length > 0 ? question.asked : full.asked,
    columns: question.columns.length > 0 ? question.columns : full.columns,
    conditions: [...full.conditions.filter(({ column }) => !own.has(column)), ...question.conditions],
    ...(group === undefined ? {} : { group }),
  }
}

/** Names the values that a column does have when a condition asks for another one. */
function explainNoRows({ rows }: QueryResult, { query, table }: { query: TableQuery; table: Table }): string {
  const missed = rows > 0 ? [] : (query.where ?? [])
  return missed
    .flatMap(({ column: name, is, value }) => {
      const column = table.columns.find((candidate) => candidate.name === name)
      if (column === undefined || is !== '=' || column.values.has(value.toLowerCase())) return []
      const values = [...column.values.values()].slice(0, shownValuesMax)
      const more = column.values.size > values.length ? ', …' : ''
      return [` The values of ${name} are: ${values.join(', ')}${more}.`]
    })
    .join('')
}

function phraseFailure(message: string): string {
  return `I cannot read the table. ${message} Please correct it and paste it again.`
}
