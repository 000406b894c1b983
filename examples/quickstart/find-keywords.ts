import { PhraseCounter } from './count-phrases.ts'
import { detectLanguage } from './detect-language.ts'
import { paceWork, type Pace } from './pace-work.ts'
import { WordGraph } from './rank-words.ts'
import { readRuns } from './read-runs.ts'
import { readWords } from './read-words.ts'

type Keyword = {
  /** One to four words as the text has them, in their most frequent form. */
  readonly phrase: string
  /** How much of the text's weight the phrase carries, from 0 to 1, the best phrase's. */
  readonly score: number
  /** How often the phrase occurs, whatever its case. */
  readonly count: number
}

export type TextKeywords = {
  /** Best first. */
  readonly keywords: readonly Keyword[]
  /** The text's language as a BCP 47 tag, `und` when it was not recognized. */
  readonly language: string
  /** What a reader of the result should know, in sentences; usually empty. */
  readonly notes: readonly string[]
}

export type KeywordsOptions = { readonly limit: number; readonly signal?: AbortSignal }

type Source = { readonly text: string; readonly language: string; readonly pace: Pace }

/** Only the most frequent words of a very long text are ranked: the rarest of them cannot be its keywords. */
const rankedWordsMax = 20_000
/** More distinct words than this are thinned while they are counted, so memory does not grow with the text. */
const countedWordsMax = 100_000

/**
 * The words and phrases that a text is about. Words are ranked by TextRank (see `WordGraph`); phrases are the runs
 * of content words between stop words and punctuation, as in RAKE (Stuart Rose et al.: Automatic Keyword Extraction from
 * Individual Documents, 2010), and the parts of such runs, up to four words long. A text of stop words alone has no
 * keywords. Throws when the text has no words.
 */
export async function findKeywords(text: string, options: KeywordsOptions): Promise<TextKeywords> {
  if (readWords(text).next().done) throw new Error('The text has no words.')
  const source = { text, language: detectLanguage(text), pace: paceWork(options.signal) }
  const { numbers, notes } = await numberWords(source)
  const graph = new WordGraph(numbers.size)
  const phrases = new PhraseCounter(source.language)
  for await (const { runs, numbered } of numberRuns(source, numbers)) {
    graph.addPassage(numbered.flat())
    for (const [at, run] of runs.entries()) phrases.addRun(run, numbered[at]!)
  }
  const best = phrases.choose({ ranks: await graph.rank(source.pace), limit: options.limit })
  if (phrases.isThinned) {
    phrases.restart(best)
    for await (const { runs, numbered } of numberRuns(source, numbers)) {
      for (const [at, run] of runs.entries()) phrases.addRun(run, numbered[at]!)
    }
  }
  const keywords = best.map((phrase) => ({
    phrase: phrase.surface,
    score: Math.round((phrase.score / best[0]!.score) * 1e4) / 1e4,
    count: phrases.countOf(phrase),
  }))
  return { keywords, language: source.language, notes }
}

/** The runs of each passage with the numbers of their words, −1 for a word that is not ranked. */
async function* numberRuns(source: Source, numbers: ReadonlyMap<string, number>) {
  for (const runs of readRuns(source)) {
    if (source.pace.isDue()) await source.pace.rest()
    yield { runs, numbered: runs.map((run) => run.words.map((word) => numbers.get(word.folded) ?? -1)) }
  }
}

/** Gives the text's most frequent content words their numbers; an English plural has the number of its singular. */
async function numberWords(source: Source): Promise<{ numbers: Map<string, number>; notes: string[] }> {
  const { counts, isThinned } = await countWords(source)
  const singularOf = (word: string) => {
    const singular = word.slice(0, -1)
    return source.language === 'en' && word.length > 4 && word.endsWith('s') && counts.has(singular) ? singular : word
  }
  const ranked = [...counts].toSorted((a, b) => b[1] - a[1]).slice(0, rankedWordsMax)
  const numbers = new Map<string, number>()
  for (const [word] of ranked) {
    const singular = singularOf(word)
    const number = numbers.get(singular) ?? numbers.size
    numbers.set(singular, number).set(word, number)
  }
  const isCut = isThinned || counts.size > rankedWordsMax
  return { numbers, notes: isCut ? [`Only the ${rankedWordsMax} most frequent words of the text were ranked.`] : [] }
}

async function countWords(source: Source): Promise<{ counts: Map<string, number>; isThinned: boolean }> {
  const counts = new Map<string, number>()
  let threshold = 0
  for (const runs of readRuns(source)) {
    if (source.pace.isDue()) await source.pace.rest()
    for (const { words } of runs) {
      for (const { folded } of words) counts.set(folded, (counts.get(folded) ?? 0) + 1)
    }
    // Lossy counting (Manku, Motwani 2002): only words as rare as those dropped here can be missing in the end.
    if (counts.size > countedWordsMax) {
      threshold += 1
      for (const [word, count] of counts) if (count <= threshold) counts.delete(word)
    }
  }
  return { counts, isThinned: threshold > 0 }
}
