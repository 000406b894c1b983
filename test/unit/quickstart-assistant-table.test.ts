import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { noConnectors } from '../../server/connectors/run-connectors.ts'
import { assistantChat } from '../../examples/quickstart/assistant/assistant-chat.ts'
import type { ChatMessage, ChatPart } from '../../server/agents/define-config.ts'

const weather = readFileSync(
  new URL('../../examples/quickstart/documents/seattle-weather.csv', import.meta.url),
  'utf8',
)

/** Asks after messages of the user, and checks that each result follows its own call. */
async function ask({ before = [], message }: { before?: readonly string[]; message: string }) {
  const history = before.flatMap((content): ChatMessage[] => [
    { role: 'user', content },
    { role: 'assistant', content: 'Noted.' },
  ])
  const signal = new AbortController().signal
  const ids = { connectors: noConnectors, userId: 'user', sessionId: 'session', turnId: 'turn' }
  const parts: ChatPart[] = []
  for await (const part of assistantChat.reply({ message, history, params: {}, ...ids, signal, log: () => {} })) {
    parts.push(part)
  }
  const calls = parts.filter((part) => part.type === 'tool-call')
  const results = parts.filter((part) => part.type === 'tool-result')
  expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id))
  for (const { id } of calls) {
    const at = parts.findIndex((part) => part.type === 'tool-call' && part.id === id)
    expect(parts[at + 1]).toMatchObject({ type: 'tool-result', id })
  }
  for (const call of calls) expect(JSON.stringify(call.arguments).length).toBeLessThan(500)
  for (const { output } of results) expect(JSON.stringify(output).length).toBeLessThan(50_000)
  return {
    text: parts.map((part) => (part.type === 'text' ? part.delta : '')).join(''),
    deltas: parts.filter((part) => part.type === 'text').length,
    calls: calls.map(({ name, arguments: given }) => ({ name, ...given })),
    outputs: results.map(({ output }) => output),
  }
}

// By hand: amounts are 0.1, 0.2, -5.5, "n/a", empty and 100. North 0.1 - 5.5 + 100 = 94.6; South 0.2; all 94.8.
const sales = `order_id,region,product,unit_price,amount,order_date
1,North,Apple,1.10,0.1,2024-01-05
2,South,Pear,2.20,0.2,2024-01-17
3,North,Pear,2.20,-5.5,2024-02-02
4,West,Apple,1.10,n/a,2024-02-20
5,South,"Plum, ""red""",3.30,,2024-03-01
6,North,Fig,10,100,2024-03-09`

test('a pasted table is acknowledged by its profile', async () => {
  const { calls, outputs, text } = await ask({ message: sales })
  expect(calls).toEqual([{ name: 'data.profile', delimiter: ',', header: true }])
  expect(outputs[0]).toMatchObject({ rows: 6, columnCount: 6 })
  expect(text).toContain('6 rows and 6 columns')
  expect(text).toContain('- unit_price: number from 1.1 to 10')
  expect(text).toContain('- region: text, 3 different values')
})

test('a total is computed exactly by data.query, with what was left out, and streamed word by word', async () => {
  const { calls, outputs, text, deltas } = await ask({ before: [sales], message: 'What is the total amount?' })
  expect(calls).toEqual([{ name: 'data.query', operation: 'sum', column: 'amount' }])
  expect(outputs).toEqual([
    { tableRows: 6, value: '94.8', rows: 6, used: 4, empty: 1, skipped: 1, skippedExample: 'n/a' },
  ])
  expect(text).toContain('The total of amount is 94.8, over all 6 rows.')
  expect(text).toContain('I skipped 1 cell of amount that is no number, such as "n/a". 1 cell of amount is empty.')
  expect(deltas).toBe(text.trim().split(/\s+/).length)
})

