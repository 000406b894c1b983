import { performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Max load of an idle thread, as a share of the time since the last check. */
const idleLoadMax = 0.25
const grownBytesMin = 32 * 2 ** 20
const grownShareMin = 0.25

/**
 * Collects this thread's garbage after a burst, once the thread is mostly idle. V8 collects only when memory is
 * allocated, so an idle thread would keep the garbage of its last burst. A collection blocks the thread for about 0.7
 * ms per MB in use.
 */
export function collectWhenIdle(lookMs = 5000): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  let keptBytes = bytesInUse()
  let last = performance.eventLoopUtilization()
  setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    const usedBytes = bytesInUse()
    // V8 may have collected garbage in the meantime.
    keptBytes = Math.min(keptBytes, usedBytes)
    const hasGrown = usedBytes - keptBytes >= Math.max(grownBytesMin, keptBytes * grownShareMin)
    if (utilization > idleLoadMax || !hasGrown) return
    collect()
    keptBytes = bytesInUse()
  }, lookMs).unref()
}

function bytesInUse(): number {
  const { external_memory, used_heap_size } = getHeapStatistics()
  return external_memory + used_heap_size
}
