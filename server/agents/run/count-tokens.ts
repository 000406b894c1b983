const sliceChars = 2000
const spacelessSliceChars = 200
/** Maximum length of the text that `TokenCount` has not counted yet. Each read of `tokens` counts that text again. */
const tailCharsMax = 2 * spacelessSliceChars
const countedCharsMax = 250_000
const piecesMax = 256

type Count = (text: string) => number
type Agents = { readonly agents: readonly { readonly chat: { readonly isModel: boolean } | null }[] }

let loading: Promise<Count> | undefined

/** Loads OpenAI's o200k encoding. This takes 60 MB and 200 ms, so it happens only if tokens may have to be counted. */
async function load(): Promise<Count> {
  const { countTokens: count } = await import('gpt-tokenizer/encoding/o200k_base')
  // Count special tokens such as <|endoftext|> like ordinary text.
  return (text) => count(text, { disallowedSpecial: new Set() })
}

/**
 * Preloads the encoding if any agent chats with a model. Loading it only when a reply is stopped would be too late.
 */
export async function loadForModels({ agents }: Agents): Promise<void> {
  if (agents.some(({ chat }) => chat?.isModel)) await TokenCount.create()
}

/**
 * Running token count of a growing string. Counts slices that end at a space, because encoding time grows quadratically
 * with the length of text without spaces. Beyond 250,000 characters it extrapolates.
 */
export class TokenCount {
  readonly #count: Count
  #chars = 0
  #tokens = 0
  #tail = ''

  private constructor(count: Count) {
    this.#count = count
  }

  static async create(texts: readonly string[] = []): Promise<TokenCount> {
    const made = new TokenCount(await (loading ??= load()))
    for (const text of texts) made.add(text)
    return made
  }

  anew(): TokenCount {
    return new TokenCount(this.#count)
  }

  add(text: string): void {
    const room = Math.max(0, countedCharsMax - this.#chars)
    this.#chars += text.length
    let tail = this.#tail + (room < text.length ? text.slice(0, room) : text)
    let at = 0
    while (tail.length - at > tailCharsMax) {
      const end = sliceEnd(tail, at)
      this.#tokens += this.#count(tail.slice(at, end))
      at = end
    }
    if (at > 0) tail = tail.slice(at)
    this.#tail = tail
  }

  /**
   * Adds characters without their text. `tokens` assumes that they have as many tokens per character as the counted
   * text.
   */
  extrapolate(chars: number): void {
    this.#chars += chars
  }

  get tokens(): number {
    const counted = this.#tokens + (this.#tail === '' ? 0 : this.#count(this.#tail))
    return this.#chars > countedCharsMax ? Math.ceil((counted * this.#chars) / countedCharsMax) : counted
  }
}

/** Text that may be counted later. Stores only the part that `TokenCount` would encode. */
export class UncountedText {
  readonly #joined: string[] = []
  /** Strings not joined yet. In V8 they take twice as much memory as the joined string. */
  #pieces: string[] = []
  #chars = 0
  #keptChars = 0

  add(text: string): void {
    this.#chars += text.length
    if (this.#keptChars === countedCharsMax) return
    const kept = text.slice(0, countedCharsMax - this.#keptChars)
    this.#keptChars += kept.length
    if (this.#pieces.push(kept) < piecesMax) return
    this.#joined.push(this.#pieces.join(''))
    this.#pieces = []
  }

  addTo(count: TokenCount): void {
    for (const piece of [...this.#joined, ...this.#pieces]) count.add(piece)
    count.extrapolate(this.#chars - this.#keptChars)
  }
}

export async function countTokens(texts: readonly string[]): Promise<number> {
  let tokens = 0
  for (const text of texts) tokens += (await TokenCount.create([text])).tokens
  return tokens
}

function sliceEnd(text: string, from: number): number {
  // A token includes its leading space, so end each slice before a space.
  const space = text.slice(from, from + sliceChars).lastIndexOf(' ')
  const end = from + (space > 0 ? space : spacelessSliceChars)
  const isInsidePair = text.charCodeAt(end - 1) >= 0xd800 && text.charCodeAt(end - 1) <= 0xdbff
  return isInsidePair ? end + 1 : end
}
