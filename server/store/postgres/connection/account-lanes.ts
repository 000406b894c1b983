import type { AccountOf } from '../../commands/command.ts'

const atOnceMax = 3
const knownMax = 50_000

type Lane = { running: number; waiting: (() => void)[] }

/**
 * Limits how many of an account's commands have a connection at the same time. The others wait in order of arrival.
 * More commands would only wait for the account's row lock, and one busy user could exhaust the pool. Three commands
 * are enough to keep the lock busy during a round trip.
 */
export class AccountLanes {
  readonly #lanes = new Map<string, Lane>()
  /** Owner of each task and turn that this process has seen. A command with an unknown id does not wait. */
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
    // Pass the slot directly to the next command, so that no other command can take it in between.
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
