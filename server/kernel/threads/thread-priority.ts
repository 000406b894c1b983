import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/**
 * Nice value of agent threads. At 5, they get a quarter of a core when competing with a busy thread of normal priority.
 * At 10, they get only a tenth.
 */
const niceness = 5

/**
 * Gives this thread a lower priority than the main thread, so that busy agents delay requests less. Works only on
 * Linux, where each thread has its own priority.
 */
export function yieldToService(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, niceness)
  } catch {
    return
  }
}
