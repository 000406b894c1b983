import { createHash } from 'node:crypto'

/**
 * JSON with the keys of every object sorted, so that two bodies that say the same are the same text. Takes parsed JSON,
 * nested no deeper than bodies may be. Hashes of it are stored, so the order of keys must stay what it is: those that
 * index an array come first, by their number, as in every object of JavaScript.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) {
    // Written at once where there is nothing to sort.
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

/** SHA-256, in hex, of a JSON value whatever the order of its keys. */
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
  // By UTF-16 units, as `<` compares.
  return [...keys.slice(0, names), ...keys.slice(names).sort()]
}

function isIndex(key: string): boolean {
  return /^(?:0|[1-9]\d{0,9})$/.test(key) && Number(key) <= indexMax
}