test.each([
  // 0.1 + 0.2 is not 0.3 in doubles.
  ['total amount before 2024-02', 'is 0.3,'],
  // (94.8) / 4
  ['What is the average amount?', 'is 23.7,'],
  // -5.5, 0.1, 0.2, 100: (0.1 + 0.2) / 2
  ['median of the amounts', 'is 0.15,'],
  ['What is the lowest amount?', 'is -5.5,'],
  ['maximum UNIT-PRICE', 'is 10,'],
  // 1.10 + 2.20 + 2.20 + 1.10 + 3.30 + 10
  ['sum of unit prices', 'is 19.90,'],
  // 19.9 / 6 = 3.31666…
  ['mean of "unit_price"', 'is 3.316667 (rounded),'],
  ['What is the total price?', 'The total of unit_price is 19.90,'],
  ['sum of amount where region is North', 'is 94.6, over the 3 rows where region is North'],
  ['sum of amount where region = "north"', 'is 94.6,'],
  ['total amount for North', 'is 94.6,'],
  ['total amount in North or South', 'is 94.8, over the 5 rows where region is North or South'],
  ['total amount where region is not North', 'is 0.2,'],
  ['total amount excluding North', 'is 0.2,'],
  ['total amount for North and product Pear', 'is -5.5, over the 1 row'],
  ['total amount since March 2024', 'is 100, over the 2 rows'],
  ['total amount between 2024-01-10 and 2024-02-28', 'is -5.3, over the 3 rows'],
  ['unit price for plum, "red"', '1 row of 6 where product is Plum, "red"'],
  ['total amount of the North region', 'is 94.6,'],
  ['total amount not in North', 'is 0.2,'],
  ['total amount excluding North and West', 'is 0.2, over the 2 rows where region is not North and region is not West'],
  ['total amount for regions other than North', 'is 0.2,'],
  ["North's total amount", 'is 94.6,'],
  ['show the first 2 rows', 'The first 2 of 6 rows:\n- order_id: 1, region: North'],
  ['How many rows are there?', 'The table has 6 rows.'],
  ['How many orders have region South?', '2 rows of 6 where region is South.'],
  ['how many rows have an amount of at least 100?', '1 row of 6 where amount >= 100.'],
  ['how many rows where amount is over 0.15', '2 rows of 6'],
  ['How many different products are there?', '4 different values'],
  ['list the regions', 'North (3), South (2), West (1)'],
  ['Which product has the highest unit price?', 'product: Fig'],
  ['Which product has the lowest unit price?', '2 rows have it'],
  ['Which region has the highest total amount?', 'is North, with 94.6'],
  [
    'Which month had the highest total amount?',
    'The month of order_date with the highest total of amount is 2024-03, with 100',
  ],
  ['Number of orders per region', '- North: 3\n- South: 2\n- West: 1'],
  ['Tell me about this data', '6 rows and 6 columns'],
  ['Which region has the most orders?', 'is North, with 3'],
  ['most common product', 'is Apple, with 2, among 4 groups, over all 6 rows. 1 more group has the same.'],
  ['top 2 rows by amount', 'The 2 rows with the highest amount'],
  ['when was the latest order date?', 'is 2024-03-09,'],
])('"%s" is answered with "%s"', async (message, answer) => {
  expect((await ask({ before: [sales], message })).text).toContain(answer)
})

test('figures by group are the highest first, and dates are grouped by month in their order', async () => {
  const byRegion = await ask({ before: [sales], message: 'total amount by region' })
  expect(byRegion.calls).toEqual([{ name: 'data.query', operation: 'sum', column: 'amount', groupBy: 'region' }])
  expect(byRegion.text).toContain(':\n- North: 94.6\n- South: 0.2\n- West: no numbers\n')
  const byMonth = await ask({ before: [sales], message: 'amount per month' })
  expect(byMonth.text).toContain(':\n- 2024-01: 0.3\n- 2024-02: -5.5\n- 2024-03: 100\n')
})

test('several figures are several calls, each with its result', async () => {
  const { calls, text } = await ask({ before: [sales], message: 'total amount and average unit price' })
  expect(calls).toMatchObject([
    { operation: 'sum', column: 'amount' },
    { operation: 'average', column: 'unit_price' },
  ])
  expect(text).toMatch(/total of amount is 94\.8,[^]*\nThe average of unit_price is 3\.316667/)
})

test('a question may stand before or after the table in the same message, and introductions do no harm', async () => {
  for (const message of [
    `What is the total amount?\n${sales}`,
    `Here is my data, please look:\n\n${sales}\n\nWhat is the total amount, please?`,
    `${sales}\nWhat is the total amount, please?`,
    `What is the total amount?\n\`\`\`csv\n${sales}\n\`\`\``,
  ]) {
    expect((await ask({ message })).text, message).toContain('The total of amount is 94.8, over all 6 rows.')
  }
  expect((await ask({ message: `Hello. Here is my table:\n${sales}` })).text).toContain('6 rows and 6 columns')
})

