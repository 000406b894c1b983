import type { ChatPart } from 'errand'
import { findKeywords } from '../find-keywords.ts'
import { summarizeText } from '../summarize-text.ts'
import { streamText, type Toolbox } from './call-tool.ts'
import { plural } from './phrase-query.ts'
import type { TextQuestion } from './read-text-question.ts'
import { countText, findInText } from './text-tools.ts'

type TextRun = { readonly text: string; readonly tools: Toolbox; readonly signal: AbortSignal }

/** Answers a question about a text by the tool for it. */
export async function* answerText(run: TextRun, question: TextQuestion): AsyncGenerator<ChatPart> {
  switch (question.ask) {
    case 'summarize':
      yield* summarize(run, question.sentences)
      return
    case 'keywords':
      yield* listKeywords(run, question.limit)
      return
    case 'count':
      yield* count(run)
      return
    case 'find':
      yield* find(run, question.words)
  }
}

async function* summarize({ text, tools, signal }: TextRun, sentences: number): AsyncGenerator<ChatPart> {
  const outcome = yield* tools.call({ name: 'text.summarize', arguments: { sentences } }, async () => {
    const { summary, totals, language, notes } = await summarizeText(text, { sentences, signal })
    return { summary, totals, language, notes }
  })
  if ('error' in outcome) return yield* streamText(phraseFailure(outcome.error))
  const { summary, totals, notes } = outcome.output
  const size = `${plural(totals.sentences, 'sentence')} and ${plural(totals.words, 'word')}`
  yield* streamText(
    `The text has ${size}. Its most central:\n${summary}${notes.map((note) => `\nNote: ${note}`).join('')}`,
  )
}

async function* listKeywords({ text, tools, signal }: TextRun, limit: number): AsyncGenerator<ChatPart> {
  const outcome = yield* tools.call({ name: 'text.keywords', arguments: { limit } }, () => {
    return findKeywords(text, { limit, signal })
  })
  if ('error' in outcome) return yield* streamText(phraseFailure(outcome.error))
  const { keywords } = outcome.output
  const list = keywords.map((keyword) => `${keyword.phrase} (${keyword.count})`).join(', ')
  yield* streamText(
    keywords.length === 0
      ? 'The text has no keywords: it consists of very common words.'
      : `The keywords of the text, best first, with how often they occur: ${list}.`,
  )
}

async function* count({ text, tools, signal }: TextRun): AsyncGenerator<ChatPart> {
  const outcome = yield* tools.call({ name: 'text.count', arguments: {} }, () => countText(text, { signal }))
  if ('error' in outcome) return yield* streamText(phraseFailure(outcome.error))
  const { words, sentences, characters } = outcome.output
  yield* streamText(
    `The text has ${plural(words, 'word')}, ${plural(sentences, 'sentence')} and ${plural(characters, 'character')}.`,
  )
}

async function* find({ text, tools, signal }: TextRun, words: string): AsyncGenerator<ChatPart> {
  const outcome = yield* tools.call({ name: 'text.find', arguments: { words: words.slice(0, 200) } }, () => {
    return findInText(text, { words: words.slice(0, 200), signal })
  })
  if ('error' in outcome) return yield* streamText(phraseFailure(outcome.error))
  const { count: total, found } = outcome.output
  if (total === 0) return yield* streamText(`No sentence of the text mentions "${words}".`)
  const more = total > found.length ? `\n- and ${plural(total - found.length, 'more sentence')}` : ''
  const list = found.map((sentence) => `- ${sentence.text}`).join('\n')
  yield* streamText(
    `${plural(total, 'sentence')} of the text ${total === 1 ? 'mentions' : 'mention'} "${words}":\n${list}${more}`,
  )
}

function phraseFailure(message: string): string {
  return `I cannot work on the text. ${message}`
}
