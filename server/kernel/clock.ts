import { badField } from './errors.ts'

export type EpochMs = number

/** The service's only source of time, which tests can freeze or move. */
export type Clock = {
  now(): EpochMs
}

/**
 * Wall clock that never runs backwards. If the system clock is set back, this clock continues at half speed until both
 * show the same time, so time windows still end and expiry times still pass.
 *
 * `notBefore`, the newest time in the store, extends the guarantee across restarts. It is ignored if it would delay all
 * expiry times for days, for example if the machine once booted in the wrong year.
 */
export class SystemClock implements Clock {
  static readonly aheadMsMax = 48 * 3_600_000
  #last: EpochMs
  #lastMonotonic = performance.now()

  constructor(notBefore: EpochMs = 0) {
    const wall = Date.now()
    this.#last = notBefore > wall && notBefore - wall <= SystemClock.aheadMsMax ? notBefore : wall
  }

  now(): EpochMs {
    const wall = Date.now()
    if (wall >= this.#last) {
      this.#last = wall
      this.#lastMonotonic = performance.now()
      return wall
    }
    const elapsed = Math.floor((performance.now() - this.#lastMonotonic) / 2)
    if (elapsed >= 1) {
      this.#last += elapsed
      this.#lastMonotonic += elapsed * 2
    }
    return this.#last
  }
}

export function isoTimeOrNull(at: EpochMs | null): string | null {
  return at === null ? null : isoTime(at)
}

const minuteMs = 60_000
let knownMinute = -1
let knownStart = ''
let knownAt = -1
let knownTime = ''

/**
 * Formats a time as ISO 8601 in UTC with milliseconds. Caches the part up to the minute, because the times in a
 * response often share it, and the last result, because a stream has many events per millisecond. Without the caches,
 * formatting took 3% of a read request's time.
 */
export function isoTime(at: EpochMs): string {
  if (at === knownAt) return knownTime
  const minute = Math.floor(at / minuteMs)
  if (minute !== knownMinute) {
    knownStart = new Date(minute * minuteMs).toISOString().slice(0, -7)
    knownMinute = minute
  }
  const ms = at - minute * minuteMs
  const seconds = Math.floor(ms / 1000)
  knownAt = at
  knownTime = `${knownStart}${seconds < 10 ? '0' : ''}${seconds}.${String(ms - seconds * 1000).padStart(3, '0')}Z`
  return knownTime
}

export function futureTime(at: EpochMs | null, clock: Clock): string | null {
  return at !== null && at > clock.now() ? isoTime(at) : null
}

const dayMs = 86_400_000
const daysMax = 1100

type Period = { from: string; to: string }

export function daysOf({ from, to }: Period): { fromDay: number; toDay: number } {
  const [fromDay, lastDay] = [from, to].map((text) => Math.floor(Date.parse(text) / dayMs)) as [number, number]
  if (lastDay < fromDay) throw badField('to', 'Must not be earlier than `from`')
  if (lastDay - fromDay >= daysMax) throw badField('from', `Must be at most ${daysMax - 1} days before \`to\``)
  return { fromDay, toDay: lastDay + 1 }
}

type GivenPeriod = { [Field in keyof Period]?: Period[Field] | undefined } & { days: number }

/**
 * Converts a period to day numbers. `toDay` is exclusive, and at most tomorrow. Without `from`, the period has `days`
 * days.
 */
export function periodDays({ days, from, to }: GivenPeriod, now: EpochMs): { fromDay: number; toDay: number } {
  const today = dateOf(Math.floor(now / dayMs))
  if (from !== undefined && from > today) throw badField('from', 'Must not be later than today (UTC)')
  const last = to === undefined || to > today ? today : to
  const { fromDay, toDay } = daysOf({ from: from ?? last, to: last })
  return { fromDay: from === undefined ? toDay - days : fromDay, toDay }
}

export function dateOf(dayNumber: number): string {
  return new Date(dayNumber * dayMs).toISOString().slice(0, 10)
}
