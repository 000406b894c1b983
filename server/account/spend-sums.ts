import { ownTurn } from '../kernel/own-turn.ts'
import type { SpendStep } from '../store/accounts/account-types.ts'
import type { Store } from '../store/store.ts'

/** Transactions per page. Reading a page takes a few milliseconds, and other requests can run between pages. */
const pageRows = 4000
/** Maximum number of cached steps across all users. They take up about 15 MB. */
const stepsMax = 100_000

/**
 * Sums of a user's transactions per step (a UTC day or hour), from `oldestSeq` to `newestSeq`. Steps before `fromStep`
 * may be incomplete.
 */
type CachedSums = { fromStep: number; oldestSeq: number; newestSeq: number; steps: Map<number, SpendStep> }

type Range = { afterSeq: number; beforeSeq: number; fromStep: number }

/**
 * Caches each account's spending per UTC day or hour. Transactions never change, so a later read only adds newer or
 * older ones.
 */
export class SpendSums {
  readonly #store: Store
  readonly #stepMs: number
  readonly #known = new Map<string, CachedSums>()
  #stepCount = 0
  readonly #reading = new Map<string, Promise<unknown>>()

  constructor(store: Store, stepMs: number) {
    this.#store = store
    this.#stepMs = stepMs
  }

  /** Returns the steps from `from` to `to`, both inclusive, oldest first. Steps without transactions contain zeros. */
  async read(userId: string, { from, to }: { from: number; to: number }): Promise<SpendStep[]> {
    // Serialize reads per user, so that no transaction is counted twice.
    const before = this.#reading.get(userId) ?? Promise.resolve()
    const reading = before.catch(() => {}).then(() => this.#update(userId, from))
    this.#reading.set(userId, reading)
    try {
      const known = await reading
      return Array.from({ length: to - from + 1 }, (_, n) => known.steps.get(from + n) ?? emptyStep(from + n))
    } finally {
      if (this.#reading.get(userId) === reading) this.#reading.delete(userId)
    }
  }

  async #update(userId: string, fromStep: number): Promise<CachedSums> {
    const before = this.#known.get(userId)
    const known: CachedSums = before
      ? { ...before, steps: new Map(before.steps) }
      : { fromStep, oldestSeq: Number.MAX_SAFE_INTEGER, newestSeq: 0, steps: new Map() }
    const firstStep = before ? -Infinity : fromStep
    const [afterSeq, beforeSeq] = [known.newestSeq, Number.MAX_SAFE_INTEGER]
    await this.#add(userId, known, { afterSeq, beforeSeq, fromStep: firstStep })
    if (fromStep < known.fromStep) {
      await this.#add(userId, known, { afterSeq: 0, beforeSeq: known.oldestSeq, fromStep })
      known.fromStep = fromStep
    }
    this.#drop(userId)
    this.#known.set(userId, known)
    this.#stepCount += countOf(known)
    for (const oldest of this.#known.keys()) {
      if (this.#stepCount <= stepsMax || oldest === userId) break
      this.#drop(oldest)
    }
    return known
  }

  #drop(userId: string): void {
    const known = this.#known.get(userId)
    if (!known) return
    this.#known.delete(userId)
    this.#stepCount -= countOf(known)
  }

  /** Adds the transactions between two others, newest first, down to the first page that reaches before `fromStep`. */
  async #add(userId: string, known: CachedSums, { afterSeq, beforeSeq, fromStep }: Range): Promise<void> {
    for (;;) {
      const page = await this.#store.readSpend({
        userId,
        afterSeq,
        beforeSeq,
        limit: pageRows,
        stepMs: this.#stepMs,
      })
      for (const step of page.steps) known.steps.set(step.step, sum(known.steps.get(step.step), step))
      known.newestSeq = Math.max(known.newestSeq, page.newestSeq ?? 0)
      known.oldestSeq = Math.min(known.oldestSeq, page.oldestSeq ?? known.oldestSeq)
      if (page.rows < pageRows || (page.oldestStep ?? 0) < fromStep) return
      beforeSeq = page.oldestSeq!
      await ownTurn(userId)
    }
  }
}

/** Counts one more than the steps, because an entry takes up memory even if it has no steps. */
function countOf({ steps }: CachedSums): number {
  return steps.size + 1
}

function sum(known: SpendStep | undefined, added: SpendStep): SpendStep {
  if (!known) return added
  return {
    step: added.step,
    charged: known.charged + added.charged,
    refunded: known.refunded + added.refunded,
    executions: known.executions + added.executions,
    failures: known.failures + added.failures,
  }
}

function emptyStep(step: number): SpendStep {
  return { step, charged: 0, refunded: 0, executions: 0, failures: 0 }
}
