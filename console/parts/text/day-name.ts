const short = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const hour = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
})
const long = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

/** Formats a UTC date, or the ISO start time of an hour, independently of the user's time zone. */
export function dayName(date: string, style: 'short' | 'long'): string {
  if (date.includes('T')) return hour.format(new Date(date))
  return (style === 'short' ? short : long).format(new Date(`${date}T00:00:00Z`))
}
