import type { EpochMs } from '../../kernel/clock.ts'
import type { LimitReset } from './execution-limits.ts'

// Periods of spending limits: complete days, weeks from Monday and months, in UTC, which has no daylight saving time.

const dayMs = 86_400_000
/** The Monday before the first of January 1970, which was a Thursday. */
const firstMonday = -3 * dayMs

let month = { startsAt: 0, endsAt: 0 }

/** Returns the month that contains a time. Caches the last result, which is nearly always requested again. */
function monthOf(time: EpochMs): { startsAt: EpochMs; endsAt: EpochMs } {
  if (time >= month.startsAt && time < month.endsAt) return month
  const date = new Date(time)
  const [year, number] = [date.getUTCFullYear(), date.getUTCMonth()]
  return (month = { startsAt: Date.UTC(year, number, 1), endsAt: Date.UTC(year, number + 1, 1) })
}

/** Returns the start of the period that contains `now`; 0 if the limit never resets. */
export function periodStart(reset: LimitReset, now: EpochMs): EpochMs {
  switch (reset) {
    case 'never':
      return 0
    case 'day':
      return now - (now % dayMs)
    case 'week':
      return now - ((now - firstMonday) % (7 * dayMs))
    case 'month':
      return monthOf(now).startsAt
  }
}

/** Returns the end of the period that starts at `startsAt`; null if the limit never resets. */
export function periodEnd(reset: LimitReset, startsAt: EpochMs): EpochMs | null {
  switch (reset) {
    case 'never':
      return null
    case 'day':
      return startsAt + dayMs
    case 'week':
      return startsAt + 7 * dayMs
    case 'month':
      return monthOf(startsAt).endsAt
  }
}

/** Length of the longest period. */
export const periodMsMax = 31 * dayMs
