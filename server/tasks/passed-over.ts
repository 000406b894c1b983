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
  #timer: NodeJS.Timeout | undefined

  constructor(onReadmitted: () => void) {
    this.#onReadmitted = onReadmitted
  }

  get users(): ReadonlySet<string> {
    return this.#users
  }

  add(userId: string): void {
    this.#users.add(userId)
    this.#timer ??= setTimeout(() => this.#look(), lookMs).unref()
  }

  readmit(userId: string): void {
    this.#users.delete(userId)
  }

  #look(): void {
    // Those who have waited longest are the first of a set.
    for (const userId of [...this.#users].slice(0, readmittedMax)) this.#users.delete(userId)
    this.#timer = this.#users.size === 0 ? undefined : setTimeout(() => this.#look(), lookMs).unref()
    this.#onReadmitted()
  }
}
