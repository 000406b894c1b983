// JSON values that may cause quadratic work in parsers, schemas and filters.

/** Maximum numbers of characters, values and names in one JSON body. */
export type Limits = { chars: number; values: number; names: number }

export const times = (count: number, share: number) => Math.max(1, Math.floor(count * share))
/** Returns the nth name. Consecutive names are not in sorted order. */
export const nameAt = (at: number) => `${Math.imul(at + 1, 2_654_435_761) >>> 0}n`

/** Generators of hostile JSON, by the kind of content that is large. `share`: fraction of the limits to use. */
export const hostile: Record<string, (limits: Limits, share: number) => string> = {
  letters: ({ chars }, share) => JSON.stringify('a'.repeat(times(chars, share))),
  blanks: ({ chars }, share) => JSON.stringify(`a${' '.repeat(times(chars, share))}a`),
  'an address': ({ chars }, share) => JSON.stringify(`${'a.'.repeat(times(chars / 2, share))}@`),
  backslashes: ({ chars }, share) => JSON.stringify('\\'.repeat(times(chars / 2, share))),
  numbers: ({ values }, share) => `[${Array(times(values, share)).fill('0').join(',')}]`,
  texts: ({ values }, share) => `[${Array(times(values, share)).fill('"a"').join(',')}]`,
  lists: ({ values }, share) =>
    `[${Array(times(values / 2, share))
      .fill('[]')
      .join(',')}]`,
  names: ({ names }, share) => `{${membersOf(names, share)}}`,
  'objects of names': ({ names }, share) =>
    `[${Array.from({ length: times(names, share) }, (_, at) => `{"${nameAt(at)}":0}`).join(',')}]`,
  'names again and again': ({ names, values }, share) =>
    `[${Array.from({ length: times(values / 2, share) }, (_, at) => `{"${nameAt(at % names)}":0}`).join(',')}]`,
  'one name of an object': ({ values }, share) => `{${Array(times(values, share)).fill('"a":0').join(',')}}`,
  'an object of numbers': (limits, share) => `{"a":${hostile['numbers']!(limits, share)}}`,
  'an object of objects': (limits, share) => `{"a":${hostile['objects of names']!(limits, share)}}`,
  levels: ({ values }, share) =>
    `[${Array(times(values / 91, share))
      .fill(`${'['.repeat(90)}${']'.repeat(90)}`)
      .join(',')}]`,
}

function membersOf(names: number, share: number): string {
  return Array.from({ length: times(names, share) }, (_, at) => `"${nameAt(at)}":0`).join(',')
}

type Schema = { type?: unknown; anyOf?: Schema[] }
type Makers = [what: string, make: (limits: Limits, share: number) => string][]

/**
 * Returns the hostile values whose content the service examines in a field with this schema, and some that it rejects
 * for their type.
 */
export function hostileTo(schema: Schema): { types: string; examined: Makers; rejected: Makers } {
  const types = new Set([schema, ...(schema.anyOf ?? [])].flatMap(({ type }) => type))
  const isWhole = types.has('array') || types.has('object')
  const texts = types.has('string') ? ['letters', 'blanks', 'an address', 'backslashes'] : []
  const isExamined = (what: string) => isWhole || texts.includes(what)
  const all = Object.entries(hostile)
  return {
    types: [...types].toSorted().join(),
    examined: all.filter(([what]) => isExamined(what)),
    rejected: all.filter(([what]) => !isExamined(what) && ['letters', 'numbers', 'names'].includes(what)),
  }
}
