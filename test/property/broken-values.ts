import fc from 'fast-check'
import type { Json } from '../pins/documented-answers.ts'
import { inside, jsonObject, secretMark, text, validValue, type Place } from './document-values.ts'

/** An invalid value, and the path to its invalid part. */
export type Broken = { value: unknown; at: string }

export type Break = { name: string; broken: fc.Arbitrary<Broken> }

/** Embeds raw JSON, such as a number that JSON.stringify could not write. */
const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON

const halves = fc.constantFrom('\ud800', 'a\udc00', '\udfffb', '\udc00\ud800', '😀\ud83d')
const beyond = fc.constantFrom('1e400', '-1e400', `1${'0'.repeat(400)}`, '9e99999').map((digits) => rawJson(digits))

const ofEveryType: readonly unknown[] = [null, true, 7, 1.5, secretMark, [], [secretMark], {}, { a: secretMark }]

const typeOf = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

function typesOf(schema: Json): string[] {
  const variants = (schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined
  if (variants) return variants.flatMap(typesOf)
  const { type } = schema as { type: string }
  return [type === 'integer' ? 'number' : type]
}

export function breaksOf(schema: Json, place: Place): Break[] {
  const { at } = place
  const own = (name: string, values: fc.Arbitrary<unknown>): Break => ({
    name: `${at}: ${name}`,
    broken: values.map((value) => ({ value, at })),
  })
  const types = typesOf(schema)
  const ofOtherTypes = ofEveryType.filter((value) => !types.includes(typeOf(value)))
  const common = [own('of another type', fc.constantFrom(...ofOtherTypes)), own('beyond a double', beyond)]
  const variants = (schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined
  if (variants) return [...common, ...variants.flatMap((variant) => withinVariant(variant, place))]
  return [...common, ...specificBreaks(schema, place, own)]
}

/**
 * Returns the breaks inside one variant. Excludes breaks of the whole value, which `breaksOf` adds once for all
 * variants.
 */
function withinVariant(variant: Json, place: Place): Break[] {
  if (variant['type'] === 'null') return []
  const ofWhole = new Set(['of another type', 'beyond a double'].map((way) => `${place.at}: ${way}`))
  return breaksOf(variant, place).filter(({ name }) => !ofWhole.has(name))
}

type Own = (name: string, values: fc.Arbitrary<unknown>) => Break

function specificBreaks(schema: Json, place: Place, own: Own): Break[] {
  const { const: only, enum: all, type } = schema
  if (only !== undefined || all) {
    const known = (all ?? [only]) as unknown[]
    const others = fc.oneof(
      text,
      fc.constantFrom('', ` ${known[0]}`, String(known[0]).toUpperCase(), `${known[0]}\0`, 'constructor'),
    )
    return [
      own(
        'none of those',
        others.filter((value) => !known.includes(value)),
      ),
      own('half a character', halves),
    ]
  }
  if (type === 'string') return textBreaks(schema, place, own)
  if (type === 'integer' || type === 'number') return numberBreaks(schema, own)
  if (type === 'array') return arrayBreaks(schema, place, own)
  if (type === 'object') return objectBreaks(schema, place)
  return []
}

function textBreaks(schema: Json, { at }: Place, own: Own): Break[] {
  const { maxLength, minLength = 0, pattern } = schema
  const breaks = [own('half a character', halves)]
  if (maxLength !== undefined) {
    const over = fc.integer({ min: 1, max: 300 }).map((n) => secretMark + 'x'.repeat(maxLength + n - secretMark.length))
    breaks.push(own('too long', over))
  }
  if (minLength > 0) breaks.push(own('too short', fc.constant('')))
  if (minLength > 1)
    breaks.push(
      own(
        'too short',
        fc.integer({ min: 1, max: minLength - 1 }).map((n) => '€'.repeat(n)),
      ),
    )
  if (pattern !== undefined) {
    const form = new RegExp(pattern as string)
    const changed = fc
      .tuple(
        validValue(schema, { at, known: {} }),
        fc.constantFrom('\n', ' ', '\0', 'é', '\u2028', '٣', '<'),
        fc.boolean(),
      )
      .map(([good, odd, isFirst]) => (isFirst ? `${odd}${good}` : `${good}${odd}`))
    breaks.push(
      own(
        'of another form',
        fc.oneof(text, changed).filter((value) => value !== '' && !form.test(value)),
      ),
    )
  }
  return breaks
}

function numberBreaks({ maximum, minimum, type }: Json, own: Own): Break[] {
  const breaks: Break[] = [own('a number as a text', fc.constantFrom('1', '1e1', '0x1', ' 1'))]
  if (type === 'integer') breaks.push(own('no integer', fc.constantFrom(1.5, 1.000_000_1, 5e-324)))
  if (minimum !== undefined) {
    const below = fc.oneof(
      fc.constantFrom(minimum - 1, -1e308, Number.MIN_SAFE_INTEGER - 1),
      fc.integer({ min: -1e9, max: Math.ceil(minimum) - 1 }),
    )
    breaks.push(own('too small', below))
  }
  if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) {
    breaks.push(
      own(
        'too large',
        fc.oneof(fc.constantFrom(maximum + 1, 1e308), fc.integer({ min: Math.floor(maximum) + 1, max: 2e9 })),
      ),
    )
  }
  return breaks
}

function arrayBreaks(schema: Json, { at, known }: Place, own: Own): Break[] {
  const { items, maxItems, minItems = 0 } = schema
  const good = validValue(items, { at: `${at}[]`, known })
  const breaks: Break[] = []
  if (minItems > 0) breaks.push(own('too few', fc.constant([])))
  if (maxItems !== undefined) {
    breaks.push(
      own(
        'too many',
        good.map((item) => Array.from({ length: maxItems + 1 }, () => item)),
      ),
    )
  }
  const others = fc.array(good, { minLength: minItems, maxLength: Math.min(maxItems ?? 5, 3) - 1 })
  for (const { broken, name } of breaksOf(items, { at: `${at}[]`, known })) {
    breaks.push({
      name,
      broken: fc.tuple(others, broken, fc.nat()).map(([list, item, nth]) => {
        const index = nth % (list.length + 1)
        return { value: list.toSpliced(index, 0, item.value), at: item.at.replace(`${at}[]`, `${at}[${index}]`) }
      }),
    })
  }
  return breaks
}

function nested(levels: number, isArray: boolean): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = isArray ? [value] : { a: value }
  return value
}

