import { setImmediate } from 'node:timers/promises'

/** How long a computation may hold the thread before it lets other runs go on. */
const sliceMs = 8

export type Pace = {
  /** Whether the slice of time is used up; cheap enough for every pass of a loop. */
  isDue(): boolean
  /** Lets the thread's other work run, then throws the signal's reason if the run was stopped meanwhile. */
  rest(): Promise<void>
}

/** Paces a long computation: `if (pace.isDue()) await pace.rest()` at each step of its loops. */
export function paceWork(signal?: AbortSignal): Pace {
  let sinceMs = performance.now()
  return {
    isDue: () => performance.now() - sinceMs >= sliceMs,
    async rest() {
      await setImmediate()
      signal?.throwIfAborted()
      sinceMs = performance.now()
    },
  }
}
