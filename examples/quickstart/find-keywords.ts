import { defineEndpoint } from 'errand'
import { z } from 'zod'
import { paceWork } from './pace-work.ts'
import { detectLanguage, isContentWord, readSentences, readWords, sampleText, textWithWords } from './read-text.ts'

type Phrase = { readonly key: string; readonly surface: string; readonly length: number }

const phraseWordsMax = 4
/**
 * Maximum words of a phrase in scripts without spaces. Their words are shorter, and four of them would form a clause.
 */
const unspacedWordsMax = 2
/** Maximum phrases to count. Above it, the rarest are dropped, so that memory does not grow with the text. */
const phrasesMax = 200_000

/**
 * Finds the key phrases of a text, best first: up to four content words in a row. Scores them by frequency and length
 * (as in the C-value, Frantzi and Ananiadou, 1996). Omits a part of a better phrase if at least half of its uses are
 * within that phrase. Omits an extension of a better phrase if it is less than half as frequent.
 */
export async function findKeywords(text: string, options: { limit: number; signal?: AbortSignal | undefined }) {
  const language = detectLanguage(text)
  const counted = new Map<string, Phrase & { count: number }>()
  let words = 0
  let dropped = 0
  for await (const sentence of paceWork(readSentences(text), options.signal)) {
    for (const phrase of readPhrases(sentence, language)) {
      const known = counted.get(phrase.key)
      if (known) known.count += 1
      else counted.set(phrase.key, { ...phrase, count: 1 })
      if (phrase.length === 1) words += 1
    }
    if (counted.size <= phrasesMax) continue
    dropped += 1
    for (const [key, { count }] of counted) if (count <= dropped) counted.delete(key)
  }
  // In a long text, a phrase that occurs once is probably insignificant. In a short one it may be significant.
  const doubt = Math.max(0, Math.log(words / 100))
  const ranked = [...counted.values()]
    .map((phrase) => ({
      ...phrase,
      score: (phrase.length * Math.log2(1 + phrase.length) * phrase.count ** 2) / (phrase.count + doubt),
    }))
    .toSorted((a, b) => b.score - a.score)
  const chosen: typeof ranked = []
  for (const phrase of ranked) {
    if (chosen.length === options.limit) break
    const isCovered = chosen.some(
      (better) =>
        (better.key.includes(phrase.key) && better.count * 2 >= phrase.count) ||
        (better.length > 1 && phrase.key.includes(better.key) && phrase.count * 2 < better.count),
    )
    if (!isCovered) chosen.push(phrase)
  }
  return {
    keywords: chosen.map(({ surface, count, score }) => ({
      phrase: surface,
      score: Math.round((score / chosen[0]!.score) * 1e4) / 1e4,
      count,
    })),
    language,
    notes: dropped > 0 ? ['The text has very many phrases; counts may be too low.'] : [],
  }
}

/**
 * Yields every run of content words in a sentence. English plurals count as the same word. `surface` is the run as
 * written in the text.
 */
function* readPhrases(sentence: string, language: string): Generator<Phrase> {
  const words = readWords(sentence)
  const wordsMax = /^(?:ja|my|th|zh)$/.test(language) ? unspacedWordsMax : phraseWordsMax
  for (const [at, first] of words.entries()) {
    let key = ' '
    let end = first.start
    for (const [more, { folded, ...word }] of words.slice(at, at + wordsMax).entries()) {
      const stem = language === 'en' ? folded.replace(/(?<=.{3}[^s])s$/, '') : folded
      const isNext = /^[\s\u2010\u2011-]?$/.test(sentence.slice(end, word.start))
      if (!isNext || !isContentWord(folded, language) || key.includes(` ${stem} `)) break
      // With a space around each word, a substring search in the key finds only whole words.
      key += `${stem} `
      end = word.end
      yield { key, surface: sentence.slice(first.start, end).replace(/['’]s$/, ''), length: more + 1 }
    }
  }
}

export const keywords = defineEndpoint({
  description:
    'Finds the words and phrases (up to four words) that best describe a text, most relevant first, with the score ' +
    'and frequency of each. Works offline, and detects the language of the text.',
  priceUsd: '0.0050',
  timeoutSeconds: 120,
  retries: 1,
  connectorTokensMax: 0,
  params: z
    .object({
      text: textWithWords.describe('The text to find keywords in: plain text or Markdown, with at least one word.'),
      limit: z.int().min(1).max(50).default(10).describe('Maximum number of keywords to return.'),
    })
    .meta({ examples: [{ text: sampleText, limit: 5 }] }),
  output: z.object({
    keywords: z.array(z.object({ phrase: z.string(), score: z.number(), count: z.int() })),
    language: z.string(),
    notes: z.array(z.string()),
  }),
  run: ({ params, signal }) => findKeywords(params.text, { limit: params.limit, signal }),
})
