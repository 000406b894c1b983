type RunTimerOptions = {
  /** How long the run may take, apart from what it waits for connectors. */
  ownMs: number
  /** How long it may wait for connectors in all. From then on waiting counts like the agent's own time. */
  waitingMs: number
  onTimeout: () => void
}

/**
 * The time limit of a run. It stands still while the run waits for its user's connectors, who could otherwise make any run
 * time out, and have it refunded, once they have read its answer.
 */
export class RunTimer {
  readonly #onTimeout: () => void
  #ownMs: number
  #waitingMs: number
  #isWaiting = false
  #since = performance.now()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor({ onTimeout, ownMs, waitingMs }: RunTimerOptions) {
    this.#onTimeout = onTimeout
    this.#ownMs = ownMs
    this.#waitingMs = waitingMs
    this.#plan()
  }

  setWaiting(isWaiting: boolean): void {
    if (this.#isClosed) return
    this.#settle()
    this.#isWaiting = isWaiting
    this.#plan()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#isClosed = true
  }

  /** Takes the time since the last change from what is left. */
  #settle(): void {
    clearTimeout(this.#timer)
    const now = performance.now()
    const passedMs = now - this.#since
    this.#since = now
    const waitedMs = this.#isWaiting ? Math.min(passedMs, this.#waitingMs) : 0
    this.#waitingMs -= waitedMs
    this.#ownMs -= passedMs - waitedMs
  }

  #plan(): void {
    const leftMs = this.#ownMs + (this.#isWaiting ? this.#waitingMs : 0)
    this.#timer = setTimeout(this.#onTimeout, Math.max(0, leftMs))
  }
}
