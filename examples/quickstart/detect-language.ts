import { foldWord, readWords } from './read-words.ts'
import { languagesOf, stopWordsOf, type Script } from './stop-words.ts'

/** What a text whose language is not known is tagged with, as BCP 47 has it: undetermined. */
const undetermined = 'und'

/** Characters of each of the three samples: a text's start alone may be a title page in another language. */
const sampleLength = 4000

const scripts: readonly (readonly [Script, RegExp])[] = [
  ['Latin', /\p{Script=Latin}/gu],
  ['Cyrillic', /\p{Script=Cyrillic}/gu],
  ['Han', /\p{Script=Han}/gu],
  ['Kana', /[\p{Script=Hiragana}\p{Script=Katakana}]/gu],
  ['Arabic', /\p{Script=Arabic}/gu],
  ['Hangul', /\p{Script=Hangul}/gu],
  ['Devanagari', /\p{Script=Devanagari}/gu],
  ['Greek', /\p{Script=Greek}/gu],
  ['Hebrew', /\p{Script=Hebrew}/gu],
  ['Thai', /\p{Script=Thai}/gu],
  ['Bengali', /\p{Script=Bengali}/gu],
  ['Gujarati', /\p{Script=Gujarati}/gu],
  ['Gurmukhi', /\p{Script=Gurmukhi}/gu],
  ['Armenian', /\p{Script=Armenian}/gu],
  ['Myanmar', /\p{Script=Myanmar}/gu],
]

/**
 * The language of a text as a BCP 47 tag, or `und`: its most frequent script, and among that script's languages the one
 * whose stop words the text uses most. A stop word counts the more the fewer languages share it.
 */
export function detectLanguage(text: string): string {
  const sample = takeSample(text)
  const script = detectScript(sample)
  if (script === undefined) return undetermined
  const languages = languagesOf(script)
  if (languages.length === 1) return languages[0] ?? undetermined
  const scores = new Map(languages.map((language) => [language, 0]))
  for (const word of readWords(sample)) {
    const folded = foldWord(word.text)
    const hits = languages.filter((language) => stopWordsOf(language).has(folded))
    const weight = Math.log((1 + languages.length) / (1 + hits.length))
    for (const language of hits) scores.set(language, (scores.get(language) ?? 0) + weight)
  }
  const [best] = [...scores].toSorted((a, b) => b[1] - a[1])
  // Less than one word of its own is no evidence: "I love pizza" would be Catalan.
  const enough = Math.log((1 + languages.length) / 2)
  return best !== undefined && best[1] >= enough ? best[0] : undetermined
}

function takeSample(text: string): string {
  if (text.length <= 3 * sampleLength) return text
  const middle = Math.floor((text.length - sampleLength) / 2)
  return [0, middle, text.length - sampleLength].map((start) => text.slice(start, start + sampleLength)).join('\n')
}

function detectScript(sample: string): Script | undefined {
  const counts = scripts.map(([script, pattern]) => ({ script, count: sample.match(pattern)?.length ?? 0 }))
  const most = counts.reduce((best, entry) => (entry.count > best.count ? entry : best))
  // Japanese mixes its kana with Chinese characters, which may be the majority.
  const kana = counts.find(({ script }) => script === 'Kana')?.count ?? 0
  if (most.script === 'Han' && kana * 10 >= most.count) return 'Kana'
  return most.count > 0 ? most.script : undefined
}
