import { jsonNameBytesMax } from '../../kernel/json-values.ts'
import { ConnectorError } from '../connector-spec.ts'

/** A value takes up to a hundred bytes when it is parsed, and the protocol's client two microseconds to check. */
export const valuesMax = 50_000
/** Of a stream of events, over all of it. A line that is no field costs its parser an error: seconds for a megabyte. */
const linesMax = 50_000
const [lineFeed, carriageReturn, quote, backslash] = [10, 13, 34, 92]
const [comma, colon, openBrace, openBracket] = [44, 58, 123, 91]

/**
 * Reads an answer as it comes: JSON, or a stream of events with JSON in them. It counts the values by what stands before
 * them, and knows how much of the answer is held until it is complete, which of events is the one that has begun.
 */
export class AnswerMeter {
  readonly #isEvents: boolean
  #state = { held: 0, isEscaped: false, isInString: false, isLineEmpty: true, values: 1, lines: 0, textBytes: 0 }
  #isAfterReturn = false

  constructor({ isEvents }: { isEvents: boolean }) {
    this.#isEvents = isEvents
  }

  get heldBytes(): number {
    return this.#state.held
  }

  /** The same bytes; of events with every end of a line as a line feed, as others are looked for again and again. */
  take(given: Buffer): Buffer {
    const chunk = this.#isEvents ? this.#withFeeds(given) : given
    // In variables, as fields for each byte take forty times as long.
    let { held, isEscaped, isInString, isLineEmpty, lines, textBytes, values } = this.#state
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!
      held++
      if (byte === lineFeed) {
        // No string of JSON goes beyond its line.
        isInString = false
        isEscaped = false
        // The colon of a field of events stands behind no name.
        textBytes = 0
        if (this.#isEvents && ++lines > linesMax) {
          throw new ConnectorError(`The connector answered with more than ${linesMax} lines of events.`)
        }
        if (this.#isEvents && isLineEmpty) {
          held = 0
          values = 1
        }
        isLineEmpty = true
        continue
      }
      isLineEmpty = false
      if (isInString) {
        textBytes++
        if (isEscaped) isEscaped = false
        else if (byte === backslash) isEscaped = true
        else if (byte === quote) isInString = false
      } else if (byte === quote) {
        isInString = true
        textBytes = 0
      } else if (byte === colon) {
        if (textBytes - 1 > jsonNameBytesMax) {
          throw new ConnectorError(`The connector answered with a name of more than ${jsonNameBytesMax} bytes.`)
        }
      } else if ((byte === comma || byte === openBrace || byte === openBracket) && ++values > valuesMax) {
        throw new ConnectorError(`The connector answered with more than ${valuesMax} values.`)
      }
    }
    this.#state = { held, isEscaped, isInString, isLineEmpty, lines, textBytes, values }
    return chunk
  }

  #withFeeds(chunk: Buffer): Buffer {
    let isAfterReturn = this.#isAfterReturn
    if (!isAfterReturn && !chunk.includes(carriageReturn)) return chunk
    const rewritten = Buffer.allocUnsafe(chunk.length)
    let length = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!
      const isSecondOfTwo = byte === lineFeed && isAfterReturn
      isAfterReturn = byte === carriageReturn
      if (!isSecondOfTwo) rewritten[length++] = isAfterReturn ? lineFeed : byte
    }
    this.#isAfterReturn = isAfterReturn
    return rewritten.subarray(0, length)
  }
}
