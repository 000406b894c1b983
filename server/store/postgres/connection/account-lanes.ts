import type { AccountOf } from '../../commands/command.ts'

const atOnceMax = 3
const knownMax = 50_000

type Lane = { running: number; waiting: (() => void)[] }

/**
 * Limits how many of an account's commands have a connection at the same time; the others wait, first in, first out.
 * More would only contend for the account's row lock, and one busy user would exhaust the pool. Three are enough to
 * keep the lock busy during a round trip.
 */
export class AccountLanes {
  readonly #lanes = new Map<string, Lane>()
  /** Owner of each task and turn seen by this process. Unknown ids skip the queue. */
  readonly #userOf = new Map<string, string>()

  noteOwner(id: string, userId: string): void {
    if (this.#userOf.size >= knownMax) this.#userOf.clear()
    this.#userOf.set(id, userId)
  }

  dropOwner(id: string): void {
    this.#userOf.delete(id)
  }

  async of<Value>(account: AccountOf, work: () => Promise<Value>): Promise<Value> {
    const userId = this.#userIdOf(account)
    if (userId === undefined) return await work()
    const lane = this.#lanes.get(userId) ?? { running: 0, waiting: [] }
    this.#lanes.set(userId, lane)
    // The ending command hands its slot over directly, so that the slot is never free in between.
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

  #userIdOf(account: AccountOf): string | undefined {
    if ('userId' in account) return account.userId
    return this.#userOf.get('taskId' in account ? account.taskId : account.turnId)
  }
}
