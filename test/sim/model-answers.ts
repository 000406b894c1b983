import type { SimRandom } from './sim-random.ts'

// Scripts for the simulated provider's model calls, and strings with a known density of tokens.

/**
 * Bytes per token according to the provider: about one for digits and base64, four for English. `o200k`: counts with
 * the same tokenizer as the service does if a provider reports no usage.
 */
export type Density = 1 | 1.5 | 4 | 'o200k'

/** Script of one model call. Its parts are sent in the order of these fields, and `gate` waits before one of them. */
export type ModelScript = {
  density: Density
  /** Visible reasoning, and the number of hidden reasoning tokens. */
  shown?: string
  hidden?: number
  text?: readonly string[]
  calls?: readonly string[]
  /** Cached share of the prompt tokens, from 0 to 1. */
  cached?: number
  usage?: 'told' | 'never' | 'zero'
  gate?: { before: 'head' | 'thought' | 'text' | 'rest'; name: string }
  /** The error status and how often it is returned. Rejected calls are not billed. */
  refused?: { status: number; times: number }
  /**
   * Breaks off after half of the text by closing the connection (`cut`), sending an error (`error`), or sending usage
   * and then closing the connection (`told`).
   */
  breaks?: 'cut' | 'error' | 'told'
  /** Number of prompt tokens to report beyond the possible maximum. */
  overcounts?: number
  /** The share of the remaining context that documents use, from 0 to 1. */
  documents?: number
  overruns?: boolean
  /** Keeps generating after its client has left, and bills everything. */
  goesOn?: boolean
}

const words = ['word ', 'naïve ', 'a longer piece of a sentence, ', '"quoted" ', 'and so on. '] as const
const base64 = 'TWFuIGlzIGRpc3Rpbmd1aXNoZWQ5Y3Zw0Zq8x7Yk2LmN3'

/** Returns a string of about this many bytes, and its density. */
export function denseText(random: SimRandom, bytes: number): { density: Density; text: string } {
  const kind = random.pick(['digits', 'digits', 'base64', 'chinese', 'english'] as const)
  if (kind === 'english') return { density: 4, text: englishText(bytes) }
  switch (kind) {
    case 'digits':
      return { density: 1, text: '7314159265'.repeat(Math.ceil(bytes / 10)) }
    case 'base64':
      return { density: 1.5, text: base64.repeat(Math.ceil(bytes / base64.length)) }
    case 'chinese':
      return { density: 1, text: '漢字龘靐'.repeat(Math.ceil(bytes / 12)) }
  }
}

export function englishText(bytes: number): string {
  return 'The quick brown fox jumps over the lazy dog. '.repeat(Math.ceil(bytes / 45))
}

export function someWords(random: SimRandom, most: number): string[] {
  return Array.from({ length: random.between(1, most) }, () => random.pick(words))
}

/** Returns a script for a successful call, with overrides. */
export function plainScript(random: SimRandom, own: Partial<ModelScript> & { density: Density }): ModelScript {
  return {
    text: someWords(random, 8),
    ...(random.chance(0.4) && { hidden: random.between(1, 400) }),
    ...(random.chance(0.2) && { shown: 'I think. '.repeat(random.between(1, 20)) }),
    ...(random.chance(0.3) && { cached: random.pick([0.25, 0.5, 1]) }),
    ...own,
  }
}
