import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const ticksPerSecond = 100
const sampleMs = 1000

/**
 * Measures the share of CPU time that other processes used during a test run, so that a busy machine does not count as
 * a slow test. Includes CPU time taken by other virtual machines. Only Linux reports these times; elsewhere the share
 * is 0.
 */
export class ProcessorShare {
  readonly #mark: string
  readonly #since: { machineSeconds: number; at: number } | undefined
  /** CPU seconds of each process of the run, by process id and start time. */
  readonly #own = new Map<string, number>()
  readonly #known = new Map<string, boolean>()
  readonly #timer: NodeJS.Timeout

  /** `mark`: value of an environment variable that identifies the run's processes. */
  constructor(mark: string) {
    this.#mark = mark
    const machineSeconds = readMachine()
    this.#since = machineSeconds === undefined ? undefined : { machineSeconds, at: performance.now() }
    this.#timer = setInterval(() => this.#sample(), sampleMs).unref()
  }

  /** Returns the share of CPU time that other processes have used since the start, from 0 to 1. */
  ofOthers(): number {
    this.#sample()
    const machineSeconds = readMachine()
    if (!this.#since || machineSeconds === undefined) return 0
    const sampled = [...this.#own.values()].reduce((sum, seconds) => sum + seconds, 0)
    // A process that lived only between two samples is included in the times of the parent that waited for it.
    const own = Math.max(
      sampled + (this.#secondsOf(process.pid)?.alone ?? 0),
      this.#secondsOf(process.pid)?.withEnded ?? 0,
    )
    const capacity = ((performance.now() - this.#since.at) / 1000) * availableParallelism()
    return Math.min(1, Math.max(0, (machineSeconds - this.#since.machineSeconds - own) / capacity))
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #sample(): void {
    if (!this.#since) return
    for (const name of readdirSync('/proc')) {
      const pid = Number(name)
      if (!(pid > 0) || pid === process.pid) continue
      const found = this.#secondsOf(pid)
      if (!found) continue
      const key = `${pid} ${found.startedAt}`
      let isOwn = this.#known.get(key)
      if (isOwn === undefined) this.#known.set(key, (isOwn = this.#isMarked(pid)))
      if (isOwn) this.#own.set(key, found.alone)
    }
  }

  #isMarked(pid: number): boolean {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(this.#mark)
    } catch {
      return false
    }
  }

  /** Returns user plus system seconds without and with exited children, and the start time in ticks. */
  #secondsOf(pid: number): { alone: number; withEnded: number; startedAt: string } | undefined {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
      // Skips the process name, which may contain any characters.
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number) as [
        number,
        number,
        number,
        number,
      ]
      const alone = (user + system) / ticksPerSecond
      return { alone, withEnded: alone + (endedUser + endedSystem) / ticksPerSecond, startedAt: fields[19] ?? '' }
    } catch {
      return undefined
    }
  }
}

function readMachine(): number | undefined {
  try {
    const [user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
      .split('\n', 1)[0]!
      .split(/\s+/)
      .slice(1)
      .map(Number)
    return (user! + nice! + system! + irq! + softirq! + steal!) / ticksPerSecond
  } catch {
    return undefined
  }
}
