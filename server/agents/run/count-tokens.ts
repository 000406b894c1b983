const sliceChars = 2000
const spacelessSliceChars = 200
const countedCharsMax = 1_000_000

type Count = (text: string) => number

let loading: Promise<Count> | undefined
let isLoaded = false

/** Whether a count can be had at once. */
export function canCountTokens(): boolean {
  return isLoaded
}

/** OpenAI's o200k encoding. It takes 60 MB and a fifth of a second to load, so only where a count is asked for. */
async function load(): Promise<Count> {
  const { countTokens: count } = await import('gpt-tokenizer/encoding/o200k_base')
  // Text such as <|endoftext|> is a user's text like any other.
  return (text) => count(text, { disallowedSpecial: new Set() })
}

/**
 * The tokens of texts, together. Counted in slices that end at a space, because the time of an encoding grows with the
 * square of the length of what has none; beyond a million characters the rest is taken to be like the beginning.
 */
export async function countTokens(texts: readonly string[]): Promise<number> {
  const count = await (loading ??= load())
  isLoaded = true
  let tokens = 0
  for (const text of texts) {
    const counted = text.slice(0, countedCharsMax)
    let ofText = 0
    for (let at = 0; at < counted.length;) {
      const end = sliceEnd(counted, at)
      ofText += count(counted.slice(at, end))
      at = end
    }
    tokens += text.length > counted.length ? Math.ceil((ofText * text.length) / counted.length) : ofText
  }
  return tokens
}

function sliceEnd(text: string, from: number): number {
  if (text.length - from <= spacelessSliceChars) return text.length
  // Tokens begin with their space, so a slice ends before one.
  const space = text.lastIndexOf(' ', Math.min(from + sliceChars, text.length) - 1)
  const end = space > from ? space : from + spacelessSliceChars
  const isInsidePair = text.charCodeAt(end - 1) >= 0xd800 && text.charCodeAt(end - 1) <= 0xdbff
  return isInsidePair ? end + 1 : end
}
