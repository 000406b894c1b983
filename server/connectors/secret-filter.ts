/** Minimum length of a secret to redact. Shorter secrets occur in ordinary words and numbers. */
const secretCharsMin = 6
const rootCodes = 256

/**
 * Redacts any number of secrets from a string in one pass, with an Aho-Corasick automaton. Replacing the secrets one by
 * one would take time proportional to their number times the length of the string. Even a simple search for one secret
 * can take time proportional to the product of both lengths if a user chooses both strings.
 */
export class SecretFilter {
  readonly longest: number
  readonly #known: ReadonlySet<string>
  /**
   * The trie: character, first child and next sibling of each node. Node 0 is the root. As a child or sibling, 0 means
   * none.
   */
  readonly #code: Uint16Array
  readonly #child: Int32Array
  readonly #sibling: Int32Array
  /** For each node, the node of the longest proper suffix that is also in the trie. */
  readonly #fallback: Int32Array
  /** For each node, the length of the longest secret that ends there, or 0 if none does. */
  readonly #hit: Int32Array
  readonly #fromRoot = new Int32Array(rootCodes)
  #nodes = 1

  constructor(secrets: readonly string[]) {
    const long = secrets.filter((secret) => secret.length >= secretCharsMin)
    // Also redact the JSON-escaped form of each secret.
    this.#known = new Set(long.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))
    const known = [...this.#known]
    const room = known.reduce((sum, secret) => sum + secret.length, 1)
    this.longest = known.reduce((most, secret) => Math.max(most, secret.length), 0)
    this.#code = new Uint16Array(room)
    this.#child = new Int32Array(room)
    this.#sibling = new Int32Array(room)
    this.#fallback = new Int32Array(room)
    this.#hit = new Int32Array(room)
    for (const secret of known) this.#add(secret)
    this.#link()
  }

  /** Returns the first `charsMax` characters, with `…` in place of each secret, even if the cut splits it. */
  cleanText(text: string, charsMax = text.length): string {
    if (this.longest === 0) return text.slice(0, charsMax)
    const starts: number[] = []
    const ends: number[] = []
    const until = Math.min(text.length, charsMax + this.longest)
    for (let at = 0, node = 0; at < until; at++) {
      node = this.#step(node, text.charCodeAt(at))
      const chars = this.#hit[node]!
      if (chars === 0) continue
      let from = at + 1 - chars
      // Merge overlapping matches.
      while (ends.length > 0 && ends.at(-1)! > from) {
        from = Math.min(from, starts.pop()!)
        ends.pop()
      }
      starts.push(from)
      ends.push(at + 1)
    }
    let clean = ''
    let copied = 0
    for (const [n, from] of starts.entries()) {
      if (from >= charsMax) break
      clean += `${text.slice(copied, from)}…`
      copied = ends[n]!
    }
    return clean + text.slice(copied, Math.max(copied, charsMax))
  }

  /**
   * Redacts all secrets from the strings, numbers and keys of a JSON value. Callers must limit its nesting depth first.
   */
  clean<Value>(value: Value): Value {
    return (this.longest === 0 ? value : this.#clean(value)) as Value
  }

  #clean(part: unknown): unknown {
    if (typeof part === 'string') return this.cleanText(part)
    if (typeof part === 'number') return this.#known.has(String(part)) ? '…' : part
    if (Array.isArray(part)) return part.map((item) => this.#clean(item))
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(Object.entries(part).map(([key, item]) => [this.cleanText(key), this.#clean(item)]))
  }

  #add(secret: string): void {
    let node = 0
    for (let at = 0; at < secret.length; at++) {
      const code = secret.charCodeAt(at)
      let next = this.#childOf(node, code)
      if (next === 0) {
        next = this.#nodes++
        this.#code[next] = code
        this.#sibling[next] = this.#child[node]!
        this.#child[node] = next
        if (node === 0 && code < rootCodes) this.#fromRoot[code] = next
      }
      node = next
    }
    this.#hit[node] = secret.length
  }

  /** Sets the fallback of each node in breadth-first order, because a node's fallback is closer to the root. */
  #link(): void {
    const order = new Int32Array(this.#nodes)
    for (let from = 0, to = 1; from < to; from++) {
      const node = order[from]!
      for (let child = this.#child[node]!; child !== 0; child = this.#sibling[child]!) {
        const fallback = node === 0 ? 0 : this.#step(this.#fallback[node]!, this.#code[child]!)
        this.#fallback[child] = fallback
        if (this.#hit[child] === 0) this.#hit[child] = this.#hit[fallback]!
        order[to++] = child
      }
    }
  }

  #step(from: number, code: number): number {
    for (let node = from; ; node = this.#fallback[node]!) {
      const child = this.#childOf(node, code)
      if (child !== 0 || node === 0) return child
    }
  }

  /**
   * Returns a node's child for a character, or 0 if there is none. The search is short, because a node has at most as
   * many children as there are secrets.
   */
  #childOf(node: number, code: number): number {
    if (node === 0 && code < rootCodes) return this.#fromRoot[code]!
    let child = this.#child[node]!
    while (child !== 0 && this.#code[child] !== code) child = this.#sibling[child]!
    return child
  }
}

const filters = new WeakMap<readonly string[], SecretFilter>()

export function filterOf(secrets: readonly string[]): SecretFilter {
  let filter = filters.get(secrets)
  if (!filter) filters.set(secrets, (filter = new SecretFilter(secrets)))
  return filter
}
