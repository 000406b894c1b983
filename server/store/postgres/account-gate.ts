const atOnceMax = 3
const knownMax = 50_000

type Lane = { running: number; waiting: (() => void)[] }

/**
 * Lets few commands of one account at a time have a connection: they would only wait for each other's lock in the
 * database, and one busy user would hold every connection of the pool. Three keep the lock busy while an answer is on
 * its way. First come, first served.
 */
export class AccountGate {
  readonly #lanes = new Map<string, Lane>()
  /** Whose the tasks and chats are that this process has seen; one that it has not seen passes without a turn. */
  readonly #userOf = new Map<string, string>()

  know(id: string, userId: string): void {
    if (this.#userOf.size >= knownMax) this.#userOf.clear()
    this.#userOf.set(id, userId)
  }

  forget(id: string): void {
    this.#userOf.delete(id)
  }

  ofExecution<Value>(id: string, work: () => Promise<Value>): Promise<Value> {
    const userId = this.#userOf.get(id)
    return userId === undefined ? work() : this.of(userId, work)
  }

  async of<Value>(userId: string, work: () => Promise<Value>): Promise<Value> {
    const lane = this.#lanes.get(userId) ?? { running: 0, waiting: [] }
    this.#lanes.set(userId, lane)
    // Whoever leaves passes the place on, so it is taken already when the one that waited goes on.
    if (lane.running >= atOnceMax) await new Promise<void>((resolve) => lane.waiting.push(resolve))
    else lane.running++
    try {
      return await work()
    } finally {
      const next = lane.waiting.shift()
      if (next) next()
      else if (--lane.running === 0) this.#lanes.delete(userId)
    }
  }
}
