// PostgreSQL cannot store U+0000, which users' strings may contain. In query values, it is encoded as a noncharacter
// followed by a digit. A query for an id with U+0000 therefore finds nothing instead of failing.

const mark = '\u{10FFFF}'
const kept = /[\0\u{10FFFF}]/gu
const written = /\u{10FFFF}([01])/gu

function isKept(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0') || value.includes(mark)
  return Array.isArray(value) && value.some(isKept)
}

function keepIn(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(kept, (character) => mark + (character === '\0' ? '0' : '1'))
  return Array.isArray(value) ? value.map(keepIn) : value
}

export function keepNulls(values: readonly unknown[]): readonly unknown[] {
  return values.some(isKept) ? values.map(keepIn) : values
}

export function readNulls(text: string): string {
  return text.includes(mark) ? text.replace(written, (_, digit) => (digit === '0' ? '\0' : mark)) : text
}
