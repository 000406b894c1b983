import type { Economics } from '../../../../client/client.ts'

export type GroupBy = Economics['groupBy']
export type PeriodName = keyof typeof periodNames

export const periodNames = {
  week: 'Last 7 days',
  month: 'Last 30 days',
  thisMonth: 'This month',
  lastMonth: 'Last month',
  year: 'Last 365 days',
} as const

export const groupNames: Readonly<Record<GroupBy, string>> = {
  day: 'Day',
  agent: 'Agent',
  endpoint: 'Endpoint',
  model: 'Model',
  user: 'User',
  plan: 'Plan',
  key: 'API key',
}

/** Rounds an amount with nine decimals to units of 0.0001 USD. */
export function roundedUnits(usd: string): number {
  return Math.round(Number(usd) * 10_000)
}

const dayMs = 86_400_000

export function oneDay(day: string): { from: string; to: string } | undefined {
  const time = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) : Number.NaN
  return !Number.isNaN(time) && dayOf(time) === day ? { from: day, to: day } : undefined
}

/** Returns the first and the last UTC day of a period that ends on or before the day of `now`. */
export function periodOf(name: PeriodName, now: Date): { from: string; to: string } {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
  const ending = (days: number) => ({ from: dayOf(now.getTime() - (days - 1) * dayMs), to: dayOf(now.getTime()) })
  switch (name) {
    case 'week':
      return ending(7)
    case 'month':
      return ending(30)
    case 'thisMonth':
      return { from: dayOf(Date.UTC(year, month, 1)), to: dayOf(now.getTime()) }
    case 'lastMonth':
      return { from: dayOf(Date.UTC(year, month - 1, 1)), to: dayOf(Date.UTC(year, month, 0)) }
    case 'year':
      return ending(365)
  }
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
