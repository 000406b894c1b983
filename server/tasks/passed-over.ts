/** A place may become free unheard: on another node whose message is lost, or by limits that were raised. */
const lookMs = 1000
/** Of a look: each costs a claim that may be refused. */
const readmittedMax = 100

/**
 * Users whose turn is left out, as agents are at work on as many of their tasks as may be. One has a turn again when one of
 * those has ended, or after a while, to be looked at anew.
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
    // Those who have waited longest are the first of a set.
    for (const userId of [...this.#users].slice(0, readmittedMax)) this.#users.delete(userId)
    this.#plan()
    this.#onReadmitted()
  }
}
