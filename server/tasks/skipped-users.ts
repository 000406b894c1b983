/**
 * Poll interval. Polling is necessary because a slot can become free without a signal, for example if a message is lost
 * or a limit is raised.
 */
const pollMs = 1000
/**
 * Maximum number of users to readmit per poll. For each of them, the runner tries to claim a task, which the store may
 * reject.
 */
const readmittedMax = 100

/**
 * Users that the scheduler skips because they have reached their limit of running tasks. A user is readmitted when one
 * of these tasks ends, or by the poll.
 */
export class SkippedUsers {
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
    setTimeout(() => this.#look(), pollMs).unref()
  }

  #look(): void {
    this.#isLooking = false
    // A Set iterates in insertion order, so these users have waited longest.
    for (const userId of [...this.#users].slice(0, readmittedMax)) this.#users.delete(userId)
    this.#plan()
    this.#onReadmitted()
  }
}
