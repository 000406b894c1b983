type ProgressRoundsParts = {
  /** The functions that wake the followers of a task. */
  wakesOf: (taskId: string) => Iterable<() => void>
}

/** Minimum time between two rounds. */
const paceMs = 100
/** Each follower that wakes writes to its connection, so only this many wake in one event-loop tick. */
export const wakesAtOnce = 50
const sliceMs = 10

/**
 * Tells followers that a task has new progress, in rounds. A report only marks its task, so it costs the same for any number
 * of followers. A round wakes each follower at most once.
 */
export class ProgressRounds {
  readonly #parts: ProgressRoundsParts
  readonly #changed = new Set<string>()
  #isPlanned = false

  constructor(parts: ProgressRoundsParts) {
    this.#parts = parts
  }

  note(taskId: string): void {
    this.#changed.add(taskId)
    this.#plan(0)
  }

  #plan(inMs: number): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    setTimeout(() => void this.#run(), inMs).unref()
  }

  async #run(): Promise<void> {
    const taskIds = [...this.#changed]
    this.#changed.clear()
    let woken = 0
    for (const taskId of taskIds) {
      for (const wake of this.#parts.wakesOf(taskId)) {
        wake()
        if (++woken % wakesAtOnce === 0) await new Promise((resolve) => setTimeout(resolve, sliceMs).unref())
      }
    }
    this.#isPlanned = false
    // An empty round ends the pace, so that the next report is told immediately.
    if (woken > 0) this.#plan(paceMs)
  }
}
