import type { ChatConfig, ChatMessage, ChatPart, ChatRun } from 'errand'
import { paceWork } from '../pace-work.ts'
import { answerTable, describeTable } from './answer-table.ts'
import { answerText } from './answer-text.ts'
import { streamText, Toolbox } from './call-tool.ts'
import { readMessage, type MessageParts, type PastedTable } from './read-message.ts'
import { readTextQuestion } from './read-text-question.ts'

const abilities =
  'Paste a table as CSV and ask for example "What is the total amount by region?", or paste a text and ask me to ' +
  'summarize it in 2 sentences, for its keywords, how many words it has, or which sentences mention a word.'

const purpose = 'I answer questions about tables and texts that you paste.'
const helpWords =
  /^(?:hi|hello|hey|help|thanks|thank you|what can (?:you do|i ask)|who are you|how does this work)\b[^?]{0,20}\?*$/i

/** What the session has: the newest table and text that were pasted, and what was asked before, newest first. */
type Session = {
  readonly table: PastedTable | undefined
  readonly text: string | undefined
  readonly earlier: readonly string[]
}

/**
 * Answers questions about the tables and texts that the user pasted, now or earlier in the session. There is no model:
 * questions are understood by their English keywords and the table's own words, and figures are computed exactly.
 */
async function* reply(run: ChatRun): AsyncGenerator<ChatPart> {
  const { signal } = run
  const parts = await readMessage(run.message, paceWork(signal))
  const session = await readSession(parts, run)
  for await (const part of answer(parts, { session, signal })) {
    signal.throwIfAborted()
    yield part
  }
}

async function readSession(parts: MessageParts, { history, signal }: ChatRun): Promise<Session> {
  const pace = paceWork(signal)
  let table = parts.tables.at(-1)
  let text = parts.texts.at(-1)
  const earlier: string[] = []
  for (const message of history.toReversed().filter(({ role }: ChatMessage) => role === 'user')) {
    const { tables, texts, question } = await readMessage(message.content, pace)
    if (question !== '') earlier.push(question)
    table ??= tables.at(-1)
    text ??= texts.at(-1)
  }
  return { table, text, earlier }
}

async function* answer(
  { tables, texts, question }: MessageParts,
  { session, signal }: { session: Session; signal: AbortSignal },
): AsyncGenerator<ChatPart> {
  const { table, text, earlier } = session
  const tools = new Toolbox(signal)
  if (question === '') {
    if (table !== undefined && tables.length > 0) yield* describeTable({ table, tools, signal })
    if (tables.length > 0 && texts.length > 0) yield* streamText('\n')
    if (text !== undefined && texts.length > 0)
      yield* answerText({ text, tools, signal }, { ask: 'summarize', sentences: 2 })
    if (tables.length + texts.length === 0) yield* streamText(`I found nothing to read in this message. ${abilities}`)
    return
  }
  if (helpWords.test(question) && tables.length === 0) return yield* streamText(`${purpose} ${abilities}`)
  const textQuestion = readTextQuestion(question)
  const isAboutTable =
    table !== undefined && /\b(?:tables?|csv|columns?|rows?|data(?:set)?|spreadsheet)\b/i.test(question)
  if (textQuestion !== undefined && text !== undefined && !isAboutTable) {
    return yield* answerText({ text, tools, signal }, textQuestion)
  }
  if (table !== undefined) {
    if (textQuestion?.ask === 'summarize') return yield* describeTable({ table, tools, signal })
    return yield* answerTable({ table, tools, signal }, { question, earlier, isNew: tables.length > 0 })
  }
  if (text !== undefined) {
    return yield* streamText(
      'I do not understand this question. On your text I can be asked to summarize it in 2 sentences, for its keywords, ' +
        'how many words and sentences it has, and which sentences mention a word. For figures, paste a table as CSV.',
    )
  }
  yield* streamText(`Nothing was pasted in this session that I could answer from. ${abilities}`)
}

/** How the quickstart's assistant converses. */
export const assistantChat: ChatConfig = {
  pricing: { inputPer1kUsd: '0.001', outputPer1kUsd: '0.002', toolCallUsd: '0.0005' },
  contextTokens: 128_000,
  reply,
}
