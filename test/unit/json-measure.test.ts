import { expect, test } from 'vitest'
import { jsonNameBytesMax } from '../../server/kernel/json-values.ts'
import { JsonMeasure } from '../../server/http/limits/json-measure.ts'

const pieceBytes = 1024 * 1024

function refusalOf(text: string): string | undefined {
  const measure = new JsonMeasure(Buffer.from(text))
  while (!measure.isWhole) {
    const unfit = measure.go()
    if (unfit !== undefined) return unfit
  }
  return undefined
}

test('a quote that is escaped by the last byte of a piece does not end its text', () => {
  const start = `["${'x'.repeat(pieceBytes - 3)}\\`
  expect(start.length).toBe(pieceBytes)
  expect(refusalOf(`${start}"${','.repeat(300_000)}"]`)).toBeUndefined()
})

test('values, names and levels are counted over pieces', () => {
  const half = `"${'x'.repeat(pieceBytes)}"`
  const zeros = Array(130_000).fill('0').join(',')
  expect(refusalOf(`[${zeros},${half}]`)).toBeUndefined()
  expect(refusalOf(`[${zeros},${half},${zeros}]`)).toContain('250000 values')
  const members = (from: number) => Array.from({ length: 26_000 }, (_, n) => `"k${from + n}":0`).join(',')
  expect(refusalOf(`{${members(0)},"half":${half},${members(0)}}`)).toBeUndefined()
  expect(refusalOf(`{${members(0)},"half":${half},${members(26_000)}}`)).toContain('50000 different names')
  expect(refusalOf(`${'['.repeat(90)}${half},${'['.repeat(30)}`)).toContain('nested deeper')
})

test('a name that V8 would hash by its length alone is refused, and a value of any length is not', () => {
  const long = `"${'x'.repeat(jsonNameBytesMax)}"`
  expect(refusalOf(`{${long}:[${long},{"a" : ${long}}]}`)).toBeUndefined()
  expect(refusalOf(`{"a":1,"x${long.slice(1)} : 1}`)).toContain(
    `a property name of more than ${jsonNameBytesMax} bytes`,
  )
})
