import type { Clock } from '../../server/kernel/clock.ts'

export class FakeClock implements Clock {
  #now: number

  constructor(now = Date.UTC(2026, 0, 15, 12)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  advance(ms: number): void {
    this.#now += ms
  }
}
