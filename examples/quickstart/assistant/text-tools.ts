import { detectLanguage } from '../detect-language.ts'
import { paceWork } from '../pace-work.ts'
import { readBlocks } from '../read-blocks.ts'
import { foldWord, readWords } from '../read-words.ts'
import { splitSentences } from '../split-sentences.ts'
import { stopWordsOf } from '../stop-words.ts'

export type TextSentence = { readonly text: string; readonly words: number; readonly isHeading: boolean }

export type TextCount = { readonly sentences: number; readonly words: number; readonly characters: number }

export type TextFind = {
  /** How many sentences and headings hold the words. */
  readonly count: number
  /** The first of them; `index` is the place among all sentences and headings, from 0. */
  readonly found: readonly { readonly index: number; readonly text: string }[]
}

const foundMax = 10
const shownLengthMax = 500

/** The sentences and headings of a text that hold words, in order. */
export function* readSentences(text: string): Generator<TextSentence> {
  const language = detectLanguage(text)
  const stopWords = stopWordsOf(language)
  for (const block of readBlocks(text)) {
    for (const sentence of splitSentences(block, { language, stopWords })) {
      let words = 0
      for (const word of readWords(sentence)) words += word.text === '' ? 0 : 1
      if (words > 0) yield { text: sentence, words, isHeading: block.isHeading }
    }
  }
}

/** Counts as `summarizeText` does: headings are words, but no sentences unless the text has nothing else. */
export async function countText(text: string, { signal }: { signal: AbortSignal }): Promise<TextCount> {
  const pace = paceWork(signal)
  const counts = { sentences: 0, headings: 0, words: 0 }
  for (const { words, isHeading } of readSentences(text)) {
    if (pace.isDue()) await pace.rest()
    counts[isHeading ? 'headings' : 'sentences'] += 1
    counts.words += words
  }
  const { sentences, headings, words } = counts
  const surrogates = text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0
  return { sentences: sentences === 0 ? headings : sentences, words, characters: text.length - surrogates }
}

/** The sentences that hold the words one after another, whatever their case; the last one may be in its plural. */
export async function findInText(
  text: string,
  { words, signal }: { words: string; signal: AbortSignal },
): Promise<TextFind> {
  const pace = paceWork(signal)
  const wanted = foldAll(words)
  const last = wanted.at(-1)
  if (last === undefined) return { count: 0, found: [] }
  const endings = new Set([last, `${last}s`, `${last}es`, last.replace(/s$/, '')])
  const found: { index: number; text: string }[] = []
  let [index, count] = [0, 0]
  for (const sentence of readSentences(text)) {
    if (pace.isDue()) await pace.rest()
    const own = foldAll(sentence.text)
    const matches = own.some((word, at) => {
      return endings.has(word) && wanted.slice(0, -1).every((other, i) => own[at - wanted.length + 1 + i] === other)
    })
    if (matches) {
      count += 1
      if (found.length < foundMax) found.push({ index, text: shorten(sentence.text) })
    }
    index += 1
  }
  return { count, found }
}

function foldAll(text: string): string[] {
  return [...readWords(text)].map((word) => foldWord(word.text))
}

function shorten(text: string): string {
  return text.length <= shownLengthMax ? text : `${text.slice(0, shownLengthMax - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
