export type PeriodName = keyof typeof periodNames
/** The first and the last UTC day of a period. */
export type DayPeriod = { from: string; to: string }

export const periodNames = {
  today: 'Today',
  yesterday: 'Yesterday',
  week: 'Last 7 days',
  month: 'Last 30 days',
  quarter: 'Last 90 days',
  year: 'Last 365 days',
  thisMonth: 'This month',
  lastMonth: 'Last month',
  custom: 'Custom range',
} as const

const dayMs = 86_400_000

/** Ignores the years that a date field reports while its user types the year. */
export function isDay(text: string): boolean {
  const time = /^[2-9]\d{3}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(time) && dayOf(time) === text
}

export function periodOf(name: Exclude<PeriodName, 'custom'>, now: Date): DayPeriod {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  const ending = (days: number) => ({ from: dayOf(now.getTime() - (days - 1) * dayMs), to: dayOf(now.getTime()) })
  switch (name) {
    case 'today':
      return ending(1)
    case 'yesterday':
      return { ...ending(2), to: ending(2).from }
    case 'week':
      return ending(7)
    case 'month':
      return ending(30)
    case 'quarter':
      return ending(90)
    case 'year':
      return ending(365)
    case 'thisMonth':
      return { from: dayOf(Date.UTC(year, month, 1)), to: dayOf(now.getTime()) }
    case 'lastMonth':
      return { from: dayOf(Date.UTC(year, month - 1, 1)), to: dayOf(Date.UTC(year, month, 0)) }
  }
}

export function datesOf({ from, to }: DayPeriod): string[] {
  const dates: string[] = []
  for (let at = Date.parse(from); at <= Date.parse(to); at += dayMs) dates.push(dayOf(at))
  return dates
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
