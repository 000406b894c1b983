const hourMs = 3_600_000
const hoursKept = 24
/** Maximum number of queue times kept per hour to compute the percentile. Newer values overwrite older ones. */
const waitsMax = 1000

type Hour = { startsAt: number; queued: number; waitsMs: number[]; taken: number; ended: number; failed: number }

export type HourLoad = Omit<Hour, 'waitsMs' | 'taken'> & { waitP95Ms: number | null }

/** Tracks the queue length, queue times and failures of this process over the last 24 hours, in memory. */
export class LastDay {
  readonly since = Date.now()
  readonly #hours: Hour[] = []

  taken(waitedMs: number): void {
    const hour = this.#current()
    hour.waitsMs[hour.taken++ % waitsMax] = waitedMs
  }

  ended({ isFailure }: { isFailure: boolean }): void {
    const hour = this.#current()
    hour.ended++
    if (isFailure) hour.failed++
  }

  /** Records how many tasks are now queued across all processes. */
  queued(count: number): void {
    const hour = this.#current()
    hour.queued = Math.max(hour.queued, count)
  }

  read(): HourLoad[] {
    const from = Date.now() - hoursKept * hourMs
    return this.#hours
      .filter(({ startsAt }) => startsAt > from)
      .map(({ taken: _, waitsMs, ...hour }) => {
        const sorted = waitsMs.toSorted((a, b) => a - b)
        return { ...hour, waitP95Ms: sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null }
      })
      .toReversed()
  }

  #current(): Hour {
    const startsAt = Math.floor(Date.now() / hourMs) * hourMs
    const last = this.#hours.at(-1)
    if (last?.startsAt === startsAt) return last
    const hour = { startsAt, queued: 0, waitsMs: [], taken: 0, ended: 0, failed: 0 }
    this.#hours.push(hour)
    if (this.#hours.length > hoursKept) this.#hours.shift()
    return hour
  }
}
