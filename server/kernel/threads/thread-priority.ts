import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/**
 * Nice value of agents' threads. It gives them a quarter of a core beside a busy thread of normal priority; with 10,
 * they got only a tenth.
 */
const niceness = 5

/**
 * Gives this thread a lower priority than the serving thread, so that busy agents delay requests less. Linux has
 * priorities per thread; on other systems the threads compete as equals.
 */
export function yieldToService(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, niceness)
  } catch {
    return
  }
}
