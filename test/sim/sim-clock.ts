import { SystemClock, type Clock } from '../../server/kernel/clock.ts'

/**
 * Simulated machine clocks: wall time, which may be set back, and monotonic time. The service reads them through its
 * real SystemClock, which must never run backwards.
 */
export class MachineTime {
  wall: number
  monotonic: number

  constructor(wall: number, monotonic = 0) {
    this.wall = wall
    this.monotonic = monotonic
  }

  pass(ms: number): void {
    this.wall += ms
    this.monotonic += ms
  }

  set(ms: number): void {
    this.wall += ms
  }

  systemClock(notBefore: number): Clock {
    const clock = this.#within(() => new SystemClock(notBefore))
    return { now: () => this.#within(() => clock.now()) }
  }

  /** Runs synchronous code under these clocks. */
  #within<Result>(work: () => Result): Result {
    const dateNow = Date.now
    Date.now = () => this.wall
    performance.now = () => this.monotonic
    try {
      return work()
    } finally {
      Date.now = dateNow
      // Removing the own property makes the prototype's method visible again.
      delete (performance as { now?: () => number }).now
    }
  }
}
