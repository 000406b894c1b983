const partsMax = 64

/** Parts between those who make them and the one who reads them, in order. */
export class PartQueue<Part> {
  #parts: Part[] = []
  #at = 0
  #isLeft = false
  #end: { thrown: unknown } | 'finished' | undefined
  #wake: (() => void) | undefined
  #onRoom: (() => void) | undefined

  push(part: Part): void {
    this.#parts.push(part)
    this.#wake?.()
  }

  /** Nothing more comes; what is there is still read, and then the failure thrown, if there is one. */
  end(failure?: { thrown: unknown }): void {
    this.#end ??= failure ?? 'finished'
    this.#wake?.()
  }

  /** Whether whoever makes parts should wait for `room`. */
  get isFull(): boolean {
    return !this.#isLeft && this.#parts.length - this.#at >= partsMax
  }

  room(): Promise<void> {
    return new Promise((resolve) => (this.#onRoom = resolve))
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Part> {
    try {
      for (;;) {
        while (this.#at < this.#parts.length) yield this.#parts[this.#at++]!
        if (this.#end === 'finished') return
        if (this.#end) throw this.#end.thrown
        this.#clear()
        await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      // Nobody reads any more: whoever waits goes on, into nothing.
      this.#isLeft = true
      this.#clear()
    }
  }

  #clear(): void {
    this.#parts = []
    this.#at = 0
    this.#onRoom?.()
    this.#onRoom = undefined
  }
}
