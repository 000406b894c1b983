import type { Pace } from './pace-work.ts'

/** Sentences as rows of word numbers: sentence i holds `words[starts[i]]` up to `words[starts[i + 1]]`, each word once. */
export type SentenceWords = {
  readonly starts: Uint32Array
  readonly words: Uint32Array
  readonly vocabularySize: number
}

/** Shorter sentences count as this long, in words; else headings and fragments of shared words would come first. */
const lengthMin = 10
const damping = 0.85
const passesMax = 100
const tolerance = 1e-7

/**
 * TextRank's score of each sentence: PageRank over the graph in which two sentences are joined as strongly as their
 * words overlap (Rada Mihalcea, Paul Tarau: TextRank: Bringing Order into Texts, EMNLP 2004).
 *
 * Two changes. A common word counts the more the rarer it is in the text, which does the work of a stop word list in
 * languages that have none. And where the paper divides an overlap by log|A| + log|B|, this divides by the geometric
 * mean of |A| and |B| (as the cosine does): a product of two factors lets the similarity matrix stay factored into
 * sentences × words, so a pass costs the number of words and not the number of pairs of sentences. Nothing has to be
 * left out: 10 MB of prose, 100,000 sentences, are ranked whole.
 */
export async function rankSentences(sentences: SentenceWords, pace: Pace): Promise<Float64Array> {
  const { starts, words, vocabularySize } = sentences
  const count = starts.length - 1
  const weights = weighWords(sentences)
  const scales = new Float64Array(count)
  const selfSimilarity = new Float64Array(count)
  for (let i = 0; i < count; i += 1) {
    scales[i] = 1 / Math.sqrt(Math.max(lengthMin, starts[i + 1]! - starts[i]!))
    for (let at = starts[i]!; at < starts[i + 1]!; at += 1) selfSimilarity[i]! += weights[words[at]!]! * scales[i]! ** 2
  }
  const perWord = new Float64Array(vocabularySize)

  /** Multiplies the similarity matrix, its diagonal left out, with a vector over the sentences. */
  const multiply = (vector: Float64Array): Float64Array => {
    perWord.fill(0)
    for (let i = 0; i < count; i += 1) {
      const value = vector[i]! * scales[i]!
      for (let at = starts[i]!; at < starts[i + 1]!; at += 1) perWord[words[at]!]! += value
    }
    return vector.map((value, i) => {
      let sum = 0
      for (let at = starts[i]!; at < starts[i + 1]!; at += 1) sum += perWord[words[at]!]! * weights[words[at]!]!
      return sum * scales[i]! - value * selfSimilarity[i]!
    })
  }

  const degrees = multiply(new Float64Array(count).fill(1))
  let scores: Float64Array = new Float64Array(count).fill(1)
  for (let pass = 0; pass < passesMax; pass += 1) {
    if (pace.isDue()) await pace.rest()
    const votes = multiply(scores.map((score, i) => (degrees[i]! > 0 ? score / degrees[i]! : 0)))
    const next = votes.map((vote) => 1 - damping + damping * vote)
    const change = next.reduce((sum, score, i) => sum + Math.abs(score - scores[i]!), 0)
    scores = next
    if (change < tolerance * count) break
  }
  return scores
}

/** A word of one sentence only joins nothing: its weight is exactly zero, so an isolated sentence's degree is too. */
function weighWords({ starts, words, vocabularySize }: SentenceWords): Float64Array {
  const frequencies = new Float64Array(vocabularySize)
  for (const word of words) frequencies[word]! += 1
  return frequencies.map((frequency) => (frequency < 2 ? 0 : Math.log(1 + (starts.length - 1) / frequency)))
}
