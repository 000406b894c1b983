import { ConnectorError } from './connector-spec.ts'

/** A value takes up to a hundred bytes when it is parsed, however short it is written. */
const valuesMax = 250_000
const [lineFeed, carriageReturn, quote, backslash, comma, openBrace, openBracket] = [10, 13, 34, 92, 44, 123, 91]

/**
 * Reads an answer as it comes: JSON, or a stream of events with JSON in them. It counts the values by what stands before
 * them, and knows how much of the answer is held until it is complete, which of events is the one that has begun.
 */
export class AnswerMeter {
  readonly #isEvents: boolean
  #values = 1
  #isInString = false
  #isEscaped = false
  #isLineEmpty = true
  #isAfterReturn = false
  #held = 0

  constructor({ isEvents }: { isEvents: boolean }) {
    this.#isEvents = isEvents
  }

  get heldBytes(): number {
    return this.#held
  }

  /** The same bytes; of events with every end of a line as a line feed, as others are looked for again and again. */
  take(chunk: Buffer): Buffer {
    const hasReturns = this.#isEvents && (this.#isAfterReturn || chunk.includes(carriageReturn))
    const rewritten = hasReturns ? Buffer.allocUnsafe(chunk.length) : undefined
    let length = 0
    for (let at = 0; at < chunk.length; at++) {
      let byte = chunk[at]!
      if (rewritten) {
        const isSecondOfTwo = byte === lineFeed && this.#isAfterReturn
        this.#isAfterReturn = byte === carriageReturn
        if (isSecondOfTwo) continue
        if (byte === carriageReturn) byte = lineFeed
        rewritten[length++] = byte
      }
      this.#read(byte)
    }
    return rewritten ? rewritten.subarray(0, length) : chunk
  }

  #read(byte: number): void {
    this.#held++
    if (byte === lineFeed) {
      // No string of JSON goes beyond its line.
      this.#isInString = false
      this.#isEscaped = false
      if (this.#isEvents && this.#isLineEmpty) {
        this.#held = 0
        this.#values = 1
      }
      this.#isLineEmpty = true
      return
    }
    this.#isLineEmpty = false
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === backslash) this.#isEscaped = true
      else if (byte === quote) this.#isInString = false
    } else if (byte === quote) this.#isInString = true
    else if ((byte === comma || byte === openBrace || byte === openBracket) && ++this.#values > valuesMax) {
      throw new ConnectorError(`The connector answered with more than ${valuesMax} values.`)
    }
  }
}

/** Whether a line of JSON has more values than an answer may. */
export function hasTooManyValues(line: string): boolean {
  if (line.length <= valuesMax) return false
  let values = 1
  let isInString = false
  for (let at = 0; at < line.length; at++) {
    const code = line.charCodeAt(at)
    if (isInString) {
      if (code === backslash) at++
      else if (code === quote) isInString = false
    } else if (code === quote) isInString = true
    else if (code === comma || code === openBrace || code === openBracket) values++
  }
  return values > valuesMax
}
