import { expect, test } from 'vitest'
import { storedObject, writeJson } from '../../server/kernel/json-text.ts'

const texts = [
  '{}',
  '{"b":1,"a":[]}',
  '{"2":0,"__proto__":{"x":null}}',
  '{"t":"\\ud800\\u0000é\\""}',
  '{"n":1e+21,"$&":"$1"}',
]

test('a stored object is written as its text, wherever it stands, and the rest as JSON.stringify would', () => {
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

test('an answer without stored objects is what JSON.stringify makes of it, and one that fails leaves nothing behind', () => {
  expect(writeJson({ a: ['x', 1, { b: null }] })).toBe('{"a":["x",1,{"b":null}]}')
  expect(() => writeJson({ first: storedObject('{"a":1}'), then: 1n })).toThrow(TypeError)
  expect(JSON.stringify(storedObject('{"a":1}'))).toBe('{"a":1}')
})
