import { randomUUID } from 'node:crypto'

/** Stored JSON strings that the current `writeJson` call inserts into its result. */
let spliced: string[] | undefined
/** Placeholder for every stored string. It is random, so it occurs nowhere else in a response. */
const place = randomUUID()
const placeJson = JSON.stringify(place)

class JsonText {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toJSON(): unknown {
    if (!spliced) return JSON.parse(this.#text)
    spliced.push(this.#text)
    return place
  }
}

/**
 * Returns an object that represents a stored JSON string in a response. `writeJson` copies the string unchanged, and
 * any other serializer gets the parsed value. The string must come from our own JSON.stringify.
 */
export function storedObject(text: string): Record<string, unknown> {
  return new JsonText(text) as unknown as Record<string, unknown>
}

/**
 * Like JSON.stringify, but copies the strings of stored objects. Parsing and serializing them again would double the
 * cost of the response.
 */
export function writeJson(value: unknown): string {
  const texts: string[] = (spliced = [])
  let json: string
  try {
    json = JSON.stringify(value)
  } finally {
    spliced = undefined
  }
  let whole = ''
  let from = 0
  for (const text of texts) {
    const at = json.indexOf(placeJson, from)
    whole += json.slice(from, at) + text
    from = at + placeJson.length
  }
  return whole + json.slice(from)
}

const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d]

/** Returns the maximum nesting depth of a JSON string. */
export function nesting(json: string): number {
  let depth = 0
  let deepest = 0
  let isInString = false
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at)
    if (isInString) {
      if (char === backslash) at++
      else if (char === quote) isInString = false
    } else if (char === quote) isInString = true
    else if (char === openBrace || char === openBracket) deepest = Math.max(deepest, ++depth)
    else if (char === closeBrace || char === closeBracket) depth--
  }
  return deepest
}
