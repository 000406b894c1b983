import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { profileCsv } from '../../../examples/quickstart/profile-csv.ts'

const documents = new URL('../../../examples/quickstart/documents/', import.meta.url)
const weather = readFileSync(new URL('seattle-weather.csv', documents), 'utf8')

async function profileColumn(values: readonly (string | number)[]) {
  const { columns } = await profileCsv(`value\n${values.map((value) => `"${value}"`).join('\n')}`)
  return columns[0]
}

test('statistics of the weather in Seattle match an independent computation', async () => {
  const { columns, ...table } = await profileCsv(weather)
  expect(table).toEqual({ rows: 1461, delimiter: ',', header: true, warnings: [] })
  const base = { count: 1461, missing: 0 }
  // Computed with Python's csv, fractions and statistics modules: exact means and medians, sample deviations.
  const number = { ...base, type: 'number' }
  expect(columns).toEqual([
    { ...base, name: 'date', type: 'date', distinct: 1461, min: '2012-01-01', max: '2015-12-31' },
    {
      ...number,
      name: 'precipitation',
      distinct: 111,
      min: 0,
      max: 55.9,
      mean: expect.closeTo(3.02943189596167, 13),
      median: 0,
      standardDeviation: expect.closeTo(6.680194322314738, 13),
    },
    {
      ...number,
      name: 'temp_max',
      distinct: 67,
      min: -1.6,
      max: 35.6,
      mean: expect.closeTo(16.43908281998631, 13),
      median: 15.6,
      standardDeviation: expect.closeTo(7.349758097360177, 13),
    },
    {
      ...number,
      name: 'temp_min',
      distinct: 55,
      min: -7.1,
      max: 18.3,
      mean: expect.closeTo(8.234770704996578, 13),
      median: 8.3,
      standardDeviation: expect.closeTo(5.023004179961265, 13),
    },
    {
      ...number,
      name: 'wind',
      distinct: 79,
      min: 0.4,
      max: 9.5,
      mean: expect.closeTo(3.24113620807666, 13),
      median: 3,
      standardDeviation: expect.closeTo(1.4378250588746195, 13),
    },
    {
      ...base,
      name: 'weather',
      type: 'string',
      distinct: 5,
      minLength: 3,
      maxLength: 7,
      top: [
        { value: 'rain', count: 641 },
        { value: 'sun', count: 640 },
        { value: 'fog', count: 101 },
        { value: 'drizzle', count: 53 },
        { value: 'snow', count: 26 },
      ],
    },
  ])
})

test.each([
  ['0', 'integer'],
  ['-17', 'integer'],
  ['+5', 'integer'],
  ['123456789012345678901234', 'integer'],
  ['007', 'string'],
  ['-01', 'string'],
  ['00.5', 'string'],
  ['0.50', 'number'],
  ['.5', 'number'],
  ['5.', 'number'],
  ['-1.5E-7', 'number'],
  ['1e100', 'string'],
  ['1e-100', 'string'],
  ['9'.repeat(400), 'string'],
  ['1,5', 'string'],
  ['1,000', 'string'],
  ['.', 'string'],
  ['-', 'string'],
  ['1e', 'string'],
  ['0x10', 'string'],
  ['NaN', 'string'],
  ['Infinity', 'string'],
  ['true', 'boolean'],
  ['No', 'boolean'],
  ['truey', 'string'],
  ['2024-02-29', 'date'],
  ['2023-02-29', 'string'],
  ['2024-13-01', 'string'],
  ['2024-01-31T23:59:59.123+02:00', 'date'],
  ['2024-01-31 25:00', 'string'],
  ['01/02/2024', 'string'],
])('the value %s has type %s', async (value, type) => {
  expect(await profileColumn([value])).toMatchObject({ type })
})

test('a column has the narrowest type that fits all its values', async () => {
  expect(await profileColumn([1, 2])).toMatchObject({ type: 'integer' })
  expect(await profileColumn([1, '2.0'])).toMatchObject({ type: 'number', min: 1, max: 2 })
  expect(await profileColumn(['true', 'FALSE'])).toMatchObject({ type: 'boolean', distinct: 2 })
  expect(await profileColumn(['true', 1])).toMatchObject({ type: 'string' })
  expect(await profileColumn([1, '007'])).toMatchObject({ type: 'string', minLength: 1, maxLength: 3 })
  expect(await profileColumn(['', ' '])).toEqual({
    name: 'value',
    type: 'empty',
    count: 0,
    missing: 2,
    distinct: 0,
  })
})

test('orders dates by time across time zone offsets and shows them as written', async () => {
  const dates = ['2024-01-01T00:30+02:00', '2023-12-31T22:45Z', '2023-12-31 22:15', '2024-01-01']
  expect(await profileColumn(dates)).toMatchObject({ type: 'date', min: '2023-12-31 22:15', max: '2024-01-01' })
})

