import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { noConnectors } from '../../server/connectors/run-connectors.ts'
import { assistantChat } from '../../examples/quickstart/assistant/assistant-chat.ts'
import type { ChatMessage } from '../../server/agents/define-config.ts'

const documents = new URL('../../examples/quickstart/documents/', import.meta.url)
const freedoms = readFileSync(new URL('four-freedoms.txt', documents), 'utf8')
const cetology = readFileSync(new URL('cetology.txt', documents), 'utf8')
const table = 'name,amount\nA,1\nB,2'

async function ask({ before = [], message }: { before?: readonly string[]; message: string }) {
  const history = before.map((content): ChatMessage => ({ role: 'user', content }))
  const ids = { connectors: noConnectors, userId: 'user', sessionId: 'session', turnId: 'turn' }
  const signal = new AbortController().signal
  const calls: Record<string, unknown>[] = []
  const outputs: unknown[] = []
  let open: string | undefined
  let text = ''
  for await (const part of assistantChat.reply({ message, history, params: {}, ...ids, signal, log: () => {} })) {
    if (part.type === 'text') text += part.delta
    if (part.type === 'tool-call') {
      open = part.id
      calls.push({ name: part.name, ...part.arguments })
    }
    if (part.type !== 'tool-result') continue
    expect(part.id).toBe(open)
    open = undefined
    outputs.push(part.output)
  }
  expect(open).toBeUndefined()
  return { calls, outputs, text }
}

test('a pasted text is acknowledged by a short summary of its own sentences', async () => {
  for (const document of [freedoms, cetology]) {
    const { calls, text } = await ask({ message: document })
    expect(calls).toEqual([{ name: 'text.summarize', sentences: 2 }])
    const summary = text.split('\n').at(-1)!
    const flat = document.replace(/\s+/g, ' ')
    for (const sentence of summary.split(/(?<=\.) (?=[A-Z])/)) expect(flat).toContain(sentence)
  }
})

test.each([
  ['Summarize it in 2 sentences', { name: 'text.summarize', sentences: 2 }],
  ['Can you summarise this in one sentence, please?', { name: 'text.summarize', sentences: 1 }],
  ['tl;dr', { name: 'text.summarize', sentences: 3 }],
  ['What is it about?', { name: 'text.summarize', sentences: 3 }],
  ['What are the top 5 keywords?', { name: 'text.keywords', limit: 5 }],
  ['keywords', { name: 'text.keywords', limit: 10 }],
  ['How many words does it have?', { name: 'text.count' }],
  ['Which sentences mention freedom?', { name: 'text.find', words: 'freedom' }],
  ['Which sentences contain the phrase "freedom from want"?', { name: 'text.find', words: 'freedom from want' }],
  ['Does the text mention Hitler?', { name: 'text.find', words: 'Hitler' }],
  ['Where is the dictator mentioned?', { name: 'text.find', words: 'dictator' }],
])('"%s" calls a tool: %j', async (message, call) => {
  expect((await ask({ before: [freedoms], message })).calls).toEqual([call])
})

test('counts are those that can be counted by hand', async () => {
  const before = ['The whale swam away. The sailors slept below. Nobody saw the two whales again.']
  const { outputs, text } = await ask({ before, message: 'How many words and sentences are there?' })
  // 4 + 4 + 6 words; 20 + 1 + 24 + 1 + 32 characters
  expect(outputs).toEqual([{ sentences: 3, words: 14, characters: before[0]!.length }])
  expect(text).toBe(`The text has 14 words, 3 sentences and ${before[0]!.length} characters.`)
})

test('sentences are found by whole words in order, whatever the case and number', async () => {
  const before = ['The whale swam away. The sailors slept below. Nobody saw the two Whales again. A whaler came.']
  const { outputs } = await ask({ before, message: 'Which sentences mention whale?' })
  expect(outputs).toEqual([
    {
      count: 2,
      found: [
        { index: 0, text: 'The whale swam away.' },
        { index: 2, text: 'Nobody saw the two Whales again.' },
      ],
    },
  ])
  expect((await ask({ before, message: 'Which sentences mention "two whale"?' })).outputs).toMatchObject([{ count: 1 }])
  expect((await ask({ before, message: 'Which sentences mention "whale two"?' })).text).toContain('No sentence')
})

test('the sentences on freedom are those that a plain search finds', async () => {
  const { text } = await ask({ before: [freedoms], message: 'Which sentences mention "everywhere in the world"?' })
  const flat = freedoms.replace(/\s+/g, ' ')
  const count = flat.split('everywhere in the world').length - 1
  expect(count).toBeGreaterThan(1)
  expect(text).toContain(`${count} sentences of the text mention`)
  expect(text).toContain('- The first is freedom of speech and expression-everywhere in the world.')
})

test('a question may stand before or after the text in the same message', async () => {
  for (const message of [
    `Summarize this in one sentence: ${freedoms}`,
    `Summarize this in one sentence.\n\n${freedoms}`,
    `${freedoms}\n\nSummarize this in one sentence`,
  ]) {
    const { calls, outputs } = await ask({ message })
    expect(calls).toEqual([{ name: 'text.summarize', sentences: 1 }])
    expect(outputs).toMatchObject([{ totals: { sentences: 148, words: 3332 } }])
  }
})

test('prose with commas is a text, not a table', async () => {
  for (const message of [
    'We met Anna, Bob, and Carl, who came late.\nThen we left, ate, and slept, as usual there.\nIt was good, nice, and calm, in the end.',
    'In 1,000 cases it rained.\nIn 2,000 cases it snowed.\nIn 3,000 it did not.',
    'Dear Anna, thank you.\nIt was kind, really.\nWe came, we saw.',
  ]) {
    expect((await ask({ message })).calls, message).toEqual([{ name: 'text.summarize', sentences: 2 }])
  }
})

test('a question goes to what it is about when both a table and a text were pasted', async () => {
  const before = [table, freedoms]
  expect((await ask({ before, message: 'What is the total amount?' })).text).toContain('is 3, over all 2 rows')
  expect((await ask({ before, message: 'How many words are there?' })).calls).toEqual([{ name: 'text.count' }])
  expect((await ask({ before, message: 'Summarize the table' })).calls).toMatchObject([{ name: 'data.profile' }])
  expect((await ask({ before, message: 'Summarize the text' })).calls).toMatchObject([{ name: 'text.summarize' }])
})

test('what is not understood is answered with what can be asked', async () => {
  const { calls, text } = await ask({ before: [freedoms], message: 'Who wrote it?' })
  expect(calls).toEqual([])
  expect(text).toContain('summarize it in 2 sentences')
  expect((await ask({ message: 'Hello!' })).text).toContain('Paste a table')
})

test('the same question has the same reply', async () => {
  const question = { before: [cetology], message: 'What are the keywords?' }
  expect(await ask(question)).toEqual(await ask(question))
})

test('messages of all kinds end in a reply', async () => {
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
    '|\n|',
    commas,
    '~'.repeat(1e5),
  ]) {
    expect((await ask({ message })).text, message.slice(0, 20)).not.toBe('')
  }
})
