const partsMax = 64

type Next<Part> = IteratorResult<Part, undefined>
type Waiting<Part> = { resolve: (next: Next<Part>) => void; reject: (thrown: unknown) => void }

/**
 * Ordered queue of parts between several producers and one reader. An async generator would need several more promises
 * per part.
 */
export class PartQueue<Part> implements AsyncIterableIterator<Part, undefined> {
  readonly #onLeave: () => void
  #parts: Part[] = []
  #at = 0
  #isLeft = false
  #end: { thrown: unknown } | 'finished' | undefined
  #waiting: Waiting<Part> | undefined
  #onRoom: (() => void)[] = []

  /** `onLeave` is called if the reader stops before the end. */
  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  push(part: Part): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting) waiting.resolve({ done: false, value: part })
    else this.#parts.push(part)
  }

  /** Ends the queue. The reader still receives all queued parts, and then the error, if there is one. */
  end(failure?: { thrown: unknown }): void {
    this.#end ??= failure ?? 'finished'
    const waiting = this.#waiting
    this.#waiting = undefined
    if (!waiting) return
    if (this.#end === 'finished') waiting.resolve({ done: true, value: undefined })
    else waiting.reject(this.#end.thrown)
  }

  get isFull(): boolean {
    return !this.#isLeft && this.#parts.length - this.#at >= partsMax
  }

  room(): Promise<void> {
    return new Promise((resolve) => this.#onRoom.push(resolve))
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Next<Part>> {
    if (this.#at < this.#parts.length) return Promise.resolve({ done: false, value: this.#parts[this.#at++]! })
    this.#clear()
    if (this.#end === 'finished' || this.#isLeft) return Promise.resolve({ done: true, value: undefined })
    // oxlint-disable-next-line prefer-promise-reject-errors -- Rejects with exactly what was thrown.
    if (this.#end) return Promise.reject(this.#end.thrown)
    return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }))
  }

  /** Called when the reader stops early. Waiting producers continue, but nothing reads their parts. */
  return(): Promise<Next<Part>> {
    this.#isLeft = true
    this.#clear()
    this.#onLeave()
    return Promise.resolve({ done: true, value: undefined })
  }

  #clear(): void {
    if (this.#at > 0) this.#parts = []
    this.#at = 0
    for (const goOn of this.#onRoom.splice(0)) goOn()
  }
}
