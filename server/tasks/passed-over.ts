/** Poll interval: a slot can free up without a signal (lost message, raised limit). */
const lookMs = 1000
/** Max users readmitted per poll. For each of them the runner claims a task, and the store may reject the claim. */
const readmittedMax = 100

/**
 * Users skipped in the round-robin because they have reached their limit of running tasks. A user is readmitted when
 * one of these tasks ends, or by the poll after a while.
 */
export class PassedOver {
  readonly #users = new Set<string>()
  readonly #onReadmitted: () => void
  #isLooking = false

  constructor(onReadmitted: () => void) {
    this.#onReadmitted = onReadmitted
  }

  get users(): ReadonlySet<string> {
    return this.#users
  }

  add(userId: string): void {
    this.#users.add(userId)
    this.#plan()
  }

  readmit(userId: string): void {
    this.#users.delete(userId)
  }

  #plan(): void {
    if (this.#isLooking || this.#users.size === 0) return
    this.#isLooking = true
    setTimeout(() => this.#look(), lookMs).unref()
  }

  #look(): void {
    this.#isLooking = false
    // A Set iterates in insertion order, so these users have waited longest.
    for (const userId of [...this.#users].slice(0, readmittedMax)) this.#users.delete(userId)
    this.#plan()
    this.#onReadmitted()
  }
}
