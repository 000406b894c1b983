const smallMax = 64 * 1024
const leastSpace = 4096

/**
 * Copies the pieces of a body into one buffer. Kept as separate objects, ten million one-byte pieces would take a
 * gigabyte. The buffer of a body over 64 KB grows in place, because copying to ever larger buffers would leave just as
 * much garbage. `free` returns its memory immediately.
 */
export class BodyBytes {
  readonly #bytesMax: number
  #small: Buffer = noBytes
  #large: ArrayBuffer | undefined
  #length = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get length(): number {
    return this.#length
  }

  spaceWith(more: number): number {
    const needed = this.#length + more
    if (needed > smallMax) return Math.min(this.#bytesMax, Math.ceil(needed / smallMax) * smallMax)
    if (this.#length === 0) return more
    return needed <= this.#small.length ? this.#small.length : Math.min(smallMax, Math.max(2 * needed, leastSpace))
  }

  add(piece: Buffer): void {
    const space = this.spaceWith(piece.length)
    const start = this.#length
    this.#length += piece.length
    if (space > smallMax) {
      this.#growTo(space, start)
      this.whole().set(piece, start)
    } else if (start === 0) this.#small = piece
    else {
      if (space > this.#small.length) {
        const wider = Buffer.allocUnsafeSlow(space)
        this.#small.copy(wider, 0, 0, start)
        this.#small = wider
      }
      this.#small.set(piece, start)
    }
  }

  /** Returns the bytes, which are valid until `free` is called. */
  whole(): Buffer {
    return this.#large ? Buffer.from(this.#large, 0, this.#length) : this.#small.subarray(0, this.#length)
  }

  free(): void {
    this.#large?.resize(0)
    this.#small = noBytes
    this.#length = 0
  }

  #growTo(space: number, length: number): void {
    if (this.#large) return this.#large.resize(space)
    this.#large = new ArrayBuffer(space, { maxByteLength: this.#bytesMax })
    Buffer.from(this.#large).set(this.#small.subarray(0, length))
    this.#small = noBytes
  }
}

const noBytes = Buffer.alloc(0)
