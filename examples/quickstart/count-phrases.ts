import type { WordRun } from './read-runs.ts'

export type Phrase = { readonly key: string; readonly surface: string; readonly score: number; readonly count: number }

type Entry = { count: number; surface: string; votes: number }

const phraseWordsMax = 4
/** In scripts without spaces a word is shorter, and four of them in a row are a clause. */
const unspacedPhraseWordsMax = 2
const unspacedLanguages = new Set(['ja', 'my', 'th', 'zh'])
/** More distinct phrases than this are thinned while they are counted, so memory does not grow with the text. */
const phrasesMax = 100_000

/** Counts the phrases of up to four words in runs of content words, which are given as text and as word numbers. */
export class PhraseCounter {
  readonly #language: string
  readonly #wordsMax: number
  readonly #entries = new Map<string, Entry>()
  #words = 0
  #threshold = 0
  #only: ReadonlySet<string> | undefined

  constructor(language: string) {
    this.#language = language
    this.#wordsMax = unspacedLanguages.has(language) ? unspacedPhraseWordsMax : phraseWordsMax
  }

  addRun({ passage, words }: WordRun, numbers: readonly number[]): void {
    this.#words += words.length
    for (let first = 0; first < words.length; first += 1) {
      let key = ''
      for (let last = first; last < Math.min(words.length, first + this.#wordsMax); last += 1) {
        if (numbers[last]! < 0 || key.includes(` ${numbers[last]!} `)) break
        // The spaces on both sides make "is a part of" a search in the key.
        key = `${key === '' ? ' ' : key}${numbers[last]!} `
        this.#count(key, passage.slice(words[first]!.start, words[last]!.end))
      }
    }
    if (this.#entries.size > phrasesMax) this.#thin()
  }

  /** Whether counts may have become too small, each by less than the number of times that phrases were thinned. */
  get isThinned(): boolean {
    return this.#threshold > 0
  }

  /** Starts again to count, exactly, these phrases alone. */
  restart(phrases: readonly Phrase[]): void {
    this.#only = new Set(phrases.map(({ key }) => key))
    this.#entries.clear()
    this.#threshold = 0
  }

  countOf({ key }: Phrase): number {
    return this.#entries.get(key)?.count ?? 0
  }

  /**
   * The best phrases, best first. A part of a better phrase is left out when it mostly occurs inside it, and a longer
   * form of a better phrase of several words when it is the rarer use.
   */
  choose({ ranks, limit }: { ranks: Float64Array; limit: number }): Phrase[] {
    const scored = [...this.#entries]
      .filter(([, { surface }]) => this.#mayStandAlone(surface))
      .map(([key, entry]) => {
        return { ...entry, ...this.#score({ key, count: entry.count, ranks }), key }
      })
    const chosen: typeof scored = []
    for (const phrase of scored.toSorted((a, b) => b.score - a.score || (a.surface < b.surface ? -1 : 1))) {
      if (chosen.length >= limit) break
      const isCovered = chosen.some(
        (better) =>
          (better.key.includes(phrase.key) && better.count * 2 >= phrase.count) ||
          (better.length > 1 && phrase.key.includes(better.key) && phrase.count * 2 < better.count),
      )
      if (!isCovered) chosen.push(phrase)
    }
    return chosen
  }

  /**
   * A phrase scores what its occurrences carry: each occurrence of a word carries the word's rank divided by the word's
   * count. More words say more. In a long text a phrase that occurs once is an accident; in a short one it is not.
   */
  #score({ key, count, ranks }: { key: string; count: number; ranks: Float64Array }) {
    const words = key.trim().split(' ')
    const carried = words.map((word) => ranks[Number(word)]! / (this.#entries.get(` ${word} `)?.count ?? count))
    const doubt = Math.max(0, Math.log(this.#words / 100))
    const weight = (Math.log2(1 + words.length) * count) / (count + doubt)
    return { length: words.length, score: weight * count * carried.reduce((sum, part) => sum + part, 0) }
  }

  /** A German phrase ends with a noun, which has a capital. */
  #mayStandAlone(surface: string): boolean {
    return this.#language !== 'de' || /(?:^|[\s-])\p{Lu}[^\s-]*$/u.test(surface)
  }

  #count(key: string, surface: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) {
      if (this.#only !== undefined && !this.#only.has(key)) return
      this.#entries.set(key, { count: 1, surface, votes: 1 })
      return
    }
    entry.count += 1
    // A majority vote (Boyer, Moore 1981) finds the usual spelling among "whale", "Whale" and "WHALES" in no memory.
    if (entry.surface === surface) entry.votes += 1
    else if (entry.votes > 0) entry.votes -= 1
    else Object.assign(entry, { surface, votes: 1 })
  }

  /** Lossy counting (Manku, Motwani 2002): drops the rarest; single words stay, for the shares of the others. */
  #thin(): void {
    this.#threshold += 1
    for (const [key, { count }] of this.#entries) {
      if (count <= this.#threshold && key.indexOf(' ', 1) < key.length - 1) this.#entries.delete(key)
    }
  }
}
