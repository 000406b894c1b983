import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { isoTime, SystemClock } from '../../server/kernel/clock.ts'

// Fakes the machine's clocks: Date, which an operator can set, and performance, which measures elapsed time.
beforeEach(() => vi.useFakeTimers({ toFake: ['Date', 'performance'], now: start }))
afterEach(() => vi.useRealTimers())

const start = Date.UTC(2026, 0, 15, 12)
const hour = 3_600_000

/** Passes time and sets the system clock by `setBy`. */
function pass(ms: number, setBy = 0): void {
  vi.advanceTimersByTime(ms)
  vi.setSystemTime(Date.now() + setBy)
}

test('follows the wall clock forward, no matter how far it jumps', () => {
  const clock = new SystemClock()
  expect(clock.now()).toBe(start)
  pass(5)
  expect(clock.now()).toBe(start + 5)
  pass(0, 25 * hour)
  expect(clock.now()).toBe(start + 5 + 25 * hour)
})

test('after the wall clock is set back, runs at half speed until both meet', () => {
  const clock = new SystemClock()
  pass(1000)
  expect(clock.now()).toBe(start + 1000)
  pass(0, -500)
  expect(clock.now()).toBe(start + 1000)
  pass(400)
  expect(clock.now()).toBe(start + 1200)
  pass(600)
  expect(clock.now()).toBe(start + 1500)
  expect(Date.now()).toBe(start + 1500)
  pass(50)
  expect(clock.now()).toBe(start + 1550)
})

test('a clock at half speed does not drift from rounding, no matter how often it is read', () => {
  const clock = new SystemClock()
  clock.now()
  pass(0, -hour)
  for (let asked = 0; asked < 1000; asked++) {
    pass(1)
    clock.now()
  }
  expect(clock.now()).toBe(start + 500)
})

test('never runs backwards or behind the wall clock, and always converges with it again', () => {
  const moves = fc.array(fc.tuple(fc.nat({ max: hour }), fc.integer({ min: -25 * hour, max: 25 * hour })), {
    maxLength: 40,
  })
  fc.assert(
    fc.property(moves, (steps) => {
      const clock = new SystemClock()
      let last = clock.now()
      for (const [ms, setBy] of steps) {
        pass(ms, setBy)
        const now = clock.now()
        expect(now).toBeGreaterThanOrEqual(last)
        expect(now).toBeGreaterThanOrEqual(Date.now())
        expect(Number.isInteger(now)).toBe(true)
        last = now
      }
      pass(2 * (last - Date.now()))
      expect(clock.now()).toBe(Date.now())
    }),
  )
})

test('after a restart, starts no earlier than the latest stored time', () => {
  const clock = new SystemClock(start + 3000)
  expect(clock.now()).toBe(start + 3000)
  pass(1000)
  expect(clock.now()).toBe(start + 3500)
  pass(3000)
  expect(clock.now()).toBe(start + 4000)
})

test('follows a stored time at most 48 hours ahead', () => {
  expect(new SystemClock(start + 48 * hour).now()).toBe(start + 48 * hour)
  expect(new SystemClock(start + 48 * hour + 1).now()).toBe(start)
  expect(new SystemClock(start - hour).now()).toBe(start)
})

test('formats times in UTC with milliseconds, like Date', () => {
  expect(isoTime(start)).toBe('2026-01-15T12:00:00.000Z')
  expect(isoTime(start + 7)).toBe('2026-01-15T12:00:00.007Z')
  const near = fc.tuple(fc.date({ noInvalidDate: true }), fc.nat({ max: 120_000 }))
  fc.assert(
    fc.property(near, ([date, later]) => {
      for (const at of [date.getTime(), Math.min(date.getTime() + later, 8.64e15), date.getTime()]) {
        expect(isoTime(at)).toBe(new Date(at).toISOString())
      }
    }),
  )
})