test('a question that begins with "and" is completed by the one before', async () => {
  const before = [sales, 'What is the total amount for North?']
  // North: -5.5, 0.1, 100
  expect((await ask({ before, message: 'And the median?' })).text).toContain(
    'is 0.1, over the 3 rows where region is N',
  )
  expect((await ask({ before, message: 'And for South?' })).text).toContain(
    'The total of amount is 0.2, over the 2 rows',
  )
})

test('of several tables the newest counts', async () => {
  const before = [sales, 'amount,fee\n1,2\n3,5']
  expect((await ask({ before, message: 'total amount' })).text).toContain('is 4, over all 2 rows')
  expect((await ask({ before, message: 'total unit price' })).text).toContain('no column and no value called')
})

test.each([
  ['What is the total discount?', 'no column and no value called "discount". Its columns are "order_id", "region"'],
  ['total amount for Nrth', 'no column and no value called "Nrth"'],
  ['What is the total?', 'Which column do you mean?'],
  ['average order', '"order" may mean "order_id" or "order_date"'],
  ['total amount by region and product', 'one column at a time'],
  ['What is the second highest amount?', 'I do not understand "second"'],
  ['total amount never in North', 'I do not understand "never"'],
  ['total amount this month', 'I do not understand "month"'],
  ['total amount where region is North or product is Fig', 'I do not understand "or"'],
  ['how many amounts are negative?', 'no column and no value called "negative"'],
  ['make me a sandwich', 'I do not understand'],
  ['Will it rain?', 'For example: What is the total unit_price? What is the average unit_price by region?'],
])('"%s" is refused: %s', async (message, reason) => {
  const { calls, text } = await ask({ before: [sales], message })
  expect(calls).toEqual([])
  expect(text).toContain(reason)
})

test('a condition that no row meets says so and names the values there are', async () => {
  const { text } = await ask({ before: [sales], message: 'total amount where region is East' })
  expect(text).toBe('There is no row where region is East. The values of region are: North, South, West.')
})

test('without anything pasted the assistant says so', async () => {
  const { calls, text } = await ask({ message: 'What is the total amount?' })
  expect(calls).toEqual([])
  expect(text).toContain('Nothing was pasted')
})

test('the weather in Seattle is answered as an independent computation has it', async () => {
  // Computed with Python's csv, decimal and statistics modules.
  for (const [message, answer] of [
    ['total precipitation', 'is 4426.0, over all 1461 rows'],
    ['What was the total precipitation in 2013?', 'is 828.0, over the 365 rows where date is in 2013'],
    ['median wind for rain', 'is 3.4, over the 641 rows where weather is rain'],
    ['highest wind', 'is 9.5, over all 1461 rows. It is in the row date: 2012-12-17'],
    ['minimum temp min', 'is -7.1,'],
    ['how many days were snow?', '26 rows of 1461 where weather is snow'],
    [
      'average temp_max by weather',
      '- sun: 19.86188 (rounded)\n- fog: 16.75743 (rounded)\n- drizzle: 15.92642 (rounded)',
    ],
  ] as const) {
    expect((await ask({ before: [weather], message })).text).toContain(answer)
  }
})

test('quoted values may hold line breaks, separators and quotes', async () => {
  const before = ['name,note,amount\nA,"one\ntwo, ""three""\nfour",1.5\nB,"x",2.25']
  expect((await ask({ before, message: 'total amount' })).text).toContain('is 3.75, over all 2 rows')
})

test('decimal commas are read where commas do not separate values', async () => {
  const { text } = await ask({ before: ['name;amount\nA;1,50\nB;-2,25\nC;1.000,00'], message: 'total amount' })
  // 1.50 - 2.25 + 1000
  expect(text).toContain('is 999.25, over all 3 rows')
})

test('broken quotes are reported with their line, and the call has its result', async () => {
  const broken = 'a,b\n1,2\n3,"x\n4,5\n6,7'
  const pasted = await ask({ message: broken })
  expect(pasted.outputs).toEqual([{ error: expect.stringContaining('begins on line 3') }])
  expect(pasted.text).toContain('begins on line 3')
  expect((await ask({ before: [broken], message: 'total a' })).text).toContain('begins on line 3')
})

