/** Formats a duration, such as `120 ms`, `2.3 s`, `1 min 5 s` or `2 h 5 min`. */
export function durationText(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  if (whole < 1000) return `${whole} ms`
  if (whole < 59_950) return `${(whole / 1000).toFixed(1)} s`
  return longText(Math.round(whole / 1000))
}

/** Like `durationText`, but without milliseconds or fractions of a second. */
export function secondsText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  return whole < 60 ? `${whole} s` : longText(whole)
}

function longText(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`
  const hours = Math.floor(minutes / 60)
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
}
