import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findUnfitJson } from '../../server/kernel/check-json.ts'

const nestedArray = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const nestedObject = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
const find = (text: string) => findUnfitJson(JSON.parse(text))

test('accepts 100 levels of nesting and rejects 101', () => {
  expect([find(nestedArray(100)), find(nestedObject(100))]).toEqual([undefined, undefined])
  const message = 'Must have at most 100 levels of nesting'
  expect(find(nestedArray(101))).toEqual({ path: '[0]'.repeat(100), message })
  expect(find(nestedObject(101))).toEqual({ path: `a${'.a'.repeat(99)}`, message })
  expect(find(`{"deep":${nestedArray(100)}}`)).toEqual({ path: `deep${'[0]'.repeat(99)}`, message })
  expect(find(`[1,${nestedArray(100)}]`)).toEqual({ path: `[1]${'[0]'.repeat(99)}`, message })
})

test('also checks values at the hundredth level', () => {
  const inside = (value: string) => `${'['.repeat(100)}${value}${']'.repeat(100)}`
  expect(find(inside('1'))).toBeUndefined()
  expect(find(inside('1e400'))).toMatchObject({ path: '[0]'.repeat(100) })
  expect(find(inside('"\\ud800"'))).toMatchObject({ path: '[0]'.repeat(100) })
})

test('rejects 100,000 levels without exhausting the stack', () => {
  let value: unknown = 1
  for (let depth = 0; depth < 100_000; depth++) value = depth % 2 === 0 ? [value] : { a: value }
  expect(findUnfitJson(value)).toMatchObject({ message: expect.stringContaining('nesting') })
})

test('rejects a number too large for a double with its path, and accepts the largest double', () => {
  expect(find('{"a":[1,{"b":1e400}]}')).toMatchObject({ path: 'a[1].b' })
  expect(find('[-1e400]')).toMatchObject({ path: '[0]' })
  expect(find('1e999')).toMatchObject({ path: '' })
  expect(find('[1.7976931348623157e308, -0, 5e-324, 1e-400, 9007199254740993]')).toBeUndefined()
})

test('rejects a key named __proto__ anywhere, and accepts similar keys', () => {
  expect(find('{"__proto__":1}')).toMatchObject({ path: '__proto__' })
  expect(find('{"a":[{"b":{"__proto__":{"isAdmin":true}}}]}')).toMatchObject({ path: 'a[0].b.__proto__' })
  expect(find(String.raw`{"\u005f_proto__":1}`)).toMatchObject({ path: '__proto__' })
  expect(find('{"constructor":{"prototype":1},"__proto":1,"proto":"__proto__","hasOwnProperty":1}')).toBeUndefined()
})

test('rejects lone surrogates in values and keys, and accepts surrogate pairs', () => {
  for (const half of [String.raw`\ud83d`, String.raw`\ude00`, String.raw`\ude00\ud83d`, String.raw`a\udfffb`]) {
    expect(find(`{"a":["x","${half}"]}`)).toMatchObject({ path: 'a[1]' })
    expect(find(`{"a":{"${half}":1}}`)!.path).toMatch(/^a\.[^]*\ufffd/)
    expect(find(`{"a":{"${half}":1}}`)!.path.isWellFormed()).toBe(true)
    expect(find(`"${half}"`)).toMatchObject({ path: '' })
  }
  expect(find(String.raw`{"a":"\ud83d\ude00","😀":"\u0000"}`)).toBeUndefined()
})

test('truncates a path to a thousand characters, even if its keys are longer', () => {
  const long = 'k'.repeat(1_000_000)
  for (const text of [`{"${long}":1e400}`, `{"a":{"${long}":{"${long}":[1e400]}}}`, `{"${long}\\ud800":1}`]) {
    const { path } = find(text)!
    expect([path.length, path.isWellFormed(), path.endsWith('k…')]).toEqual([1001, true, true])
  }
})

test('accepts all other JSON, which round-trips unchanged', () => {
  expect(['null', 'true', '""', '0', '[]', '{}', '{"":""}'].map(find)).toEqual(Array(7).fill(undefined))
  fc.assert(
    fc.property(fc.json({ stringUnit: 'grapheme' }), (text) => {
      const value: unknown = JSON.parse(text)
      if (findUnfitJson(value) === undefined) expect(JSON.parse(JSON.stringify(value))).toEqual(value)
      else expect(text).toContain('__proto__')
    }),
  )
})

test('finds an invalid value anywhere in valid JSON', () => {
  const steps = fc.array(fc.oneof(fc.nat({ max: 3 }), fc.constantFrom('a', 'b', 'params')), { maxLength: 20 })
  const unfit = fc.constantFrom(Infinity, -Infinity, Number.NaN, '\ud800', 'x\udc00')
  fc.assert(
    fc.property(steps, unfit, (path, value) => {
      const root = path.reduceRight<unknown>((inner, step) => {
        if (typeof step === 'string') return { z: 1, [step]: inner, zz: ['fine'] }
        return Object.assign(
          Array.from({ length: 5 }, () => 'fine'),
          { [step]: inner },
        )
      }, value)
      const written = path.reduce<string>((text, step) => {
        if (typeof step === 'number') return `${text}[${step}]`
        return text === '' ? step : `${text}.${step}`
      }, '')
      expect(findUnfitJson(root)).toMatchObject({ path: written })
    }),
  )
})

test('checks a ten-megabyte body with memory of at most a small multiple of its size', async () => {
  const module = new URL('../../server/kernel/check-json.ts', import.meta.url).href
  const code = `
    const { parentPort } = require('node:worker_threads')
    import(${JSON.stringify(module)}).then(({ findUnfitJson }) => {
      const bodies = ['[' + '1,'.repeat(5_000_000) + '1]', '[' + '"",'.repeat(3_400_000) + '""]']
      parentPort.postMessage(bodies.map((text) => findUnfitJson(JSON.parse(text)) === undefined))
    })`
  const thread = new Worker(code, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 256 } })
  const answer = await new Promise((resolve) => {
    thread.once('message', resolve)
    thread.once('error', (error) => resolve(error.message))
  })
  await thread.terminate()
  expect(answer).toEqual([true, true])
})
