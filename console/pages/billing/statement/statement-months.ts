const monthFormat = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** Months are UTC and written as `2026-10`. */
export const thisMonth = () => new Date().toISOString().slice(0, 7)

export const monthName = (month: string) => monthFormat.format(new Date(`${month}-01`))

/** Returns the months since an account was created, newest first. */
export function monthsSince(createdAt: string): string[] {
  const months: string[] = []
  for (let month = createdAt.slice(0, 7); month <= thisMonth(); month = nextMonth(month)) months.unshift(month)
  return months
}

export function nextMonth(month: string): string {
  const start = new Date(`${month}-01`)
  start.setUTCMonth(start.getUTCMonth() + 1)
  return start.toISOString().slice(0, 7)
}

/** Returns the last day of a month as `2026-10-31`, or today if the month is not over. */
export function lastDay(month: string): string {
  const today = new Date().toISOString().slice(0, 10)
  const last = new Date(Date.parse(`${nextMonth(month)}-01`) - 1).toISOString().slice(0, 10)
  return last < today ? last : today
}
