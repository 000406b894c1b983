export type ValueType = 'integer' | 'number' | 'boolean' | 'date' | 'string'

const integerPattern = /^[+-]?(?:0|[1-9]\d*)$/
const numberPattern = /^[+-]?(?:0|[1-9]\d*)?(?:\.\d+|(?<=\d)\.)?(?:(?<=[\d.])e[+-]?\d+)?$/i
const booleanPattern = /^(?:true|false|yes|no)$/i
const datePattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d|60)(?:\.\d{1,9})?)?(Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?)?$/

/**
 * What a CSV's value is. Digits after a leading zero ("007", a postcode) are text, as is a decimal comma ("1,5"), a
 * figure with thousands separators, and a number too large for a double ("1e400"). Dates are ISO 8601's and must exist.
 */
export function classifyValue(value: string): ValueType {
  const first = value.charCodeAt(0)
  const isFigure = (first >= 0x30 && first <= 0x39) || value[0] === '-' || value[0] === '+' || value[0] === '.'
  if (!isFigure) return booleanPattern.test(value) ? 'boolean' : 'string'
  if (integerPattern.test(value)) return Number.isFinite(Number(value)) ? 'integer' : 'string'
  if (/\d/.test(value) && numberPattern.test(value)) return Number.isFinite(Number(value)) ? 'number' : 'string'
  return readDate(value) === undefined ? 'string' : 'date'
}

/** Milliseconds since 1970 of an ISO 8601 date, with or without a time; without an offset it is taken as UTC. */
export function readDate(value: string): number | undefined {
  const match = datePattern.exec(value)
  if (match === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', offset = 'Z'] = match
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  // A day that the month does not have ends up in another month.
  if (date.getUTCMonth() !== Number(month) - 1) return undefined
  date.setUTCHours(Number(hour), Number(minute), Number(second))
  const fraction = Number(/\.\d+/.exec(value)?.[0] ?? 0) * 1000
  return date.getTime() + fraction - readOffsetMs(offset)
}

function readOffsetMs(offset: string): number {
  if (offset === 'Z') return 0
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(-2))]
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}