test('tables without a header or without rows are taken as they are', async () => {
  expect((await ask({ message: '1,2\n3,4\n5,6' })).text).toContain('3 rows and 2 columns')
  expect((await ask({ before: ['1,2\n3,4'], message: 'total of "column 2"' })).text).toContain('is 6, over all 2 rows')
  expect((await ask({ message: '```csv\na,b\n```' })).text).toContain('0 rows and 2 columns')
  expect((await ask({ before: ['```csv\na,b\n```'], message: 'total a' })).text).toContain('The table has no rows.')
  // Years are names of columns.
  expect((await ask({ before: ['region,2023,2024\nN,5,7\nS,1,2'], message: 'total of 2024' })).text).toContain('is 9,')
})

test('Markdown tables, tables with spaces after commas and tables with an empty line are recognized', async () => {
  for (const table of [
    '| name | amount |\n|---|---:|\n| A | 0.1 |\n| B | 0.2 |',
    'name, amount\nAnna Smith, 0.1\nBob, 0.2',
    'name\tamount\nA\t0.1\nB\t0.2',
    'name,amount\nA,0.1\n\nB,0.2',
  ]) {
    expect((await ask({ before: [table], message: 'total amount' })).text, table).toContain('is 0.3, over all 2 rows')
  }
})

test('"how many are" of a column of yes and no counts the rows that say yes', async () => {
  const before = ['name,is_active\nA,yes\nB,no\nC,Yes\nD,']
  expect((await ask({ before, message: 'How many users are active?' })).text).toContain(
    '2 rows of 4 where is_active is yes',
  )
})

test('sums and means of random figures are those of whole numbers', async () => {
  const cents = fc.array(fc.integer({ min: -1e9, max: 1e9 }), { minLength: 1, maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(cents, async (values) => {
      const write = (value: number) =>
        `${value < 0 ? '-' : ''}${Math.trunc(Math.abs(value) / 100)}.${String(Math.abs(value) % 100).padStart(2, '0')}`
      const before = [`name,amount\n${values.map((value, at) => `n${at},${write(value)}`).join('\n')}`]
      // Sums of cents stay below 2^53, so doubles hold them exactly.
      const sum = values.reduce((total, value) => total + value, 0)
      const sorted = values.toSorted((a, b) => a - b)
      const { outputs } = await ask({ before, message: 'total, minimum, maximum and average amount' })
      const average = Number((outputs[3] as { value: string }).value)
      expect(outputs.slice(0, 3)).toMatchObject(
        [sum, sorted[0]!, sorted.at(-1)!].map((value) => ({ value: write(value) })),
      )
      expect(Math.abs(average - sum / 100 / values.length)).toBeLessThan(1e-5)
    }),
    { numRuns: 50 },
  )
})

test('names that objects inherit are names like others', async () => {
  const { text } = await ask({
    before: ['__proto__,constructor\n1,2\n3,4'],
    message: 'which __proto__ has the highest constructor?',
  })
  expect(text).toContain(
    'The maximum of constructor is 4, over all 2 rows. It is in the row __proto__: 3, constructor: 4.',
  )
})

test('a table of 5 MB is answered exactly', async () => {
  const count = 170_000
  const lines = ['id,region,amount']
  for (let id = 0; id < count; id += 1) lines.push(`${id},${id % 2 === 0 ? 'North' : 'South'},0.10${'0'.repeat(10)}`)
  const { text } = await ask({ before: [lines.join('\n')], message: 'total amount where region is North' })
  // 85,000 times 0.1
  expect(text).toContain('is 8500.000000000000, over the 85000 rows')
})

test('a signal that fires ends the reply with its reason', async () => {
  const stop = new AbortController()
  const reason = new Error('The client left.')
  const ids = { connectors: noConnectors, userId: 'user', sessionId: 'session', turnId: 'turn' }
  const run = { message: weather, history: [], params: {}, ...ids, signal: stop.signal, log: () => {} }
  const read = async () => {
    for await (const part of assistantChat.reply(run)) if (part.type === 'tool-call') stop.abort(reason)
  }
  await expect(read()).rejects.toBe(reason)
})
