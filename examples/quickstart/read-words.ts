const segmenter = new Intl.Segmenter('en', { granularity: 'word' })

/** Longer words, such as encoded data, count as words but say nothing about a text's subject. */
const wordLengthMax = 60

export type Word = { readonly text: string; readonly start: number; readonly end: number }

/** The words and numbers of a text in order, in any script; punctuation, symbols and emoji are left out. */
export function* readWords(text: string): Generator<Word> {
  for (const { segment, index, isWordLike } of segmenter.segment(text)) {
    if (isWordLike) yield { text: segment, start: index, end: index + segment.length }
  }
}

/** The form in which two words compare: compatibility characters and case are folded, an English 's is dropped. */
export function foldWord(word: string): string {
  const folded = word.normalize('NFKC').toLowerCase()
  return folded.endsWith("'s") || folded.endsWith('’s') ? folded.slice(0, -2) : folded
}

/**
 * Whether a folded word carries meaning of its own. Stop words do not; nor do single characters (in Chinese mostly
 * particles), short words in hiragana (in Japanese mostly endings) and contractions such as "don't".
 */
export function isContentWord(word: string, stopWords: ReadonlySet<string>): boolean {
  if (word.length > wordLengthMax || stopWords.has(word)) return false
  if (/^.?$/u.test(word) || /^\p{scx=Hiragana}{1,3}$/u.test(word)) return false
  const contraction = /^(.+?)['’](?:t|re|ve|ll|d|m)$/.exec(word)
  return contraction === null || (!word.endsWith('t') && !stopWords.has(contraction[1] ?? ''))
}
