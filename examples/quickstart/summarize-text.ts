import { detectLanguage } from './detect-language.ts'
import { paceWork, type Pace } from './pace-work.ts'
import { rankSentences, type SentenceWords } from './rank-sentences.ts'
import { joinText, readBlocks } from './read-blocks.ts'
import { foldWord, isContentWord, readWords } from './read-words.ts'
import { sentenceLengthMax, splitSentences } from './split-sentences.ts'
import { stopWordsOf } from './stop-words.ts'

type SummarySentence = {
  readonly text: string
  /** The sentence's place among all sentences of the text, from 0. */
  readonly index: number
  /** How central the sentence is, from 0 to 1, the text's most central one. */
  readonly score: number
}

export type TextSummary = {
  /** The chosen sentences as one text. */
  readonly summary: string
  /** The chosen sentences in the order of the text. */
  readonly sentences: readonly SummarySentence[]
  /** What the text holds. Headings count as words, not as sentences, unless the text has nothing else. */
  readonly totals: { readonly sentences: number; readonly words: number }
  /** The text's language as a BCP 47 tag, `und` when it was not recognized. */
  readonly language: string
  /** What a reader of the summary should know, in sentences; usually empty. */
  readonly notes: readonly string[]
}

export type SummarizeOptions = { readonly sentences: number; readonly signal?: AbortSignal }

/** A sentence of the text that repeats no earlier one, and the content words in it, each once. */
type Sentence = { readonly text: string; readonly index: number; readonly content: readonly string[] }

type Source = { readonly text: string; readonly language: string; readonly pace: Pace }

/**
 * Summarizes a text by its own most central sentences (see `rankSentences`), each distinct sentence at most once.
 * A text with fewer sentences than asked for is returned whole. Throws when the text has no words.
 */
export async function summarizeText(text: string, options: SummarizeOptions): Promise<TextSummary> {
  const pace = paceWork(options.signal)
  const language = detectLanguage(text)
  const { words, headings, prose } = await readSentences({ text, language, pace })
  if (words === 0) throw new Error('The text has no words.')
  const { total, distinct } = prose.total > 0 ? prose : headings
  const scores = await rankSentences(await numberWords(distinct, pace), pace)
  const best = scores.reduce((highest, score) => Math.max(highest, score), 0)
  // Equal scores may differ in the last digits, by the order of the sums; rounding makes the earlier sentence win.
  const ranked = distinct.map((sentence, at) => ({ ...sentence, score: Math.round((scores[at]! / best) * 1e6) / 1e6 }))
  const chosen = ranked
    .toSorted((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, options.sentences)
    .toSorted((a, b) => a.index - b.index)
    .map((sentence) => ({ text: sentence.text, index: sentence.index, score: sentence.score }))
  return {
    summary: joinText(chosen.map((sentence) => sentence.text)),
    sentences: chosen,
    totals: { sentences: total, words },
    language,
    notes: noteLimits({ asked: options.sentences, total, distinct }),
  }
}

class SentenceList {
  total = 0
  readonly distinct: Sentence[] = []
}

async function readSentences({ text, language, pace }: Source) {
  const stopWords = stopWordsOf(language)
  const lists = { headings: new SentenceList(), prose: new SentenceList() }
  const wordCounts = new Map<string, number>()
  let words = 0
  for (const block of readBlocks(text)) {
    const list = block.isHeading ? lists.headings : lists.prose
    for (const sentence of splitSentences(block, { language, stopWords })) {
      if (pace.isDue()) await pace.rest()
      // Sentences that differ only in case and punctuation are the same one.
      const key = `${block.isHeading} ${sentence.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')}`
      let wordCount = wordCounts.get(key)
      if (wordCount === undefined) {
        const found = [...readWords(sentence)].map((word) => foldWord(word.text))
        wordCount = found.length
        wordCounts.set(key, wordCount)
        const content = [...new Set(found.filter((word) => isContentWord(word, stopWords)))]
        if (wordCount > 0) list.distinct.push({ text: sentence, index: list.total, content })
      }
      if (wordCount > 0) list.total += 1
      words += wordCount
    }
  }
  return { words, ...lists }
}

async function numberWords(sentences: readonly Sentence[], pace: Pace): Promise<SentenceWords> {
  const numbers = new Map<string, number>()
  const starts = new Uint32Array(sentences.length + 1)
  const words = new Uint32Array(sentences.reduce((sum, { content }) => sum + content.length, 0))
  let at = 0
  for (const [i, { content }] of sentences.entries()) {
    if (pace.isDue()) await pace.rest()
    for (const word of content) {
      const number = numbers.get(word) ?? numbers.size
      numbers.set(word, number)
      words[at] = number
      at += 1
    }
    starts[i + 1] = at
  }
  return { starts, words, vocabularySize: numbers.size }
}

function noteLimits(found: { asked: number; total: number; distinct: readonly Sentence[] }): string[] {
  const notes: string[] = []
  const count = found.distinct.length
  if (count < found.asked) {
    const repeats = count < found.total ? ' different' : ''
    notes.push(`The text has only ${count}${repeats} ${count === 1 ? 'sentence' : 'sentences'}.`)
  }
  if (found.distinct.some(({ text }) => text.length > sentenceLengthMax * 0.9)) {
    notes.push(`Passages of more than ${sentenceLengthMax} characters without the end of a sentence were cut.`)
  }
  return notes
}
