const newline = 0x0a
const spareBytes = 64 * 1024

/**
 * Splits chunks into lines. Works on bytes, because a character may span two chunks. The buffer for an incomplete line
 * doubles in size, so even a line that arrives in many tiny chunks is copied only a few times.
 */
export class LineSplitter {
  readonly #lineBytesMax: number
  #begun = Buffer.allocUnsafe(spareBytes)
  #begunBytes = 0
  isTooLong = false

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax
  }

  get begunBytes(): number {
    return this.#begunBytes
  }

  /**
   * Yields the lines that the chunk completes. Use each line before requesting the next, because its buffer is reused.
   * Stops at a line that is too long.
   */
  *split(chunk: Buffer): Generator<Buffer> {
    let from = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      const piece = chunk.subarray(from, end)
      from = end + 1
      if (!this.#fits(piece)) return
      yield this.#take(piece)
    }
    const rest = chunk.subarray(from)
    if (this.#fits(rest)) this.#keep(rest)
  }

  #fits(piece: Buffer): boolean {
    this.isTooLong ||= this.#begunBytes + piece.length > this.#lineBytesMax
    return !this.isTooLong
  }

  get rest(): Buffer {
    return this.#begun.subarray(0, this.#begunBytes)
  }

  #take(piece: Buffer): Buffer {
    if (this.#begunBytes === 0) return piece
    this.#keep(piece)
    const line = this.rest
    this.#begunBytes = 0
    if (this.#begun.length > spareBytes) this.#begun = Buffer.allocUnsafe(spareBytes)
    return line
  }

  #keep(piece: Buffer): void {
    const needed = this.#begunBytes + piece.length
    if (needed > this.#begun.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#begun.length * 2))
      this.#begun.copy(larger, 0, 0, this.#begunBytes)
      this.#begun = larger
    }
    this.#begunBytes += piece.copy(this.#begun, this.#begunBytes)
  }
}
