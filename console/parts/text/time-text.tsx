import { useNow } from '../hooks/use-now.ts'
import classes from './time-text.module.css'

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

const steps: readonly { unit: Intl.RelativeTimeFormatUnit; seconds: number; below: number }[] = [
  { unit: 'second', seconds: 1, below: 60 },
  { unit: 'minute', seconds: 60, below: 3600 },
  { unit: 'hour', seconds: 3600, below: 86_400 },
  { unit: 'day', seconds: 86_400, below: 30 * 86_400 },
]

/** Shows a relative time, with the exact time in the browser's locale as its title. Times older than 30 days are shown as dates. */
export function TimeText({ at, isExact = false }: { at: string; isExact?: boolean }) {
  const now = useNow()
  const date = new Date(at)
  const title = exact.format(date)
  return (
    <time dateTime={at} title={title} className={isExact ? classes.exact : classes.relative}>
      {isExact ? title : describe(date, now)}
    </time>
  )
}

function describe(date: Date, now: number): string {
  const seconds = Math.round((date.getTime() - now) / 1000)
  const distance = Math.abs(seconds)
  // Small differences are unreliable, because clocks differ slightly and the page updates its own time in steps.
  if (distance < 20) return 'just now'
  const step = steps.find(({ below }) => distance < below)
  return step ? relative.format(Math.round(seconds / step.seconds), step.unit) : day.format(date)
}
