import type { EpochMs } from '../../kernel/clock.ts'
import type { LimitReset } from './execution-limits.ts'

// Spending limits reset by calendar day, week (from Monday) or month. Periods are in UTC, so daylight saving time does
// not matter.

const dayMs = 86_400_000
/** 1970-01-01 was a Thursday, so this is the Monday before it. */
const firstMonday = -3 * dayMs

let month = { startsAt: 0, endsAt: 0 }

/**
 * Returns the start and end of the month that contains `time`. Caches the last result, because most calls ask for the
 * same month.
 */
function monthOf(time: EpochMs): { startsAt: EpochMs; endsAt: EpochMs } {
  if (time >= month.startsAt && time < month.endsAt) return month
  const date = new Date(time)
  const [year, number] = [date.getUTCFullYear(), date.getUTCMonth()]
  return (month = { startsAt: Date.UTC(year, number, 1), endsAt: Date.UTC(year, number + 1, 1) })
}

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

export const periodMsMax = 31 * dayMs
