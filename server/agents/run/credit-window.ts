/** Maximum characters of a reply's lines in flight to the client. */
const windowChars = 65_536

/** Credit-based flow control: an agent continues only as fast as its reply is read. */
export class CreditWindow {
  #underWay = 0
  #onRoom: (() => void) | undefined

  sent(chars: number): void {
    this.#underWay += chars
  }

  credit(chars: number): void {
    this.#underWay -= chars
    if (this.#underWay < windowChars) this.open()
  }

  /** Lets a waiting reply continue, even if the window is still full. */
  open(): void {
    this.#onRoom?.()
    this.#onRoom = undefined
  }

  get isFull(): boolean {
    return this.#underWay >= windowChars
  }

  room(): Promise<void> {
    return new Promise((resolve) => (this.#onRoom = resolve))
  }
}
