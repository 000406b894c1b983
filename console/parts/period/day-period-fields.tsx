import { useSearchParams } from 'wouter'
import { NameSelect } from '../name-select.tsx'
import { DayRangeFields } from './day-range-fields.tsx'
import { isDay, periodNames, periodOf, type DayPeriod, type PeriodName } from './day-period.ts'

/** A period of whole UTC days, stored in the URL query. */
export function useDayPeriod() {
  const [params, setParams] = useSearchParams()
  const text = params.get('period') ?? ''
  const name = Object.hasOwn(periodNames, text) ? (text as PeriodName) : 'month'
  const [from, to] = [params.get('from') ?? '', params.get('to') ?? '']
  const now = new Date()
  const days = name === 'custom' ? customDays({ from, to }, now) : periodOf(name, now)
  const set = (changes: Readonly<Record<string, string>>) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        for (const [field, value] of Object.entries(changes)) {
          if (value === '') next.delete(field)
          else next.set(field, value)
        }
        return next
      },
      { replace: true },
    )
  const choose = (period: string) => set({ period, ...(period === 'custom' ? days : { from: '', to: '' }) })
  return { name, days, from, to, choose, set }
}

/** If `from` or `to` is missing or invalid, takes it from the last 30 days. */
function customDays({ from, to }: DayPeriod, now: Date): DayPeriod {
  const month = periodOf('month', now)
  return { from: isDay(from) ? from : month.from, to: isDay(to) && to < month.to ? to : month.to }
}

export function DayPeriodFields({ choose, from, name, set, to }: ReturnType<typeof useDayPeriod>) {
  return (
    <>
      <NameSelect label="Period" names={periodNames} value={name} onChange={choose} />
      {name === 'custom' && (
        <DayRangeFields from={from} to={to} setFrom={(day) => set({ from: day })} setTo={(day) => set({ to: day })} />
      )}
    </>
  )
}
