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

test('a quote escaped at the end of a chunk does not end its string', () => {
  const start = `["${'x'.repeat(pieceBytes - 3)}\\`
  expect(start.length).toBe(pieceBytes)
  expect(refusalOf(`${start}"${','.repeat(300_000)}"]`)).toBeUndefined()
})

test('counts values, names and nesting levels across chunks', () => {
  const half = `"${'x'.repeat(pieceBytes)}"`
  const zeros = Array(130_000).fill('0').join(',')
  expect(refusalOf(`[${zeros},${half}]`)).toBeUndefined()
  expect(refusalOf(`[${zeros},${half},${zeros}]`)).toContain('250000 values')
  const members = (from: number) => Array.from({ length: 26_000 }, (_, n) => `"k${from + n}":0`).join(',')
  expect(refusalOf(`{${members(0)},"half":${half},${members(0)}}`)).toBeUndefined()
  expect(refusalOf(`{${members(0)},"half":${half},${members(26_000)}}`)).toContain('50000 different names')
  expect(refusalOf(`${'['.repeat(90)}${half},${'['.repeat(30)}`)).toContain('levels of nesting')
})

test('rejects an overlong property name, but accepts a string value of the same length', () => {
  const long = `"${'x'.repeat(jsonNameBytesMax)}"`
  expect(refusalOf(`{${long}:[${long},{"a" : ${long}}]}`)).toBeUndefined()
  expect(refusalOf(`{"a":1,"x${long.slice(1)} : 1}`)).toContain(
    `a property name of more than ${jsonNameBytesMax} bytes`,
  )
})