test.each([
  ['a single value', [4], { mean: 4, median: 4, standardDeviation: null }],
  ['an even count', [4, 1, 3, 2], { mean: 2.5, median: 2.5, standardDeviation: Math.sqrt(5 / 3) }],
  ['equal values', ['0.1', '0.1', '0.1'], { mean: 0.1, median: 0.1, standardDeviation: 0 }],
  ['decimals', ['0.1', '0.2', '-0.3'], { mean: 0, median: 0.1 }],
  ['the largest figures', ['1e99', '1e99'], { mean: 1e99, median: 1e99, standardDeviation: 0 }],
  ['the smallest figures', ['2e-99', '4e-99'], { mean: 3e-99, standardDeviation: Math.SQRT2 * 1e-99 }],
  ['a large offset', [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16], { mean: 1e9 + 10, standardDeviation: Math.sqrt(30) }],
])('computes exact statistics of %s', async (_name, values, figures) => {
  const column: Record<string, unknown> = { ...(await profileColumn(values)) }
  for (const [name, expected] of Object.entries(figures)) {
    const actual = column[name]
    if (expected === null || expected === 0) expect(actual).toBe(expected)
    else expect(Number(actual) / expected).toBeCloseTo(1, 14)
  }
})

test.each([
  ['commas', 'a,b,c;d\n1,2,3', ','],
  ['semicolons, with decimal commas', 'a;b\n1,5;2\n2,5;3', ';'],
  ['tabs', 'a\tb, c\n1\t2\n', '\t'],
  ['pipes', 'a|b\n"1,2,3"|2\n', '|'],
  ['a single column', 'a\n1\n2', ','],
  ['commas, with semicolons inside quotes', '"x;y",1\n"z;w",2', ','],
  ['pipes, with commas only in quoted values', '"a,b"|c\n"d,e"|f', '|'],
])('detects the delimiter: %s', async (_name, csv, delimiter) => {
  expect((await profileCsv(csv)).delimiter).toBe(delimiter)
})

test('prefers a semicolon if a comma splits the first row equally often', async () => {
  expect((await profileCsv('1,5;2\n2,5;3', { header: false })).delimiter).toBe(';')
})

test('uses a given delimiter', async () => {
  const { columns, delimiter } = await profileCsv('a;b,c^d\n1;2,3^4', { delimiter: '^' })
  expect(delimiter).toBe('^')
  expect(columns.map(({ name }) => name)).toEqual(['a;b,c', 'd'])
})

test('keeps empty cells of a tab-separated table in their columns', async () => {
  const { columns } = await profileCsv('a\tb\tc\n\t\t1\n 2 \t\t\n')
  expect(columns.map(({ count, missing, type }) => [count, missing, type])).toEqual([
    [1, 1, 'integer'],
    [0, 2, 'empty'],
    [1, 1, 'integer'],
  ])
})

test('ignores a byte order mark, the line ending style, empty lines and surrounding spaces', async () => {
  const { rows, columns } = await profileCsv('\ufeffname, value\r\n\r\n x ,1\r"y, z", 2\n\n')
  expect(rows).toBe(2)
  expect(columns).toMatchObject([
    { name: 'name', top: [{ value: 'x' }, { value: 'y, z' }] },
    { name: 'value', type: 'integer', max: 2 },
  ])
})

test('quoted values may contain delimiters, quotes and line breaks', async () => {
  const { rows, columns } = await profileCsv('a,b\n"1\r\n2","say ""hi"", ok"\n')
  expect(rows).toBe(1)
  expect(columns).toMatchObject([{ top: [{ value: '1\r\n2' }] }, { top: [{ value: 'say "hi", ok' }] }])
})

test('counts rows with too few or too many cells, and treats absent cells as missing values', async () => {
  const { rows, columns, warnings } = await profileCsv(`a,b\n"x\ny",1\n2\n${'1,2,3\n'.repeat(7)}`)
  expect(rows).toBe(9)
  expect(columns[1]).toMatchObject({ count: 8, missing: 1 })
  expect(warnings).toEqual([
    'Rows with fewer values than columns: 1. The other values count as missing.',
    'Rows with more values than columns: 7. The extra values are ignored.',
  ])
})

test('names a column without a name by its number', async () => {
  const { columns } = await profileCsv('id,,id,__proto__\n1,2,3,4')
  expect(columns.map(({ name }) => name)).toEqual(['id', 'column 2', 'id', '__proto__'])
  expect(columns.map((column) => 'max' in column && column.max)).toEqual([1, 2, 3, 4])
})

test('without a header, every row counts as data and columns are numbered', async () => {
  const { rows, columns, header, warnings } = await profileCsv('1,x\n2,y', { header: false })
  expect({ rows, header, warnings }).toEqual({ rows: 2, header: false, warnings: [] })
  expect(columns).toMatchObject([{ name: 'column 1', type: 'integer', max: 2 }, { name: 'column 2' }])
})

