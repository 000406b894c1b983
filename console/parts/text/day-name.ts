const short = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const long = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' })

/** Formats a UTC date, independent of the user's time zone. */
export function dayName(date: string, style: 'short' | 'long'): string {
  return (style === 'short' ? short : long).format(new Date(`${date}T00:00:00Z`))
}
