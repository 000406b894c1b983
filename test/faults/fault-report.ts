import { performance } from 'node:perf_hooks'
import { CannotRun, type TestPart } from '../support/test-parts.ts'

export type FaultOptions = {
  /** Number of repetitions, or of variants. */
  times: number
  /** Whether to use shorter waits and loads, for the tests. */
  isShort?: boolean
  /** Seed of the random choices, printed with failures. */
  seed?: number
  /** Results of an interrupted run. A fault that supports it continues from them. */
  earlier?: FaultReport
  /** Called occasionally with interim results. */
  onProgress?: (report: FaultReport) => void
}

export type FaultReport = {
  fault: string
  tries: number
  held: number
  failures: string[]
  seconds: number
  seed: number
  /** Completed parts, if the fault can resume a run. */
  parts?: number[]
  /** Totals that a resumed run increases. */
  figures?: Record<string, number>
  /** Measurements and findings other than failures. */
  notes: string[]
  /** Requirements that the product is known not to meet. */
  gaps: string[]
  /** Why the fault, or a part of it, cannot run here. */
  missing?: { part: TestPart; reason: string }
}

export type Fault = {
  /** The action and the expected result, for the table of faults. */
  what: string
  /** Repetitions in `npm test` (0: skipped), `npm run test:all` and `npm run faults`. */
  times: { small: number; short: number; long: number }
  run: (options: FaultOptions) => Promise<FaultReport>
}

const failureCharsMax = 2500

/** Counts tries and successes. A try that throws counts as a failure, and the run continues with the next one. */
export class Tally {
  tries = 0
  held = 0
  readonly failures: string[] = []
  readonly notes: string[] = []
  readonly gaps: string[] = []
  missing: { part: TestPart; reason: string } | undefined
  parts: number[] | undefined
  figures: Record<string, number> | undefined
  readonly random: Random
  onProgress: () => void = () => {}

  constructor(random: Random) {
    this.random = random
  }

  async attempt(name: string, work: () => Promise<void> | void): Promise<boolean> {
    this.tries++
    try {
      await work()
      this.held++
      this.onProgress()
      return true
    } catch (error) {
      if (error instanceof CannotRun) throw error
      const text = error instanceof Error ? error.message : String(error)
      this.failures.push(`${name}: ${text.slice(0, failureCharsMax)} (seed ${this.random.seed})`)
      this.onProgress()
      return false
    }
  }
}

/** Runs a fault and reports on it, including any error that it throws. */
export async function reportOn(
  fault: string,
  options: FaultOptions,
  work: (tally: Tally) => Promise<void>,
): Promise<FaultReport> {
  const startedAt = performance.now()
  const { earlier, onProgress, seed } = options
  const tally = new Tally(new Random(earlier?.seed ?? seed))
  const report = (): FaultReport => {
    const { failures, figures, gaps, held, missing, notes, parts, tries } = tally
    const seconds = (earlier?.parts ? earlier.seconds : 0) + (performance.now() - startedAt) / 1000
    const found = { fault, tries, held, failures, notes, gaps, seconds, seed: tally.random.seed }
    return { ...found, ...(parts && { parts }), ...(figures && { figures }), ...(missing && { missing }) }
  }
  tally.onProgress = () => onProgress?.(report())
  try {
    await work(tally)
  } catch (error) {
    if (error instanceof CannotRun) tally.missing = { part: error.part, reason: error.reason }
    else {
      tally.tries++
      tally.failures.push(
        `outside of a try: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      )
    }
  }
  return report()
}

/** Seeded random numbers (mulberry32). */
export class Random {
  readonly seed: number
  #state: number

  constructor(seed = Math.floor(Math.random() * 2 ** 32)) {
    this.seed = seed
    this.#state = seed
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** Returns an integer from 0 to `end` - 1. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }
}
