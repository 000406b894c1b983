import { defineEndpoint } from 'errand'
import { z } from 'zod'
import { paceWork } from './pace-work.ts'
import { detectLanguage, isContentWord, readSentences, readWords, sampleText, textWithWords } from './read-text.ts'

type Sentence = { readonly text: string; readonly index: number; readonly content: readonly string[] }

/**
 * Minimum length in words. Shorter sentences count as this long, because headings and fragments would otherwise rank
 * first.
 */
const lengthMin = 10

/**
 * Summarizes a text by its most central sentences: those that share the most words with others (degree centrality,
 * Erkan and Radev: LexRank, 2004). Rarer words count more. The similarity of two sentences is a product of one factor
 * per sentence. The work therefore grows with the number of words, not with the number of sentence pairs.
 */
export async function summarizeText(text: string, options: { sentences: number; signal?: AbortSignal | undefined }) {
  const { signal } = options
  const language = detectLanguage(text)
  const distinct = new Map<string, Sentence>()
  const totals = { sentences: 0, words: 0 }
  for await (const sentence of paceWork(readSentences(text), signal)) {
    const words = readWords(sentence).map(({ folded }) => folded)
    const content = [...new Set(words.filter((word) => isContentWord(word, language)))]
    const key = words.join(' ')
    if (!distinct.has(key)) distinct.set(key, { text: sentence, index: totals.sentences, content })
    totals.sentences += 1
    totals.words += words.length
  }

  const sentences = [...distinct.values()]
  const scaleOf = ({ content }: Sentence) => 1 / Math.sqrt(Math.max(lengthMin, content.length))
  const uses = new Map<string, { count: number; scales: number }>()
  for await (const sentence of paceWork(sentences, signal)) {
    for (const word of sentence.content) {
      const { count, scales } = uses.get(word) ?? { count: 0, scales: 0 }
      uses.set(word, { count: count + 1, scales: scales + scaleOf(sentence) })
    }
  }
  const scored: { text: string; index: number; score: number }[] = []
  for await (const sentence of paceWork(sentences, signal)) {
    const scale = scaleOf(sentence)
    let score = 0
    for (const word of sentence.content) {
      const { count, scales } = uses.get(word)!
      if (count > 1) score += Math.log(1 + sentences.length / count) * scale * (scales - scale)
    }
    scored.push({ text: sentence.text, index: sentence.index, score })
  }

  const best = scored.reduce((highest, { score }) => Math.max(highest, score), 0)
  const chosen = scored
    .toSorted((a, b) => b.score - a.score)
    .slice(0, options.sentences)
    .toSorted((a, b) => a.index - b.index)
    .map((sentence) => ({ ...sentence, score: best === 0 ? 1 : Math.round((sentence.score / best) * 1e6) / 1e6 }))
  return {
    summary: chosen.map((sentence) => sentence.text).join(' '),
    /**
     * Sentences in text order. `index` is the position of the sentence in the text, starting at 0. `score` is 1 for the
     * most central sentence.
     */
    sentences: chosen,
    totals,
    language,
    notes:
      sentences.length < options.sentences
        ? [`Distinct sentences in the text: ${sentences.length}, fewer than requested.`]
        : [],
  }
}

export const summarize = defineEndpoint({
  description:
    'Summarizes a text by quoting its most central sentences in their original order. Works offline, in any language, ' +
    'for texts from a paragraph to a book. Returns the sentences, their scores, and counts of sentences and words.',
  priceUsd: '0.0100',
  timeoutSeconds: 120,
  retries: 1,
  connectorTokensMax: 0,
  params: z
    .object({
      text: textWithWords.describe('The text to summarize: plain text or Markdown, with at least one word.'),
      sentences: z
        .int()
        .min(1)
        .max(20)
        .default(3)
        .describe('Maximum number of sentences in the summary. A shorter text is returned unchanged.'),
    })
    .meta({ examples: [{ text: sampleText, sentences: 1 }] }),
  run: ({ params, signal }) => summarizeText(params.text, { sentences: params.sentences, signal }),
})
