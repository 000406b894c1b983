import fc from 'fast-check'
import type { Json } from '../pins/documented-answers.ts'

/** Generators for fields that a schema cannot describe, by field path, such as ids of existing objects. */
export type Known = Readonly<Record<string, fc.Arbitrary<unknown>>>

export type Place = { at: string; known: Known }

/** Part of every secret that is sent, so that a response that leaks one is detected. */
export const secretMark = 'S3CRET'

/** Any Unicode string, including names of JavaScript's object members and NUL. */
export const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('constructor', '__proto__', 'toString', '\0', '\u2028', "'; --", '%00', '😀'),
  },
)

const key = text.filter((name) => name !== '__proto__')

/** Any JSON value that the service accepts. */
export const jsonValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false, 0, 1e308, -1e-300, Number.MAX_SAFE_INTEGER + 1, ''),
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value

export const jsonObject = fc.dictionary(key, jsonValue, { maxKeys: 5, noNullPrototype: true })

export const inside = (at: string, name: string): string => (at === '' ? name : `${at}.${name}`)

export function validValue(schema: Json, place: Place): fc.Arbitrary<unknown> {
  const given = place.known[place.at]
  if (given) return given
  const { anyOf, const: only, enum: all, oneOf, type } = schema
  if (only !== undefined) return fc.constant(only)
  if (all) return fc.constantFrom(...(all as unknown[]))
  const variants = (anyOf ?? oneOf) as Json[] | undefined
  if (variants) return fc.oneof(...variants.map((variant) => validValue(variant, place)))
  if (type === 'null') return fc.constant(null)
  if (type === 'boolean') return fc.boolean()
  if (type === 'string') return validText(schema)
  if (type === 'integer') return fc.integer({ min: schema['minimum'], max: schema['maximum'] })
  if (type === 'number') {
    return fc.double({ min: schema['minimum'], max: schema['maximum'], noNaN: true }).map((value) => value + 0)
  }
  if (type === 'array') return validArray(schema, place)
  if (type === 'object') return validObject(schema, place)
  throw new Error(`${place.at}: ${JSON.stringify(schema)} is no schema that values are made for`)
}

const time = fc
  .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((at) => at.toISOString())

function validText({ format, maxLength = 200, minLength = 0, pattern }: Json): fc.Arbitrary<string> {
  if (pattern !== undefined) {
    return fc.stringMatching(new RegExp(pattern as string), { maxLength: Math.min(maxLength, 100) })
  }
  if (format === 'date-time') return time
  if (format === 'password')
    return text.map((end) => `${secretMark} pass ${end}`).filter((own) => own.length <= maxLength)
  const longest = fc.integer({ min: 0, max: 30 }).map((n) => 'x'.repeat(Math.max(minLength, maxLength - n)))
  return fc.oneof(
    { weight: 9, arbitrary: text.filter((own) => own.length >= minLength && own.length <= maxLength) },
    { weight: 1, arbitrary: longest },
  )
}

function validArray({ items, maxItems, minItems = 0 }: Json, { at, known }: Place): fc.Arbitrary<unknown[]> {
  return fc.array(validValue(items, { at: `${at}[]`, known }), {
    minLength: minItems,
    maxLength: Math.min(maxItems ?? 5, 5),
  })
}

/** Generates all declared fields; optional ones may be missing. */
function validObject(schema: Json, { at, known }: Place): fc.Arbitrary<Json> {
  const { additionalProperties, properties, propertyNames, required = [] } = schema
  if (!properties) {
    if (!(additionalProperties?.type ?? additionalProperties?.anyOf)) return jsonObject
    const names = fc.stringMatching(new RegExp(propertyNames.pattern as string)).filter((name) => name !== '__proto__')
    const values = validValue(additionalProperties, { at: `${at}.*`, known })
    return fc.dictionary(names, values, { minKeys: 1, maxKeys: 4, noNullPrototype: true })
  }
  const fields = Object.entries<Json>(properties).map(([name, field]) => [
    name,
    validValue(field, { at: inside(at, name), known }),
  ])
  return fc.record(Object.fromEntries(fields), { requiredKeys: required, noNullPrototype: true }) as fc.Arbitrary<Json>
}
