import type { SimRandom } from './sim-random.ts'

// What a simulated provider does with one call of a model, and texts whose tokens are as many as their bytes, or few.

/**
 * How many bytes a token of the provider has: of digits and base64 about one, of English four. Or its tokens are those of
 * o200k, in which the service counts what a provider does not report.
 */
export type Density = 1 | 1.5 | 4 | 'o200k'

/** What a call of a model comes to. Its parts come in this order, each perhaps behind a gate. */
export type ModelScript = {
  density: Density
  /** Reasoning in clear, and tokens of reasoning that nobody is shown. */
  shown?: string
  hidden?: number
  text?: readonly string[]
  calls?: readonly string[]
  /** How many of the prompt's tokens are from the cache, of 1. */
  cached?: number
  usage?: 'told' | 'never' | 'zero'
  gate?: { before: 'head' | 'thought' | 'text' | 'rest'; name: string }
  /** The status that it is refused with, and how often; refused calls are no part of the bill. */
  refused?: { status: number; times: number }
  /** After half of the text: the connection breaks, an error is told, or usage is told and then the connection breaks. */
  breaks?: 'cut' | 'error' | 'told'
  /** Reports so many more tokens of the prompt than it can have. */
  overcounts?: number
  /** What it makes of documents, of 1 of the rest of the context. */
  documents?: number
  /** Writes more than it was allowed. */
  overruns?: boolean
  /** When its client leaves, it goes on and is paid for all of it. */
  goesOn?: boolean
}

const words = ['word ', 'naïve ', 'a longer piece of a sentence, ', '"quoted" ', 'and so on. '] as const
const base64 = 'TWFuIGlzIGRpc3Rpbmd1aXNoZWQ5Y3Zw0Zq8x7Yk2LmN3'

/** A text of about so many bytes, and how dense it is. */
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

/** A call that ends well, with nothing special about it but what is given. */
export function plainScript(random: SimRandom, own: Partial<ModelScript> & { density: Density }): ModelScript {
  return {
    text: someWords(random, 8),
    ...(random.chance(0.4) && { hidden: random.between(1, 400) }),
    ...(random.chance(0.2) && { shown: 'I think. '.repeat(random.between(1, 20)) }),
    ...(random.chance(0.3) && { cached: random.pick([0.25, 0.5, 1]) }),
    ...own,
  }
}
