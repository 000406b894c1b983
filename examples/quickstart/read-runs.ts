import { readBlocks } from './read-blocks.ts'
import { foldWord, isContentWord, readWords } from './read-words.ts'
import { splitSentences } from './split-sentences.ts'
import { stopWordsOf } from './stop-words.ts'

type RunWord = { readonly folded: string; readonly start: number; readonly end: number }

/** Content words in a row with only spaces or hyphens between them, and the passage that they are in. */
export type WordRun = { readonly passage: string; readonly words: readonly RunWord[] }

/** Sentences are read together up to this length, in characters: one at a time, very short ones would take minutes. */
const passageLengthMin = 500

/** The runs of content words of each passage in order: what stands between stop words, figures and punctuation. */
export function* readRuns({ text, language }: { text: string; language: string }): Generator<WordRun[]> {
  const stopWords = stopWordsOf(language)
  for (const block of readBlocks(text)) {
    let passage = ''
    for (const sentence of splitSentences(block, { language, stopWords })) {
      passage += `${sentence}\n\n`
      if (passage.length < passageLengthMin) continue
      yield splitRuns(passage, stopWords)
      passage = ''
    }
    yield splitRuns(passage, stopWords)
  }
}

function splitRuns(passage: string, stopWords: ReadonlySet<string>): WordRun[] {
  const runs: WordRun[] = []
  let words: RunWord[] = []
  let end = 0
  for (const word of readWords(passage)) {
    const folded = foldWord(word.text)
    const isContent = /\p{L}/u.test(folded) && isContentWord(folded, stopWords)
    const isApart = !/^[\s\u00ad\u2010\u2011-]?$/u.test(passage.slice(end, word.start))
    if (words.length > 0 && (isApart || !isContent)) {
      runs.push({ passage, words })
      words = []
    }
    if (isContent) words.push({ folded, start: word.start, end: word.end })
    end = word.end
  }
  if (words.length > 0) runs.push({ passage, words })
  return runs
}
