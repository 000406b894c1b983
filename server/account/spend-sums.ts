import type { SpendStep } from '../store/accounts/account-types.ts'
import type { Store } from '../store/store.ts'

/** Transactions per page. Reading a page takes a few milliseconds, and other requests can run between pages. */
const pageRows = 4000
/** Maximum number of cached steps across all users. They take up about 15 MB. */
const stepsMax = 100_000

/**
 * Sums of a user's transactions per step (a UTC day or hour), from `fromStep` up to and including the transaction
 * `newestSeq`.
 */
type CachedSums = { fromStep: number; newestSeq: number; steps: Map<number, SpendStep> }

/**
 * Caches each account's spending per UTC day or hour. Transactions never change, so a later read only adds the newer
 * ones.
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
    const earlier = this.#known.get(userId)
    // If the requested steps start before the cached sums, compute all sums again.
    const base = earlier && earlier.fromStep <= fromStep ? earlier : { fromStep, newestSeq: 0, steps: new Map() }
    const added = await this.#readSince(userId, base)
    const known: CachedSums = { fromStep: base.fromStep, newestSeq: added.newestSeq, steps: new Map(base.steps) }
    for (const step of added.steps) known.steps.set(step.step, sum(known.steps.get(step.step), step))
    for (const step of known.steps.keys()) if (step < known.fromStep) known.steps.delete(step)
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

  async #readSince(userId: string, { fromStep, newestSeq: afterSeq }: Omit<CachedSums, 'steps'>) {
    const steps: SpendStep[] = []
    let newestSeq = afterSeq
    let beforeSeq = Number.MAX_SAFE_INTEGER
    for (;;) {
      const page = await this.#store.readSpend({
        userId,
        afterSeq,
        beforeSeq,
        limit: pageRows,
        stepMs: this.#stepMs,
      })
      steps.push(...page.steps)
      newestSeq = Math.max(newestSeq, page.newestSeq ?? 0)
      if (page.rows < pageRows || (page.oldestStep ?? 0) < fromStep) return { steps, newestSeq }
      beforeSeq = page.oldestSeq!
      await new Promise((resolve) => setImmediate(resolve))
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