test('a header alone yields a table without rows, with a warning', async () => {
  const { rows, columns, warnings } = await profileCsv('a,b\n')
  expect(rows).toBe(0)
  expect(columns.map(({ type }) => type)).toEqual(['empty', 'empty'])
  expect(warnings).toEqual(['The table has no rows below its header.'])
})

test.each([
  ['', 'The CSV is empty.'],
  [' \n\r\n\t\n', 'The CSV is empty.'],
  ['a,b\n1,2\n\n3,"x\n4,5\n', 'Quote Not Closed'],
  ['a,b\n"1\n2",2\n3,5" pipe', 'a quote is found on field 1 at line 4'],
  ['a,b\n1,"x" y\n', 'Invalid Closing Quote: found non trimable byte after quote at line 2'],
  [','.repeat(20_000), 'The CSV has 20001 columns. At most 20000 are supported.'],
])('rejects broken CSV with the reason (%#)', async (csv, message) => {
  await expect(profileCsv(csv)).rejects.toThrow(message)
})

test('profiles each of thousands of columns', async () => {
  const row = Array.from({ length: 5000 }, (_, i) => i).join()
  const { columns, rows } = await profileCsv(`${row}\n${row}\n${row}`)
  expect(rows).toBe(2)
  expect(columns).toHaveLength(5000)
  expect(columns[4999]).toMatchObject({ name: '4999', min: 4999, mean: 4999, standardDeviation: 0, distinct: 1 })
})

test('shortens long values in the output', async () => {
  const { columns } = await profileCsv(`s\n${'x'.repeat(101)}\ny`)
  expect(columns[0]).toMatchObject({
    minLength: 1,
    maxLength: 101,
    top: [{ value: `${'x'.repeat(99)}…` }, { value: 'y' }],
  })
})

test('characters beyond the basic plane survive chunk boundaries', async () => {
  const { columns } = await profileCsv(`s\n${'x'.repeat(65_532)}😀${'y'.repeat(65_535)}😀`)
  expect(columns[0]).toMatchObject({ maxLength: 65_532 + 2 + 65_535 + 2 })
})

test('an aborted run rejects with the abort reason without blocking other work', async () => {
  const controller = new AbortController()
  const csv = weather.repeat(40)
  const stopped = profileCsv(csv, { header: true, signal: controller.signal })
  setImmediate(() => controller.abort(new Error('stopped by the test')))
  await expect(stopped).rejects.toThrow('stopped by the test')
})

test('statistics of any integers match exact arithmetic', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer(), { minLength: 1, maxLength: 200 }), async (values) => {
      const column = await profileColumn(values)
      if (column?.type !== 'integer') throw new Error(`The type is ${column?.type}.`)
      const sorted = values.toSorted((a, b) => a - b)
      const sum = values.reduce((total, value) => total + BigInt(value), 0n)
      const squares = values.reduce((total, value) => total + BigInt(value) ** 2n, 0n)
      const count = BigInt(values.length)
      expect(column).toMatchObject({ min: sorted[0]! + 0, max: sorted.at(-1)! + 0, distinct: new Set(values).size })
      expect(column.median).toBe((sorted[(values.length - 1) >> 1]! + sorted[values.length >> 1]!) / 2)
      expect(Math.abs(column.mean - Number(sum) / values.length)).toBeLessThanOrEqual(1e-6)
      // n·Σx² − (Σx)², divided by n(n − 1), is the sample variance.
      const variance = Number(count * squares - sum ** 2n) / Number(count * (count - 1n))
      if (values.length === 1) expect(column.standardDeviation).toBeNull()
      else expect(column.standardDeviation! / Math.sqrt(variance) || 1).toBeCloseTo(1, 9)
    }),
  )
})

test('any table written as CSV is read back with its rows and counts', async () => {
  const cell = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('', '"', 'a,b', '\n', '\r\n', '__proto__', '1', '\0'),
  )
  const tables = fc.integer({ min: 1, max: 6 }).chain((width) => {
    return fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 20 })
  })
  await fc.assert(
    fc.asyncProperty(tables, fc.constantFrom(',', ';', '\t', '|'), async (table, delimiter) => {
      const quote = (value: string) => `"${value.replaceAll('"', '""')}"`
      const csv = table.map((row) => row.map(quote).join(delimiter)).join('\r\n')
      const { rows, columns, warnings } = await profileCsv(csv, { delimiter, header: false })
      expect(rows).toBe(table.length)
      expect(warnings).toEqual([])
      for (const [at, column] of columns.entries()) {
        const filled = table.map((row) => row[at] ?? '').filter((value) => value.trim() !== '')
        expect(column).toMatchObject({ count: filled.length, missing: rows - filled.length })
        if (delimiter !== '\t') expect(column.distinct).toBe(new Set(filled).size)
      }
    }),
  )
})
