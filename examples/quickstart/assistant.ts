import type { ChatConfig, ChatPart, ChatRun } from 'errand'
import { tools, type Args } from './assistant-tools.ts'
import { detectDelimiter } from './read-table.ts'

const operations = 'total|sum|average|mean|median|minimum|lowest|maximum|highest'
const groups = '(?: (?:by|per) (?<groupBy>.+?))?'
const rows = '(?: where (?<where>.+?) (?<is>is not|is|<=|>=|!=|=|<|>) (?<value>.+))?$'

type Pattern = {
  readonly example: string
  readonly words: RegExp
  readonly tool: keyof typeof tools
  readonly args?: Args
}

/** All requests that the assistant understands. The words select a tool, and named groups capture its arguments. */
const patterns: readonly Pattern[] = [
  {
    example: `total amount by city where month is May (or: ${operations.replaceAll('|', ', ')}; is not, =, <, >, <=, >=)`,
    words: new RegExp(`^(?<operation>${operations}) (?:of )?(?<column>.+?)${groups}${rows}`, 'i'),
    tool: 'data.query',
  },
  {
    example: 'count rows where amount >= 100',
    words: new RegExp(`^(?:count|how many|number of) rows${groups}${rows}`, 'i'),
    tool: 'data.query',
    args: { operation: 'count' },
  },
  { example: 'describe the table', words: /^describe(?: (?:the|this))?(?: table)?$/i, tool: 'data.profile' },
  {
    example: 'summarize the text in 2 sentences',
    words: /^summari[sz]e(?: it| this)?(?: the text)?(?: in (?<sentences>[1-9]\d?) sentences?)?$/i,
    tool: 'text.summarize',
  },
  { example: '5 keywords', words: /^(?:(?<limit>[1-9]\d?) )?keywords$/i, tool: 'text.keywords' },
  { example: 'count words', words: /^(?:count|how many|number of) words$/i, tool: 'text.count' },
]

const help =
  'I am a small program without a language model. Paste a text, or a table as CSV with the column names in the ' +
  'first row. Then, or in the same message after an empty line, send one of these requests:\n' +
  patterns.map(({ example }) => `- ${example}`).join('\n')

/** Filler words before and after a request. */
const filling =
  /^(?:(?:please|can you|what (?:is|are|was|were)|show(?: me)?|give me|the|top) )+|,? please| are there|[\s?.!]+$/gi
const requestLengthMax = 300

type Request = { readonly tool: keyof typeof tools; readonly args: Args }

function readRequest(paragraph: string): Request | undefined {
  if (paragraph.length > requestLengthMax || paragraph.includes('\n')) return undefined
  const request = paragraph.replace(/\s+/g, ' ').replace(filling, '')
  for (const { words, tool, args } of patterns) {
    const match = words.exec(request)
    if (match) return { tool, args: { ...args, ...(match.groups as Args) } }
  }
  return undefined
}

/**
 * Splits a message into a request, which is its last or first paragraph, and pasted content. Without a request, the
 * whole message counts as pasted if it is long or has several lines.
 */
function readMessage(content: string): { request?: Request; pasted: string } {
  const unfenced = content.replace(/^```.*$/gm, '').trim()
  const paragraphs = unfenced.split(/\r?\n\s*\n/)
  for (const at of [paragraphs.length - 1, 0]) {
    const request = readRequest(paragraphs[at]!)
    if (request) return { request, pasted: paragraphs.toSpliced(at, 1).join('\n\n') }
  }
  const pasted = paragraphs.join('\n\n')
  return { pasted: pasted.includes('\n') || pasted.length > requestLengthMax ? pasted : '' }
}

/** Whether the first two lines have the same number of values and the first line does not end like a sentence. */
function isTable(pasted: string): boolean {
  const delimiter = detectDelimiter(pasted)
  const [first = '', second = ''] = pasted.split(/\r?\n/, 2).map((line) => line.replace(/"[^"]*"/g, ''))
  const values = first.split(delimiter).length
  return values > 1 && values === second.split(delimiter).length && !/[.:!?]$/.test(first)
}

/**
 * Calls the requested tool with the session's newest table or text. If content was pasted without a request, describes
 * the table or summarizes the text.
 */
async function* reply({ message, history, signal }: ChatRun): AsyncGenerator<ChatPart> {
  const own = readMessage(message)
  const request =
    own.request ?? (own.pasted === '' ? undefined : readRequest(isTable(own.pasted) ? 'describe' : 'summarize'))
  if (request === undefined) return yield* streamText(help)
  const earlier = history.filter(({ role }) => role === 'user').map(({ content }) => readMessage(content))
  const readsTable = request.tool.startsWith('data.')
  const found = [...earlier, own].findLast(({ pasted }) => pasted !== '' && isTable(pasted) === readsTable)
  if (found === undefined) return yield* streamText(`No ${readsTable ? 'table' : 'text'} has been pasted yet. ${help}`)

  yield { type: 'tool-call', id: 'call-1', name: request.tool, arguments: request.args }
  let answer: { output: object; text: string }
  try {
    answer = await tools[request.tool]({ pasted: found.pasted, args: request.args, signal })
  } catch (error) {
    signal.throwIfAborted()
    const reason = error instanceof Error ? error.message : String(error)
    answer = { output: { error: reason }, text: reason }
  }
  yield { type: 'tool-result', id: 'call-1', output: answer.output }
  yield* streamText(answer.text)
  const isUnanswered = own.request === undefined && message.trim().endsWith('?')
  if (isUnanswered) yield* streamText(`\n\nI did not understand the question. ${help}`)
}

function* streamText(text: string): Generator<ChatPart> {
  for (const [delta] of text.matchAll(/\s*\S+\s*/g)) yield { type: 'text', delta }
}

export const assistantChat: ChatConfig = {
  pricing: { inputPerMillionUsd: '1', outputPerMillionUsd: '2', toolCallUsd: '0.0005' },
  contextTokens: 128_000,
  reply,
}
