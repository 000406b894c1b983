import type { EpochMs } from '../../kernel/clock.ts'
import type { LimitReset } from '../execution-limits.ts'

// Periods of limits on what is spent: whole days, weeks from Monday and months of UTC, which knows no summer time.

const dayMs = 86_400_000
/** The first of January 1970 was a Thursday, so that this Monday lies before it. */
const firstMonday = -3 * dayMs

let month = { startsAt: 0, endsAt: 0 }

/** That of the last time is nearly always the one that is asked for. */
function monthOf(time: EpochMs): { startsAt: EpochMs; endsAt: EpochMs } {
  if (time >= month.startsAt && time < month.endsAt) return month
  const date = new Date(time)
  const [year, number] = [date.getUTCFullYear(), date.getUTCMonth()]
  return (month = { startsAt: Date.UTC(year, number, 1), endsAt: Date.UTC(year, number + 1, 1) })
}

/** When the period began that `now` lies in; 0 where nothing begins anew. */
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

/** When the period ends that began then, and the next begins; null where none does. */
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

/** No period is longer. */
export const periodMsMax = 31 * dayMs
