type RunTimerOptions = {
  /** Time limit of the run, excluding time spent waiting for connectors. */
  ownMs: number
  /** Total time the run may wait for connectors. Waiting beyond that counts as the agent's own time. */
  waitingMs: number
  onTimeout: () => void
}

/**
 * The time limit of a run, paused while the run waits for its user's connectors. Without the pause, a user could read
 * the result in a connector, stall that connector until the timeout and get a refund.
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

  /** Deducts the time since the last change. */
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
