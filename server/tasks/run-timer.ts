type RunTimerOptions = {
  /** Time limit of the run, not counting the time it waits for connectors. */
  ownMs: number
  /** How long the run may wait for connectors. Further waiting counts toward `ownMs`. */
  waitingMs: number
  onTimeout: () => void
}

/**
 * Time limit of a run. Pauses while the run waits for the user's connectors. Otherwise, a user could receive the result
 * in a connector, let that connector stall until the timeout, and get a refund.
 */
export class RunTimer {
  readonly #onTimeout: () => void
  #ownMs: number
  #waitingMs: number
  #isWaiting = false
  #connectorMs = 0
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
    this.#settle()
    this.#isClosed = true
  }

  /** How long the run has waited for connectors, up to the last change. */
  get connectorMs(): number {
    return this.#connectorMs
  }

  /** Subtracts the time since the last change from the remaining time. */
  #settle(): void {
    clearTimeout(this.#timer)
    const now = performance.now()
    const passedMs = now - this.#since
    this.#since = now
    if (this.#isWaiting) this.#connectorMs += passedMs
    const waitedMs = this.#isWaiting ? Math.min(passedMs, this.#waitingMs) : 0
    this.#waitingMs -= waitedMs
    this.#ownMs -= passedMs - waitedMs
  }

  #plan(): void {
    const leftMs = this.#ownMs + (this.#isWaiting ? this.#waitingMs : 0)
    this.#timer = setTimeout(this.#onTimeout, Math.max(0, leftMs))
  }
}
