/** Maximum number of characters of a reply's event lines that may be in flight to the client. */
const windowChars = 65_536

/** Credit-based flow control. An agent continues only as fast as the client reads its reply. */
export class CreditWindow {
  #inFlight = 0
  #onRoom: (() => void) | undefined

  sent(chars: number): void {
    this.#inFlight += chars
  }

  credit(chars: number): void {
    this.#inFlight -= chars
    if (this.#inFlight < windowChars) this.open()
  }

  /** Lets a waiting agent continue, even if the window is still full. */
  open(): void {
    this.#onRoom?.()
    this.#onRoom = undefined
  }

  get isFull(): boolean {
    return this.#inFlight >= windowChars
  }

  room(): Promise<void> {
    return new Promise((resolve) => (this.#onRoom = resolve))
  }
}
