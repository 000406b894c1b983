import { randomUUID } from 'node:crypto'

/** While a text is written, the stored ones that belong into it. */
let spliced: string[] | undefined
/** Where each of them goes. Nobody can guess it, so it stands nowhere else. */
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
 * What a stored JSON text stands for, to be written into an answer. `writeJson` copies the text, which our own
 * JSON.stringify made; anything else that writes JSON parses it first.
 */
export function storedObject(text: string): Record<string, unknown> {
  return new JsonText(text) as unknown as Record<string, unknown>
}

/** As JSON.stringify; of an answer that holds stored objects, those are half of the work. */
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
