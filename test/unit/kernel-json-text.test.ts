import { expect, test } from 'vitest'
import { storedObject, writeJson } from '../../server/kernel/json-text.ts'

const texts = [
  '{}',
  '{"b":1,"a":[]}',
  '{"2":0,"__proto__":{"x":null}}',
  '{"t":"\\ud800\\u0000é\\""}',
  '{"n":1e+21,"$&":"$1"}',
]

test('writes stored objects verbatim and everything else like JSON.stringify', () => {
  const answer = (of: (text: string) => unknown) => ({
    id: 'é',
    none: undefined,
    first: of(texts[0]!),
    list: [null, ...texts.map(of), { deep: texts.map(of) }],
  })
  const written = writeJson(answer(storedObject))
  expect(written).toBe(JSON.stringify(answer((text) => JSON.parse(text) as unknown)))
  // Other serializers, such as tRPC's for a batch.
  expect(JSON.stringify(answer(storedObject))).toBe(written)
})

test('writes plain values like JSON.stringify, and a failure leaves no state behind', () => {
  expect(writeJson({ a: ['x', 1, { b: null }] })).toBe('{"a":["x",1,{"b":null}]}')
  expect(() => writeJson({ first: storedObject('{"a":1}'), then: 1n })).toThrow(TypeError)
  expect(JSON.stringify(storedObject('{"a":1}'))).toBe('{"a":1}')
})
