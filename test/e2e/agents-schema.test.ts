import { expect, test } from 'vitest'
import { z } from 'zod'
import { checkValue, placeProblems, shownPaths, toFormPath } from '../../console/parts/schema-form/check-value.ts'
import { toWords, type FormField, type ParamsJsonSchema } from '../../console/parts/schema-form/form-field.ts'
import { fits, initialValue, matches, toJson, Unfinished } from '../../console/parts/schema-form/form-value.ts'
import { readSchema } from '../../console/parts/schema-form/read-schema.ts'
import { shortened } from '../../console/parts/schema-form/shortened.ts'
import { durationText, secondsText } from '../../console/parts/text/duration-text.ts'

// The form for an endpoint's params, tested without a browser: the fields of a schema, and the values to submit.

function fieldOf(schema: unknown): FormField {
  const form = readSchema({ type: 'object', properties: { it: schema } })
  if (form.kind !== 'object') throw new Error('not an object')
  return form.properties[0]!.field
}

const kinds: readonly [unknown, FormField['kind']][] = [
  [{ type: 'string' }, 'text'],
  [{ minLength: 1 }, 'text'],
  [{ type: 'integer' }, 'number'],
  [{ type: 'boolean' }, 'boolean'],
  [{ enum: ['a', 'b', null] }, 'choice'],
  [{ const: 'a' }, 'constant'],
  [{ oneOf: [{ const: 1, title: 'One' }, { const: 2 }] }, 'choice'],
  [{ type: 'array', items: { type: 'string' } }, 'tags'],
  [{ type: 'array', items: { type: 'string', title: 'Text' } }, 'list'],
  [{ type: 'array', items: { type: ['string', 'null'] } }, 'list'],
  [{ type: 'array', items: { type: 'object', properties: { a: {} } } }, 'list'],
  [{ type: 'array', items: {} }, 'json'],
  [{ type: 'array', prefixItems: [{ type: 'string' }] }, 'json'],
  [{ type: 'object', properties: {} }, 'object'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, 'json'],
  [{ type: ['string', 'number'] }, 'variants'],
  [{ anyOf: [{ type: 'string' }, { type: 'object', properties: {} }] }, 'variants'],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'text'],
  [{ properties: { a: {} }, anyOf: [{ required: ['a'] }, { required: ['b'] }] }, 'object'],
  [{ allOf: [{ properties: { a: {} } }, { properties: { b: {} }, required: ['b'] }] }, 'object'],
  [{ allOf: [{ type: 'string' }, { type: 'number' }] }, 'json'],
  [{ $ref: 'https://example.com/schema' }, 'json'],
  [{ $ref: '#/nowhere' }, 'json'],
  [true, 'json'],
  [{}, 'json'],
]

test.each(kinds)('%j becomes the input %s', (schema, kind) => {
  expect(fieldOf(schema).kind).toBe(kind)
})

test('a self-referencing schema ends in a JSON input', () => {
  const node = {
    type: 'object',
    properties: { name: { type: 'string' }, kids: { type: 'array', items: { $ref: '#' } } },
  }
  const form = readSchema(node)
  expect(form.kind === 'object' && form.properties.map(({ field }) => field.kind)).toEqual(['text', 'list'])
  const wide: Record<string, unknown> = {}
  for (let level = 0; level < 40; level++) {
    wide[`l${level}`] = { properties: { a: { $ref: `#/$defs/l${level + 1}` }, b: { $ref: `#/$defs/l${level + 1}` } } }
  }
  // If expanded completely, this schema would have 2^40 inputs.
  const count = (field: FormField): number =>
    field.kind === 'object' ? field.properties.reduce((sum, { field: own }) => sum + count(own), 1) : 1
  expect(count(readSchema({ $ref: '#/$defs/l0', $defs: wide }))).toBeLessThan(2000)
})

test('fills in defaults, omits optional fields and sends nullable fields as null', () => {
  const schema = z.object({
    text: z.string(),
    count: z.int().default(3),
    note: z.string().nullable(),
    more: z.string().nullable().optional(),
    on: z.boolean(),
    tags: z.array(z.string()),
    inner: z.object({ kind: z.literal('a'), size: z.number().optional() }),
    other: z.object({ kind: z.literal('b') }).optional(),
    target: z.discriminatedUnion('type', [z.object({ type: z.literal('x') }), z.object({ type: z.literal('y') })]),
  })
  const form = readSchema(z.toJSONSchema(schema, { io: 'input' }) as ParamsJsonSchema)
  const value = initialValue(form, true)
  const json = toJson(form, value)
  expect(json).toEqual({ count: 3, note: null, on: false, tags: [], inner: { kind: 'a' }, target: { type: 'x' } })
  expect(checkValue(form, value)).toEqual([{ path: 'text', message: 'Required' }])
  expect(schema.safeParse({ ...(json as object), text: '' }).success).toBe(true)
})

test('sends keys in schema order, unknown keys last, and __proto__ like any other key', () => {
  const form = readSchema({ properties: { b: {}, a: { type: 'string' }, ['__proto__']: { type: 'string' } } })
  const value = Object.fromEntries([
    ['z', 1],
    ['a', 'x'],
    ['b', 2],
    ['__proto__', 'own'],
  ])
  expect(JSON.stringify(toJson(form, value))).toBe('{"b":2,"a":"x","__proto__":"own","z":1}')
  expect(toJson(form, { constructor: undefined })).toEqual({})
})

