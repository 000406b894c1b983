import { ErrandClientError } from '../client-error.ts'
import { isRecord, parseJson } from '../odd-answer.ts'

/** An event of a stream. Other fields depend on the type and are not validated. */
export type NdjsonEvent = { type: string; [field: string]: unknown }

const lineFeed = 0x0a
const defaultLineBytesMax = 64 * 1024 * 1024

/**
 * Decodes byte chunks, split anywhere, into events. Splits lines as bytes, because in UTF-8 a line feed byte is never
 * part of another character. Ignores blank lines.
 */
export class NdjsonDecoder {
  readonly #lineBytesMax: number
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true })
  /** Start of an incomplete line. The buffer doubles when it is full, so that even single-byte chunks are cheap. */
  #carried = new Uint8Array(0)
  #carriedLength = 0

  constructor(lineBytesMax = defaultLineBytesMax) {
    this.#lineBytesMax = lineBytesMax
  }

  /**
   * Yields the events that a chunk completes. Parses events on demand, so the events before an invalid line are yielded
   * before BAD_RESPONSE is thrown. Read this generator to its end before you push the next chunk.
   */
  *push(chunk: Uint8Array): Generator<NdjsonEvent, void, undefined> {
    let start = 0
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      const text = this.#decode(this.#endLine(chunk.subarray(start, end)))
      start = end + 1
      if (text === undefined || !isBlank(text)) yield toEvent(text)
    }
    this.#carry(chunk.subarray(start))
  }

  /**
   * Yields the event on a last line without a line feed, if its JSON is complete. The stream may have broken within
   * that line.
   */
  *end(): Generator<NdjsonEvent, void, undefined> {
    const text = this.#decode(this.#endLine(new Uint8Array(0)))
    if (text !== undefined && parseJson(text) !== undefined) yield toEvent(text)
  }

  #endLine(last: Uint8Array): Uint8Array {
    if (this.#carriedLength === 0) {
      this.#check(last.length)
      return last
    }
    this.#carry(last)
    const line = this.#carried.subarray(0, this.#carriedLength)
    this.#carriedLength = 0
    return line
  }

  #carry(piece: Uint8Array): void {
    const length = this.#carriedLength + piece.length
    this.#check(length)
    if (length > this.#carried.length) {
      const grown = new Uint8Array(Math.max(length, 2 * this.#carried.length))
      grown.set(this.#carried.subarray(0, this.#carriedLength))
      this.#carried = grown
    }
    this.#carried.set(piece, this.#carriedLength)
    this.#carriedLength = length
  }

  #check(length: number): void {
    if (length <= this.#lineBytesMax) return
    throw badStream(`a line of more than ${this.#lineBytesMax} bytes`)
  }

  #decode(line: Uint8Array): string | undefined {
    try {
      return this.#utf8.decode(line)
    } catch {
      return undefined
    }
  }
}

function isBlank(text: string): boolean {
  return /^[ \t\r]*$/.test(text)
}

function toEvent(text: string | undefined): NdjsonEvent {
  const value = text === undefined ? undefined : parseJson(text)
  if (isRecord(value) && typeof value['type'] === 'string') return value as NdjsonEvent
  // Do not quote the line, because it may contain anything and errors are often logged.
  throw badStream('a line that is not an event')
}

function badStream(what: string): ErrandClientError {
  return new ErrandClientError(
    'BAD_RESPONSE',
    `The stream contains ${what}, which the service does not send. Check baseUrl and any proxies.`,
  )
}
