type ProgressRoundsParts = {
  wakesOf: (taskId: string) => Iterable<() => void>
}

const paceMs = 100
/** Maximum number of followers to notify per event-loop tick, because each one writes to its connection. */
export const wakesAtOnce = 50
const sliceMs = 10

/**
 * Notifies followers of new progress in rounds. A progress report only marks its task, so its cost does not depend on
 * the number of followers. A round notifies each follower at most once.
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
    // If nothing was sent, do not wait: the next report can be sent immediately.
    if (woken > 0) this.#plan(paceMs)
  }
}
