/** Parses a Retry-After header (a number or a date) into seconds. Returns undefined if it is absent or invalid. */
export function parseRetryAfter(header: string | null, nowMs = Date.now()): number | undefined {
  if (header === null) return undefined
  if (/^\d+$/.test(header)) return Number(header)
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1000))
}