const mistakes: readonly [unknown, unknown, string | undefined][] = [
  [{ type: 'string', minLength: 2 }, 'a', 'Must have at least 2 characters'],
  [{ type: 'string', maxLength: 2 }, 'abc', 'Must have at most 2 characters, not 3'],
  [{ type: 'string', pattern: '^a+$' }, 'b', 'Must match the pattern ^a+$'],
  [{ type: 'string', pattern: '(' }, 'b', undefined],
  [{ type: 'string', format: 'uri' }, 'example', 'Must be a full URL, for example https://example.com'],
  [{ type: 'string', format: 'strange' }, 'b', undefined],
  [{ type: 'integer' }, 1.5, 'Must be a whole number'],
  [{ type: 'number', exclusiveMinimum: 0 }, 0, 'Must be more than 0'],
  [{ type: 'number', minimum: 0 }, 0, undefined],
  [{ type: 'number', maximum: 5 }, 6, 'Must be at most 5'],
  [{ type: 'number', multipleOf: 5 }, 6, 'Must be a multiple of 5'],
  [{ type: 'number', multipleOf: 0.1 }, 0.3, undefined],
  [{ type: 'number' }, new Unfinished('-', 'Must be a number'), 'Must be a number'],
  [{ type: 'array', items: { type: 'number' }, maxItems: 1 }, [1, 2], 'Must have at most 1 item, not 2'],
  [{ type: 'array', items: { type: 'number' }, uniqueItems: true }, [1, 1], 'Items must be unique'],
  [{ enum: ['a', 'b'] }, 'c', 'Must be one of a, b'],
  [{ type: 'object', additionalProperties: true }, [], 'Must be a JSON object'],
  [
    {
      anyOf: [
        { type: 'string', maxLength: 1 },
        { type: 'string', format: 'email' },
      ],
    },
    'ada@example.com',
    undefined,
  ],
]

test.each(mistakes)('for the schema %j and the value %j, reports %s', (schema, it, message) => {
  const form = readSchema({ type: 'object', properties: { it: schema } })
  expect(checkValue(form, { it })).toEqual(message === undefined ? [] : [{ path: 'it', message }])
})

test('shows problems at their own field, or at the nearest visible parent field', () => {
  const form = readSchema({
    properties: {
      items: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
      tags: { type: 'array', items: { type: 'string' } },
      any: {},
    },
  })
  const shown = new Set(shownPaths(form, { items: [{ name: 'a' }], tags: ['b'] }))
  const problems = [
    'params.items[0].name',
    'params.items.7.name',
    'params.tags[0]',
    'params.any.deep[3]',
    'params',
    'other',
  ]
  const { fields, rest } = placeProblems(
    problems.map((path) => ({ path: toFormPath(path), message: 'Wrong' })),
    shown,
  )
  expect(Object.fromEntries(fields)).toEqual({
    'items.0.name': 'Wrong',
    items: '7.name: Wrong',
    tags: '0: Wrong',
    any: 'deep.3: Wrong',
  })
  expect(rest).toEqual([
    { path: '', message: 'Wrong' },
    { path: 'other', message: 'Wrong' },
  ])
})

test('never shows a multi-line string in a single-line input', () => {
  expect(fits(fieldOf({ type: 'string', maxLength: 20 }), 'a\nb')).toBe(false)
  expect(fits(fieldOf({ type: 'string' }), 'a\nb')).toBe(true)
})

test('finds the variant of a value by its constants and types', () => {
  const field = fieldOf({
    oneOf: ['x', 'y'].map((type) => ({
      properties: { type: { const: type }, n: { type: 'number' } },
      required: ['type'],
    })),
  })
  const variants = field.kind === 'variants' ? field.variants : []
  expect(variants.map(({ label }) => label)).toEqual(['X', 'Y'])
  expect(variants.map((variant) => matches(variant, { type: 'y', n: 1 }))).toEqual([false, true])
  expect(variants.map((variant) => matches(variant, { type: 'y', n: 'one' }))).toEqual([false, false])
})

test('labels, durations and examples are short', () => {
  expect(['maxItems', 'max_items', 'URL', 'csvUrl', 'aPDFFile', '_'].map(toWords)).toEqual([
    'Max items',
    'Max items',
    'URL',
    'CSV URL',
    'A PDFFile',
    '_',
  ])
  expect([0, 999, 1000, 59_949, 59_950, 61_000, 7_260_000].map(durationText)).toEqual([
    '0 ms',
    '999 ms',
    '1.0 s',
    '59.9 s',
    '1 min',
    '1 min 1 s',
    '2 h 1 min',
  ])
  expect([-3, 59.4, 60].map(secondsText)).toEqual(['0 s', '59 s', '1 min'])
  const { value, isShortened } = shortened({ text: 'x'.repeat(3000), few: [1] })
  expect(isShortened).toBe(true)
  expect(value).toEqual({ text: `${'x'.repeat(200)}…`, few: [1] })
})
