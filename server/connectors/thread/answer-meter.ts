import { jsonNameBytesMax } from '../../kernel/json-values.ts'
import { ConnectorError } from '../connector-spec.ts'

/**
 * Maximum number of JSON values in one response. A parsed value takes up to a hundred bytes, and the MCP client takes
 * two microseconds to check it.
 */
export const valuesMax = 50_000
/**
 * Maximum number of lines in a complete event stream. The parser creates an error for each invalid line, which takes
 * seconds per megabyte of such lines.
 */
const linesMax = 50_000
const [lineFeed, carriageReturn, quote, backslash] = [10, 13, 34, 92]
const [comma, colon, openBrace, openBracket] = [44, 58, 123, 91]

/**
 * Measures a response as it arrives, either JSON or an event stream of JSON. Counts values by the structural characters
 * that precede them. Tracks how many bytes are buffered until the response or the current event is complete.
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

  /**
   * Measures a chunk and returns it. In an event stream, converts line endings to LF, because the parser rescans its
   * whole buffer for other line endings.
   */
  take(given: Buffer): Buffer {
    const chunk = this.#isEvents ? this.#withFeeds(given) : given
    // Use local variables, because accessing fields for each byte takes forty times as long.
    let { held, isEscaped, isInString, isLineEmpty, lines, textBytes, values } = this.#state
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!
      held++
      if (byte === lineFeed) {
        // A JSON string cannot span lines.
        isInString = false
        isEscaped = false
        // Reset the length of the last string. The next colon may follow an event field name, which is not a JSON name.
        textBytes = 0
        if (this.#isEvents && ++lines > linesMax) {
          throw new ConnectorError(
            `The connector answered with more than ${linesMax} lines of events. Request a smaller response.`,
          )
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
          throw new ConnectorError(
            `The connector answered with a property name of more than ${jsonNameBytesMax} bytes. Report this to its operator.`,
          )
        }
      } else if ((byte === comma || byte === openBrace || byte === openBracket) && ++values > valuesMax) {
        throw new ConnectorError(
          `The connector answered with more than ${valuesMax} values. Request a smaller response.`,
        )
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
