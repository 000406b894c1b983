import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson } from '../../server/kernel/canonical-json.ts'

function reorder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reorder)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, reorder(inner)]),
  )
}

test('ignores key order at any depth, but not array order', () => {
  expect(canonicalJson({ b: 1, a: { d: [{ y: 1, x: 2 }], c: 3 } })).toBe('{"a":{"c":3,"d":[{"x":2,"y":1}]},"b":1}')
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]))
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(canonicalJson(reorder(value))).toBe(canonicalJson(value))
    }),
  )
})

test('orders numeric keys consistently', () => {
  expect(canonicalJson(JSON.parse('{"10":1,"9":2,"a":3}'))).toBe(canonicalJson(JSON.parse('{"a":3,"9":2,"10":1}')))
})

test('keeps the key order that stored hashes depend on', () => {
  const key = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.nat().map(String),
    fc.integer({ min: 2 ** 32 - 4, max: 2 ** 32 + 4 }).map(String),
    fc.constantFrom('00', '01', '-0', '-1', '1.5', '1e3', '9007199254740993', 'A', 'a', '\uffff', '😀'),
  )
  const sorted = (value: Record<string, unknown>) =>
    JSON.stringify(Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))))
  fc.assert(
    fc.property(fc.dictionary(key, fc.integer(), { noNullPrototype: true }), (value) => {
      expect(canonicalJson(value)).toBe(sorted(value))
    }),
    { numRuns: 1000 },
  )
})

test('preserves the value, so different values have different canonical JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (first, second) => {
      expect(JSON.parse(canonicalJson(first))).toEqual(JSON.parse(JSON.stringify(first)))
      const isSame = canonicalJson(first) === canonicalJson(second)
      expect(isSame).toBe(
        JSON.stringify(JSON.parse(canonicalJson(first))) === JSON.stringify(JSON.parse(canonicalJson(second))),
      )
    }),
  )
})

test('keeps a key named __proto__', () => {
  const value: unknown = JSON.parse('{"b":1,"__proto__":{"a":2}}')
  expect(canonicalJson(value)).toBe('{"__proto__":{"a":2},"b":1}')
  expect(canonicalJson(value)).not.toBe(canonicalJson({ b: 1 }))
})

test('treats undefined fields as missing and toJSON as an ordinary key', () => {
  expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}')
  expect(canonicalJson({ toJSON: 1, a: 2 })).toBe('{"a":2,"toJSON":1}')
})

test('distinguishes values of different types, such as a number and its digits', () => {
  expect(canonicalJson({ a: 1 })).not.toBe(canonicalJson({ a: '1' }))
  expect(canonicalJson({ a: null })).not.toBe(canonicalJson({}))
  expect(canonicalJson({ a: [] })).not.toBe(canonicalJson({ a: {} }))
})
