import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

const niceness = 10

/**
 * Gives this thread a lower priority than the serving thread, so that busy agents use only leftover processor time.
 * Linux has priorities per thread; on other systems the threads compete as equals.
 */
export function yieldToService(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, niceness)
  } catch {
    return
  }
}
