import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type { EndedRun } from '../store/books/run-reads.ts'
import type { Store } from '../store/store.ts'

/** Times and tags are computed from at most this many tasks. Reading them takes about 20 ms. */
export const runsMax = 2000
const runsPerRead = 500

/**
 * Reads the newest ended tasks that were created before `until`. Reads in chunks, so that other requests can run in
 * between.
 */
export async function readNewestRuns(
  { books }: Pick<Store, 'books'>,
  { until, ...of }: { userId: string; since: EpochMs; until: EpochMs },
): Promise<EndedRun[]> {
  const runs: EndedRun[] = []
  while (runs.length < runsMax) {
    if (runs.length > 0) await new Promise((resolve) => setImmediate(resolve))
    const before = runs.at(-1) ?? { createdAt: until, seq: 0 }
    const page = await books.readRuns({ ...of, before, limit: runsPerRead })
    runs.push(...page)
    if (page.length < runsPerRead) break
  }
  return runs
}

export type Times = Record<'runP50Ms' | 'runP95Ms' | 'waitP50Ms' | 'waitP95Ms', number | null>

export function timesOf(runs: readonly EndedRun[]): Times {
  const started = runs.flatMap((run) => (run.startedAt === null ? [] : [{ ...run, startedAt: run.startedAt }]))
  const ran = started.map(({ completedAt, startedAt }) => completedAt - startedAt).toSorted((a, b) => a - b)
  const waited = started.map(({ createdAt, startedAt }) => startedAt - createdAt).toSorted((a, b) => a - b)
  const at = (sorted: readonly number[], share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? null
  return { runP50Ms: at(ran, 0.5), runP95Ms: at(ran, 0.95), waitP50Ms: at(waited, 0.5), waitP95Ms: at(waited, 0.95) }
}

export type TagSums = { charged: Units; refunded: Units; executions: number; failures: number }

export function sumRuns(runs: readonly EndedRun[]): TagSums {
  const sum = (amount: (run: EndedRun) => number) => runs.reduce((total, run) => total + amount(run), 0)
  return {
    charged: sum(({ cost }) => cost),
    refunded: sum(({ cost, errorCode }) => (errorCode === null ? 0 : cost)),
    executions: runs.length,
    failures: sum(({ errorCode }) => (errorCode === null || ['CANCELED', 'EXPIRED'].includes(errorCode) ? 0 : 1)),
  }
}
