import { createHash } from 'node:crypto'

/**
 * Serializes JSON with sorted object keys, so that equivalent bodies produce the same string. Expects parsed JSON
 * within the nesting limit for request bodies. Hashes of the result are stored, so the key order must never change.
 * Integer-like keys come first, in numeric order, as in every JavaScript object.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) {
    // If there is nothing to sort, serialize in one call.
    if (!value.some(isContainer)) return JSON.stringify(value)
    return `[${value.map(canonicalJson).join(',')}]`
  }
  const members: string[] = []
  for (const key of sortedKeys(value)) {
    const inner = (value as Record<string, unknown>)[key]
    if (inner !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(inner)}`)
  }
  return `{${members.join(',')}}`
}

/** Returns a hex SHA-256 hash that does not depend on key order. */
export function hashJson(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}

function isContainer(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

const indexMax = 2 ** 32 - 2

function sortedKeys(value: object): string[] {
  const keys = Object.keys(value)
  const names = keys.findIndex((key) => !isIndex(key))
  if (names === -1) return keys
  // Sort by UTF-16 code unit, like `<`.
  return [...keys.slice(0, names), ...keys.slice(names).sort()]
}

function isIndex(key: string): boolean {
  return /^(?:0|[1-9]\d{0,9})$/.test(key) && Number(key) <= indexMax
}
