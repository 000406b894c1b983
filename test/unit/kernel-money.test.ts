import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatUsd, parseUsd, unitsPerUsd } from '../../server/kernel/money.ts'

const units = fc.maxSafeInteger()

test('formats money with exactly four fraction digits', () => {
  expect([0, 1, 100, 9999, 10_000, 12_345_678].map(formatUsd)).toEqual([
    '0.0000',
    '0.0001',
    '0.0100',
    '0.9999',
    '1.0000',
    '1234.5678',
  ])
  expect([-1, -100, -10_000, -125_000].map(formatUsd)).toEqual(['-0.0001', '-0.0100', '-1.0000', '-12.5000'])
  expect(formatUsd(Number.MAX_SAFE_INTEGER)).toBe('900719925474.0991')
  fc.assert(fc.property(units, (value) => /^-?(0|[1-9]\d*)\.\d{4}$/.test(formatUsd(value))))
})

test('formats and parses negative zero as zero', () => {
  expect(formatUsd(-0)).toBe('0.0000')
  expect(Object.is(parseUsd('-0.0000'), 0)).toBe(true)
})

test('formatted amounts parse back unchanged', () => {
  const readable = fc.integer({ min: -(99_999_999_999 * unitsPerUsd), max: 99_999_999_999 * unitsPerUsd + 9999 })
  fc.assert(fc.property(readable, (value) => parseUsd(formatUsd(value)) === value))
})

test('formatting matches exact arithmetic at any size', () => {
  fc.assert(
    fc.property(units, (value) => {
      const text = formatUsd(value)
      expect(BigInt(text.replace('.', ''))).toBe(BigInt(value))
      expect(text.startsWith('-')).toBe(value < 0)
    }),
  )
})

test('parses fewer than four fraction digits as if padded with zeros', () => {
  expect(['25', '25.0', '25.00', '25.000', '25.0000'].map(parseUsd)).toEqual(Array(5).fill(250_000))
  expect(['0.1', '.1', '1.', '0.01', '-1.25', '007'].map(parseUsd)).toEqual([
    1000,
    undefined,
    undefined,
    100,
    -12_500,
    70_000,
  ])
})

test('rejects anything except a decimal with at most four fraction digits', () => {
  const wrong = [
    '',
    ' ',
    '1 ',
    ' 1',
    '1,5',
    '1.00001',
    '1e3',
    '0x10',
    '+1',
    '--1',
    '-',
    '.',
    '1.2.3',
    'NaN',
    'Infinity',
    '1\n',
    '٣',
  ]
  expect(wrong.map(parseUsd)).toEqual(wrong.map(() => undefined))
  fc.assert(
    fc.property(fc.string(), (text) => {
      const read = parseUsd(text)
      expect(read !== undefined).toBe(/^-?[0-9]{1,11}(\.[0-9]{1,4})?$/.test(text) && !text.includes('\n'))
    }),
  )
})

test('parses only amounts that are safe integers', () => {
  expect(parseUsd('99999999999.9999')).toBe(999_999_999_999_999)
  expect(parseUsd('100000000000')).toBeUndefined()
  const decimals = fc.stringMatching(/^-?[0-9]{1,14}(\.[0-9]{1,6})?$/)
  fc.assert(
    fc.property(decimals, (text) => {
      const read = parseUsd(text)
      if (read !== undefined) expect(Number.isSafeInteger(read)).toBe(true)
    }),
  )
})

test('throws instead of formatting an amount that is not a safe integer', () => {
  for (const value of [0.5, Number.NaN, Infinity, -Infinity, Number.MAX_SAFE_INTEGER + 1]) {
    expect(() => formatUsd(value)).toThrow('safe integer')
  }
})
