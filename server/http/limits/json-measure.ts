import { jsonDepthMax } from '../../kernel/check-json.ts'
import { jsonNameBytesMax } from '../../kernel/json-values.ts'

/**
 * Limits the work of the JSON parser, which creates an object for each value. The first occurrence of a property name
 * takes about ten times as long as a value. Repeated names are cheap.
 */
const jsonValuesMax = 250_000
const jsonNamesMax = 50_000
/** Maximum nesting depth of a body, including typed RPC's envelopes. */
const jsonLevelsMax = jsonDepthMax + 10
/** Bytes to examine per event-loop tick. Examining them takes two to three milliseconds. */
const tickBytes = 1024 * 1024

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a]
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * Counts the approximate number of values, distinct names and levels in a JSON string, and detects names that are too
 * long. Inspects only commas, colons and brackets outside of strings. Stores distinct names only until their limit is
 * exceeded.
 */
export class JsonMeasure {
  readonly #bytes: Buffer
  /** Copy of the current piece. Reading single bytes from a buffer that can grow in place is ten times as slow. */
  readonly #copy: Buffer
  readonly #names = new Set<string>()
  #at = 0
  #values = 1
  #members = 0
  #level = 0
  #isInText = false
  #isEscaped = false
  /** Positions of the quotes around the last string. The start is -1 if that string was a name, or if there is none. */
  #textStart = -1
  #textEnd = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#copy = Buffer.allocUnsafeSlow(Math.min(tickBytes, bytes.length))
  }

  get isWhole(): boolean {
    return this.#at >= this.#bytes.length
  }

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
        // Malformed JSON may have more colons than values.
        if (++this.#members > jsonValuesMax) return tooMany(jsonValuesMax, 'values')
        if (this.#textStart < 0) return undefined
        if (this.#textEnd - this.#textStart - 1 > jsonNameBytesMax) return nameTooLong
        // Include the opening quote. Otherwise, V8 would hash a name of digits as a number, and clients can choose
        // numbers whose hashes collide.
        this.#names.add(this.#bytes.toString('latin1', this.#textStart, this.#textEnd))
        this.#textStart = -1
        return this.#names.size > jsonNamesMax ? tooMany(jsonNamesMax, 'different names') : undefined
      case comma:
        return ++this.#values > jsonValuesMax ? tooMany(jsonValuesMax, 'values') : undefined
      case openBrace:
      case openBracket:
        if (++this.#values > jsonValuesMax) return tooMany(jsonValuesMax, 'values')
        return ++this.#level > jsonLevelsMax
          ? `The request body has more than ${jsonDepthMax} levels of nesting. Send a flatter object.`
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

const nameTooLong = `The request body has a property name of more than ${jsonNameBytesMax} bytes. Send large data as a string value.`

function tooMany(most: number, what: string): string {
  return `The request body has more than ${most} ${what}. Send large data as a single string.`
}
