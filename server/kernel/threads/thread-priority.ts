import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/** A quarter of the processor beside a busy thread of normal priority. With 10, agents got only a tenth. */
const niceness = 5

/**
 * Gives this thread a lower priority than the serving thread, so that busy agents delay it less. Linux has priorities
 * per thread; on other systems the threads compete as equals.
 */
export function yieldToService(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, niceness)
  } catch {
    return
  }
}
