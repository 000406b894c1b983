import { execFileSync, type ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// Time bounds assume an idle machine. These functions measure how busy it is.

const nodeStartMs = 100
const samples = 3

/** Returns how many times longer than on an idle machine a process currently takes to start. */
export function machineSlowness(): number {
  const tookMs = Array.from({ length: samples }, () => {
    const startedAt = performance.now()
    execFileSync(process.execPath, ['-e', '0'])
    return performance.now() - startedAt
  })
  return Math.max(1, ...tookMs.map((ms) => ms / nodeStartMs))
}

/** Whether a duration is within its bound or, on a busy machine, within the bound scaled by the current load. */
export function isInTime(tookMs: number, msMax: number): boolean {
  return tookMs <= msMax || tookMs <= msMax * machineSlowness()
}

/**
 * Returns the longest time that a thread of the process was runnable but not running, or 0 if the system does not
 * report it.
 */
export function waitedForProcessor({ pid }: ChildProcess): number {
  const folder = `/proc/${pid}/task`
  try {
    const nanoseconds = readdirSync(folder).map((id) => {
      const file = join(folder, id, 'schedstat')
      return existsSync(file) ? Number(readFileSync(file, 'utf8').split(' ')[1]) : 0
    })
    return Math.max(0, ...nanoseconds) / 1e6
  } catch {
    // The process or a thread has just exited.
    return 0
  }
}
