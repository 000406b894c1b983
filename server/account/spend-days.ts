import type { SpendDay } from '../store/accounts/account-types.ts'
import type { EpochMs } from '../kernel/clock.ts'
import type { Store } from '../store/store.ts'

const dayMs = 86_400_000
/** Reading this many rows takes a few milliseconds. Other requests run between pages. */
const pageRows = 4000
const usersMax = 1000

/** Daily sums of a user's transactions, from the day `fromDay` up to and including the transaction `newestSeq`. */
type CachedDays = { fromDay: number; newestSeq: number; days: Map<number, SpendDay> }

/** Daily spending of an account. Transactions never change, so sums stay valid: a later read adds only newer transactions. */
export class SpendDays {
  readonly #store: Store
  readonly #known = new Map<string, CachedDays>()
  readonly #reading = new Map<string, Promise<unknown>>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Returns the last `days` UTC days up to the day of `now`, oldest first. A day without transactions has zeros. */
  async read(userId: string, { days, now }: { days: number; now: EpochMs }): Promise<SpendDay[]> {
    // Reads of one user run one after another, so that each adds only transactions that the previous one did not see.
    const before = this.#reading.get(userId) ?? Promise.resolve()
    const reading = before.catch(() => {}).then(() => this.#update(userId, Math.floor(now / dayMs) - days + 1))
    this.#reading.set(userId, reading)
    try {
      const known = await reading
      const today = Math.floor(now / dayMs)
      return Array.from({ length: days }, (_, index) => {
        const day = today - days + 1 + index
        return known.days.get(day) ?? emptyDay(day)
      })
    } finally {
      if (this.#reading.get(userId) === reading) this.#reading.delete(userId)
    }
  }

  async #update(userId: string, fromDay: number): Promise<CachedDays> {
    const earlier = this.#known.get(userId)
    // If a request starts on an earlier day than the cached sums, all of its days are summed again.
    const base = earlier && earlier.fromDay <= fromDay ? earlier : { fromDay, newestSeq: 0, days: new Map() }
    const added = await this.#readSince(userId, base)
    const known: CachedDays = { fromDay: base.fromDay, newestSeq: added.newestSeq, days: new Map(base.days) }
    for (const day of added.days) known.days.set(day.day, sum(known.days.get(day.day), day))
    for (const day of known.days.keys()) if (day < known.fromDay) known.days.delete(day)
    this.#known.delete(userId)
    this.#known.set(userId, known)
    if (this.#known.size > usersMax) this.#known.delete(this.#known.keys().next().value!)
    return known
  }

  async #readSince(userId: string, { fromDay, newestSeq: afterSeq }: Omit<CachedDays, 'days'>) {
    const days: SpendDay[] = []
    let newestSeq = afterSeq
    let beforeSeq = Number.MAX_SAFE_INTEGER
    for (;;) {
      const page = await this.#store.readSpend({ userId, afterSeq, beforeSeq, limit: pageRows })
      days.push(...page.days)
      newestSeq = Math.max(newestSeq, page.newestSeq ?? 0)
      if (page.rows < pageRows || (page.oldestDay ?? 0) < fromDay) return { days, newestSeq }
      beforeSeq = page.oldestSeq!
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

function sum(known: SpendDay | undefined, added: SpendDay): SpendDay {
  if (!known) return added
  return {
    day: added.day,
    charged: known.charged + added.charged,
    refunded: known.refunded + added.refunded,
    executions: known.executions + added.executions,
    failures: known.failures + added.failures,
  }
}

function emptyDay(day: number): SpendDay {
  return { day, charged: 0, refunded: 0, executions: 0, failures: 0 }
}
