import type { Pace } from './pace-work.ts'

/** How far apart two content words may stand and still be neighbours; the paper tries 2 to 10 and finds 2 best. */
const windowSize = 2
const damping = 0.85
const passesMax = 100
const tolerance = 1e-6

/** Counts which words stand near each other. Words are numbers below `vocabularySize`. */
export class WordGraph {
  readonly #vocabularySize: number
  readonly #edges = new Map<number, number>()

  constructor(vocabularySize: number) {
    this.#vocabularySize = vocabularySize
  }

  /** Adds the content words of one passage in order; negative numbers keep their place but are no vertices. */
  addPassage(words: readonly number[]): void {
    for (const [at, word] of words.entries()) {
      for (let ahead = at + 1; ahead < Math.min(words.length, at + windowSize); ahead += 1) {
        const other = words[ahead]!
        if (word < 0 || other < 0 || word === other) continue
        const key = Math.min(word, other) * this.#vocabularySize + Math.max(word, other)
        this.#edges.set(key, (this.#edges.get(key) ?? 0) + 1)
      }
    }
  }

  /**
   * TextRank's score of each word: PageRank over the words as vertices and their neighbourhoods as weighted edges
   * (Rada Mihalcea, Paul Tarau: TextRank: Bringing Order into Texts, EMNLP 2004).
   */
  async rank(pace: Pace): Promise<Float64Array> {
    const edges = [...this.#edges]
    const left = Uint32Array.from(edges, ([key]) => Math.floor(key / this.#vocabularySize))
    const right = Uint32Array.from(edges, ([key]) => key % this.#vocabularySize)
    const weights = Float64Array.from(edges, ([, weight]) => weight)
    const degrees = new Float64Array(this.#vocabularySize)
    for (let edge = 0; edge < weights.length; edge += 1) {
      degrees[left[edge]!]! += weights[edge]!
      degrees[right[edge]!]! += weights[edge]!
    }
    let scores: Float64Array = new Float64Array(this.#vocabularySize).fill(1)
    for (let pass = 0; pass < passesMax; pass += 1) {
      if (pace.isDue()) await pace.rest()
      const next = new Float64Array(this.#vocabularySize).fill(1 - damping)
      for (let edge = 0; edge < weights.length; edge += 1) {
        const [a, b, weight] = [left[edge]!, right[edge]!, damping * weights[edge]!]
        next[a]! += (weight * scores[b]!) / degrees[b]!
        next[b]! += (weight * scores[a]!) / degrees[a]!
      }
      const change = next.reduce((sum, score, word) => sum + Math.abs(score - scores[word]!), 0)
      scores = next
      if (change < tolerance * this.#vocabularySize) break
    }
    return scores
  }
}
