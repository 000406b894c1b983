import { jsonDepthMax } from '../../kernel/check-json.ts'
import { jsonNameBytesMax } from '../../kernel/json-values.ts'

/** Each value is an object to the parser. A name that it has not met takes it about ten times as long; again, it is cheap. */
const jsonValuesMax = 250_000
const jsonNamesMax = 50_000
/** What a body may be nested, and the envelopes of typed RPC around it. */
const jsonLevelsMax = jsonDepthMax + 10
/** What is looked at in one tick of the event loop, for two to three milliseconds. */
const tickBytes = 1024 * 1024

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a]
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * About how many values, different names and levels a JSON text has, by its commas, colons and brackets outside of
 * strings, and whether a name is too long. No text is kept more than once, and none after the first that is too many.
 */
export class JsonMeasure {
  readonly #bytes: Buffer
  /** A body grows in place, and bytes of such a buffer are read ten times as slowly as those of a copy. */
  readonly #copy: Buffer
  readonly #names = new Set<string>()
  #at = 0
  #values = 1
  #members = 0
  #level = 0
  #isInText = false
  #isEscaped = false
  /** Of the last text, with its first quote, when it was no name; -1 for none. */
  #textStart = -1
  #textEnd = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#copy = Buffer.allocUnsafeSlow(Math.min(tickBytes, bytes.length))
  }

  get isWhole(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** Looks at the next piece; returns what there is too much of, once there is. */
  go(): string | undefined {
    const copy = this.#copy
    const from = this.#at
    const length = this.#bytes.copy(copy, 0, from, from + copy.length)
    this.#at += length
    for (let n = 0; n < length; n++) {
      const byte = copy[n]!
      if (this.#isInText) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (byte === backslash) this.#isEscaped = true
        else if (byte === quote) {
          this.#isInText = false
          this.#textEnd = from + n
        }
        continue
      }
      const tooMuch = this.#outside(byte, from + n)
      if (tooMuch !== undefined) return tooMuch
    }
    return undefined
  }

  #outside(byte: number, at: number): string | undefined {
    switch (byte) {
      case quote:
        this.#isInText = true
        this.#textStart = at
        return undefined
      case colon:
        // What is no JSON may have more of them than values.
        if (++this.#members > jsonValuesMax) return tooMany(jsonValuesMax, 'values')
        if (this.#textStart < 0) return undefined
        if (this.#textEnd - this.#textStart - 1 > jsonNameBytesMax) return nameTooLong
        // With its quote, or a name of digits would be hashed as the number that it is, and numbers can be chosen to collide.
        this.#names.add(this.#bytes.toString('latin1', this.#textStart, this.#textEnd))
        this.#textStart = -1
        return this.#names.size > jsonNamesMax ? tooMany(jsonNamesMax, 'different names') : undefined
      case comma:
        return ++this.#values > jsonValuesMax ? tooMany(jsonValuesMax, 'values') : undefined
      case openBrace:
      case openBracket:
        if (++this.#values > jsonValuesMax) return tooMany(jsonValuesMax, 'values')
        return ++this.#level > jsonLevelsMax
          ? `The request body is nested deeper than ${jsonDepthMax} levels.`
          : undefined
      case closeBrace:
      case closeBracket:
        this.#level--
        return undefined
      default:
        return undefined
    }
  }
}

const nameTooLong = `The request body holds a name of more than ${jsonNameBytesMax} bytes; send large data as text.`

function tooMany(most: number, what: string): string {
  return `The request body holds more than ${most} ${what}; send large data as text.`
}