/** Sets a member with defineProperty, which also works for keys such as `__proto__`. */
function withKey(object: Json, name: string, value: unknown): Json {
  return Object.defineProperty({ ...object }, name, { value, enumerable: true })
}

/** Returns breaks that add members that no object may have, regardless of its schema. */
function unfitMembers({ at }: Place, good: fc.Arbitrary<Json>): Break[] {
  const member = (name: string, values: fc.Arbitrary<[string, unknown]>): Break => ({
    name: `${inside(at, '?')}: ${name}`,
    broken: fc.tuple(good, values).map(([object, [key, value]]) => ({
      value: withKey(object, key, value),
      at: inside(at, key.toWellFormed()),
    })),
  })
  const odd = fc.constantFrom('odd', 'constructor', 'a\0', '😀')
  // Large bodies with more than 110 levels are rejected before they are parsed, without naming a field.
  const deep = fc
    .tuple(fc.integer({ min: 101, max: 105 }), fc.boolean())
    .map(([levels, isArray]) => nested(levels, isArray))
  return [
    member(
      'a key __proto__',
      fc.tuple(fc.constant('__proto__'), fc.constantFrom<unknown>(null, 1, {}, { isAdmin: true })),
    ),
    member('a key of half a character', fc.tuple(halves, fc.constant(1))),
    member('an unknown field of half a character', fc.tuple(odd, halves)),
    member('an unknown field beyond a double', fc.tuple(odd, beyond)),
    member('an unknown field that is too deep', fc.tuple(odd, deep)),
  ]
}

function objectBreaks(schema: Json, place: Place): Break[] {
  const { additionalProperties, properties, required = [] } = schema
  const { at, known } = place
  if (!properties && (additionalProperties?.type ?? additionalProperties?.anyOf)) return mapBreaks(schema, place)
  const good = properties ? (validValue(schema, place) as fc.Arbitrary<Json>) : jsonObject
  const breaks = unfitMembers(place, good)
  for (const [name, field] of Object.entries<Json>(properties ?? {})) {
    const fieldAt = inside(at, name)
    if (required.includes(name)) {
      const broken = good.map(({ [name]: _, ...rest }) => ({ value: rest, at: fieldAt }))
      breaks.push({ name: `${fieldAt}: missing`, broken })
    }
    for (const { broken, name: way } of breaksOf(field, { at: fieldAt, known })) {
      const whole = fc
        .tuple(good, broken)
        .map(([object, part]) => ({ value: { ...object, [name]: part.value }, at: part.at }))
      breaks.push({ name: way, broken: whole })
    }
  }
  return breaks
}

/** Returns breaks of the names and values of an object that has schemas for both. */
function mapBreaks(schema: Json, place: Place): Break[] {
  const { additionalProperties, propertyNames } = schema
  const { at } = place
  const good = validValue(schema, place) as fc.Arbitrary<Json>
  const form = new RegExp(propertyNames.pattern as string)
  const badName = fc.oneof(text, fc.constantFrom('', 'a b', 'é', 'a:b', 'x\r\ny')).filter((name) => !form.test(name))
  const value = validValue(additionalProperties, { at: `${at}.*`, known: {} })
  return [
    {
      name: `${at}: a name of another form`,
      broken: fc.tuple(good, badName, value).map(([object, name, own]) => ({ value: withKey(object, name, own), at })),
    },
    ...breaksOf(additionalProperties, { at: `${at}.Own`, known: {} }).map(({ broken, name }) => ({
      name,
      broken: fc.tuple(good, broken).map(([object, own]) => ({ value: { ...object, Own: own.value }, at: own.at })),
    })),
  ]
}
