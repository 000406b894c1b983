import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { noConnectors } from '../../../server/connectors/thread/run-connectors.ts'
import { assistantChat } from '../../../examples/quickstart/assistant.ts'
import type { ChatMessage } from '../../../server/agents/config/define-config.ts'

const documents = new URL('../../../examples/quickstart/documents/', import.meta.url)
const weather = readFileSync(new URL('seattle-weather.csv', documents), 'utf8')
const freedoms = readFileSync(new URL('four-freedoms.txt', documents), 'utf8')

// Computed by hand: North 0.1 - 5.5 + 100 = 94.6; South 0.2; all 94.8.
const sales = `order_id,region,product,unit_price,amount,order_date
1,North,Apple,1.10,0.1,2024-01-05
2,South,Pear,2.20,0.2,2024-01-17
3,North,Pear,2.20,-5.5,2024-02-02
4,West,Apple,1.10,n/a,2024-02-20
5,South,"Plum, ""red""",3.30,,2024-03-01
6,North,Fig,10,100,2024-03-09`

function openRun({ before = [], message }: { before?: readonly string[]; message: string }, signal: AbortSignal) {
  const history = before.flatMap((content): ChatMessage[] => [
    { role: 'user', content },
    { role: 'assistant', content: 'Noted.' },
  ])
  const ids = { connectors: noConnectors, userId: 'user', sessionId: 'session', turnId: 'turn' }
  const modelCall = () => Promise.reject(new Error('not called'))
  return assistantChat.reply({ message, history, params: {}, ...ids, signal, log: () => {}, modelCall })
}

/** Asks after these earlier user messages, and checks that the reply contains a call, its result and then text. */
async function ask(asked: { before?: readonly string[]; message: string }) {
  const calls: Record<string, unknown>[] = []
  const outputs: unknown[] = []
  const deltas: string[] = []
  for await (const part of openRun(asked, new AbortController().signal)) {
    if (part.type === 'text') deltas.push(part.delta)
    if (part.type === 'tool-call') calls.push({ name: part.name, ...part.arguments })
    if (part.type !== 'tool-result') continue
    expect([part.id, calls.length, deltas]).toEqual(['call-1', 1, []])
    outputs.push(part.output)
  }
  expect(outputs).toHaveLength(calls.length)
  return { calls, outputs, deltas, text: deltas.join('') }
}

test('answers a pasted table with a profile and a pasted text with a summary', async () => {
  const table = await ask({ message: sales })
  expect(table.calls).toEqual([{ name: 'data.profile' }])
  expect(table.outputs).toMatchObject([{ rows: 6, columnCount: 6 }])
  expect(table.text).toContain('6 rows and 6 columns:\n- order_id: integer, 1 to 6, 6 distinct, 0 missing')
  const text = await ask({ message: freedoms })
  expect(text.calls).toEqual([{ name: 'text.summarize' }])
  expect(freedoms.replace(/\s+/g, ' ')).toContain(text.text.split(/(?<=\.) (?=[A-Z])/)[0])
})

test('computes a total with data.query, reports skipped cells, and streams word by word', async () => {
  const { calls, outputs, text, deltas } = await ask({ before: [sales], message: 'What is the total amount?' })
  expect(calls).toEqual([{ name: 'data.query', operation: 'total', column: 'amount' }])
  expect(outputs).toEqual([{ tableRows: 6, rows: 6, value: 94.8, skipped: 2 }])
  expect(text).toBe('The total of amount is 94.8, over all 6 rows. Skipped cells that are not numbers: 2.')
  expect(deltas).toHaveLength(text.split(' ').length)
})

test.each([
  // 0.1 + 0.2 is not 0.3 in doubles.
  ['total amount where order_date < 2024-02', 'is 0.3, over the 2 rows where order_date < 2024-02'],
  // (94.8) / 4
  ['What is the average of amount?', 'is 23.7,'],
  // -5.5, 0.1, 0.2, 100: (0.1 + 0.2) / 2
  ['Show me the median amount', 'is 0.15,'],
  ['lowest amount', 'is -5.5,'],
  ['maximum UNIT-PRICE', 'is 10,'],
  // 1.10 + 2.20 + 2.20 + 1.10 + 3.30 + 10
  ['Please give me the sum of unit price.', 'is 19.9,'],
  ['total amount where region is North', 'is 94.6, over the 3 rows'],
  ['total amount where region is not north', 'is 0.2,'],
  ['total amount where product is Kiwi', 'is unknown, over the 0 rows'],
  ['How many rows are there?', 'The number of rows is 6'],
  ['count rows where amount >= 0.2', 'is 2, over the 2 rows'],
  ['count rows where amount > 0.2', 'is 1, over the 1 rows'],
  ['count rows where amount != 0.2', 'is 5,'],
  ['total amount by region', ':\n- North: 94.6\n- South: 0.2\n- West: no numbers'],
  ['count rows per region where unit_price < 4', ':\n- North: 2\n- South: 2\n- West: 1'],
  ['describe', '6 rows and 6 columns'],
  ['total discount', 'There is no column "discount". The columns are: order_id, region, product, unit_price,'],
])('"%s" is answered with "%s"', async (message, answer) => {
  expect((await ask({ before: [sales], message })).text).toContain(answer)
})

