import { Select, type BoxProps } from '@mantine/core'
import { useSearchField } from '../hooks/use-search-field.ts'
import { isDay } from './day-period.ts'
import { DayRangeFields } from './day-range-fields.tsx'

const hourMs = 3_600_000
const spans: Readonly<Record<string, { label: string; ms: number }>> = {
  hour: { label: 'Last hour', ms: hourMs },
  day: { label: 'Last 24 hours', ms: 24 * hourMs },
  week: { label: 'Last 7 days', ms: 168 * hourMs },
  month: { label: 'Last 30 days', ms: 720 * hourMs },
}
const ofDays = 'days'

/** Filter of a list by creation time, stored in the URL query. `input` is the time filter of the API. */
export function usePeriod() {
  const [time, setTime] = useSearchField('time')
  const [from, setFrom] = useSearchField('from')
  const [to, setTo] = useSearchField('to')
  return { input: timesOf({ time, from, to }), time, from, to, setTime, setFrom, setTo }
}

type Period = ReturnType<typeof usePeriod>

function timesOf({ from, time, to }: { time: string; from: string; to: string }) {
  const span = Object.hasOwn(spans, time) ? spans[time] : undefined
  if (span) {
    // Round to the minute, so that the query does not change with every render.
    return { createdAfter: new Date(Math.floor((Date.now() - span.ms) / 60_000) * 60_000).toISOString() }
  }
  if (time !== ofDays) return {}
  const first = dayOf(from, 0)
  const end = dayOf(to, 1)
  // `createdAfter` is exclusive, so subtract 1 ms to include the first moment of the day.
  return {
    ...(first && { createdAfter: new Date(first.getTime() - 1).toISOString() }),
    ...(end && { createdBefore: end.toISOString() }),
  }
}

/** Returns the start of a UTC day such as 2026-01-31, plus a number of days. */
function dayOf(text: string, daysLater: number): Date | undefined {
  return isDay(text) ? new Date(Date.parse(text) + daysLater * 24 * hourMs) : undefined
}

/** At most half of a phone's width, so that two fields fit in a row. */
const fieldWidth = (px: number) => `min(${px}px, calc(50% - 6px))`

type PeriodFieldsProps = { label: string; period: Period; w?: BoxProps['w']; dayWidth?: BoxProps['w'] }

export function PeriodFields({ label, period, w = fieldWidth(170), dayWidth = fieldWidth(150) }: PeriodFieldsProps) {
  const { from, setFrom, setTime, setTo, time, to } = period
  return (
    <>
      <Select
        label={label}
        data={[
          { value: '', label: 'Any time' },
          ...Object.entries(spans).map(([value, { label }]) => ({ value, label })),
          { value: ofDays, label: 'Custom range' },
        ]}
        value={time === ofDays || Object.hasOwn(spans, time) ? time : ''}
        onChange={(next) => setTime(next ?? '')}
        allowDeselect={false}
        w={w}
      />
      {time === ofDays && <DayRangeFields from={from} to={to} setFrom={setFrom} setTo={setTo} w={dayWidth} />}
    </>
  )
}
