import lists from 'stopword'
import { z } from 'zod'

export const textWithWords = z
  .string()
  .min(1, 'The text is empty.')
  .refine((value) => /[\p{L}\p{N}]/u.test(value), 'The text has no words.')

export const sampleText =
  'The river floods the valley every spring. Before the flood, farmers move their animals out of the valley. The river ' +
  'leaves mud on the fields, and the mud makes the soil of the valley rich. Rich soil feeds the farmers all year.'

const words = new Intl.Segmenter('en', { granularity: 'word' })
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/**
 * Splits text without sentence ends at the last space within 2000 characters, so that a long text is never a single
 * sentence.
 */
const bounded = /.{1,2000}(?= |$)|.{1,2000}/gsu
const sampleLength = 10_000

const listMarker = /^\s*(?:[-*+•]|#+|\d+[.)])\s+/
const paragraphEnd = /\n\s*\n|\n(?=\s*(?:[-*+•]|#+|\d+[.)])\s)|(?<=^#+ .*)\n/m
/** Titles, initials and list numbers. According to Unicode's rules, the period after them would end the sentence. */
const abbreviation = /(?:^|[\s("“])(?:\p{L}|\p{L}\.\p{L}|dr|fig|jr|mr|mrs|ms|prof|sr|st|vs)\.\s*$|^\d+\.\s*$/iu
/**
 * Contractions, single characters, short hiragana words (mostly endings), words without letters, and words of at least
 * 60 characters.
 */
const noContent = /^.$|^\p{scx=Hiragana}{1,3}$|^\P{L}+$|['’](?:t|re|ve|ll|d|m)$|.{60}/u

// Additions to the package's short English list. These words would otherwise rank as keywords.
const moreEnglish =
  'above among called cannot did does each even ever every few first found good great here however its itself just known ' +
  'less made may more must new no nor not off one only other our own per said same second shall so some something such ' +
  'than there these they thing things those though three through thus till time times today two until upon us was way ' +
  'ways well were whether who whole whom whose will within without years yes yet'

const languagesOf = new Map<string, readonly string[]>()
for (const [name, list] of Object.entries({ ...lists, eng: [...(lists['eng'] ?? []), ...moreEnglish.split(' ')] })) {
  const [language] = /^[a-z]{3}$/.test(name) ? Intl.getCanonicalLocales(name) : []
  if (language === undefined) continue
  for (const word of new Set(list.map((entry) => entry.toLowerCase()))) {
    languagesOf.set(word, [...(languagesOf.get(word) ?? []), language])
  }
}

/** Yields the sentences of plain or Markdown text in any script. A heading or list item counts as a sentence. */
export function* readSentences(text: string): Generator<string> {
  for (const paragraph of text.replace(/\r\n?/g, '\n').split(paragraphEnd)) {
    const line = paragraph.replace(listMarker, '').replace(/[\s\p{Cc}]+/gu, ' ')
    let start = 0
    for (const { segment, index } of sentences.segment(line)) {
      const end = index + segment.length
      if (end < line.length && abbreviation.test(line.slice(Math.max(start, end - 12), end))) continue
      const parts = line.slice(start, end).match(bounded) ?? []
      for (const part of parts) if (/[\p{L}\p{N}]/u.test(part)) yield part.trim()
      start = end
    }
  }
}

export type Word = { readonly folded: string; readonly start: number; readonly end: number }

/** Returns the words and numbers of a text in order, in lower case and without a possessive 's. */
export function readWords(text: string): Word[] {
  const found = [...words.segment(text)].filter(({ isWordLike }) => isWordLike)
  return found.map(({ segment, index }) => {
    const folded = segment.normalize('NFKC').toLowerCase()
    return { folded: folded.replace(/['’]s$/, ''), start: index, end: index + segment.length }
  })
}

/** Whether a word indicates the subject of the text. */
export function isContentWord(word: string, language: string): boolean {
  return !noContent.test(word) && !languagesOf.get(word)?.includes(language)
}

/**
 * Detects the language of a text from the stop words at its start, and returns it as a BCP 47 tag. A word
 * counts more if fewer languages share it. Returns `und` if the score is below that of one word unique to a language.
 */
export function detectLanguage(text: string): string {
  const scores = new Map<string, number>()
  for (const { folded } of readWords(text.slice(0, sampleLength))) {
    const languages = languagesOf.get(folded) ?? []
    for (const language of languages) scores.set(language, (scores.get(language) ?? 0) + 1 / languages.length)
  }
  const [best] = [...scores].toSorted((a, b) => b[1] - a[1])
  return best !== undefined && best[1] >= 1 ? best[0] : 'und'
}