test('answers about the weather in Seattle match an independent computation', async () => {
  // Computed with Python's csv, decimal and statistics modules.
  for (const [message, answer] of [
    ['total precipitation', 'is 4426, over all 1461 rows'],
    ['median wind where weather is rain', 'is 3.4, over the 641 rows'],
    ['minimum temp min', 'is -7.1,'],
    ['count rows where weather = snow', 'is 26,'],
  ] as const) {
    expect((await ask({ before: [weather], message })).text).toContain(answer)
  }
})

test.each([
  ['Summarize it in 2 sentences', { name: 'text.summarize', sentences: '2' }],
  ['Can you summarise this in 1 sentence, please?', { name: 'text.summarize', sentences: '1' }],
  ['What are the top 5 keywords?', { name: 'text.keywords', limit: '5' }],
  ['How many words are there?', { name: 'text.count' }],
])('the request "%s" about a text calls %j', async (message, call) => {
  expect((await ask({ before: [freedoms, sales], message })).calls).toEqual([call])
})

test('accepts a request before or after the pasted data, separated by an empty line', async () => {
  for (const message of [
    `What is the total amount?\n\n${sales}`,
    `${sales}\n\nWhat is the total amount?`,
    `\`\`\`csv\n${sales}\n\`\`\`\n\nWhat is the total amount?`,
  ]) {
    expect((await ask({ message })).text, message).toContain('The total of amount is 94.8, over all 6 rows.')
  }
})

test('uses the newest of several tables, even if text follows it', async () => {
  const before = [sales, 'amount,fee\n1,2\n3,5', freedoms]
  expect((await ask({ before, message: 'total amount' })).text).toContain('is 4, over all 2 rows')
})

test('treats prose with commas as text, not as a table', async () => {
  for (const message of [
    'We met Anna, Bob, and Carl, who came late.\nThen we left, ate, and slept, as usual there.',
    'In 1,000 cases it rained.\nIn 2,000 cases it snowed.\nIn 3,000 it did not.',
  ]) {
    expect((await ask({ message })).calls, message).toEqual([{ name: 'text.summarize' }])
  }
})

test('reports broken quotes with their line, and the tool call still has a result', async () => {
  const { outputs, text } = await ask({ message: 'a,b\n1,2\n3,"x" y\n4,5' })
  expect(outputs).toEqual([{ error: text }])
  expect(text).toContain('at line 3')
})

test('answers an unknown question with the list of supported questions', async () => {
  for (const asked of [
    { message: 'Hello!' },
    { before: [freedoms], message: 'Who wrote it?' },
    { before: [sales], message: 'keywords' },
  ]) {
    const { calls, text } = await ask(asked)
    expect(calls).toEqual([])
    expect(text).toContain('without a language model')
    expect(text).toContain('- total amount by city where month is May')
  }
  const { text } = await ask({ message: `${sales}\n\nWhich product is best?` })
  expect(text).toMatch(/6 columns.*I did not understand the question/s)
})

test('replies to any kind of message', async () => {
  const commas = `${'a,'.repeat(5000)}\n`.repeat(20)
  for (const message of [
    '',
    ' \n',
    '```',
    ',',
    ',,\n,,',
    '"',
    '"a,b\n"',
    '\0',
    '😀,😀\n1,2',
    commas,
    '~'.repeat(1e5),
  ]) {
    expect((await ask({ message })).text, message.slice(0, 20)).not.toBe('')
  }
})

test('an abort signal ends the reply with its reason', async () => {
  const stop = new AbortController()
  const reason = new Error('The client disconnected.')
  const read = async () => {
    const parts = openRun({ message: weather.repeat(20) }, stop.signal)
    for await (const part of parts) if (part.type === 'tool-call') stop.abort(reason)
  }
  await expect(read()).rejects.toBe(reason)
})
