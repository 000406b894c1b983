import { expect, test } from 'vitest'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { say, talkPricing } from '../../support/chat-agents.ts'
import { expectOneEnd, expectSound, isoMs, priceOf, startTalk, Talker, textOf, unitsOf } from '../chat-checks.ts'

const timestamp = expect.stringMatching(isoMs)

test('streams one JSON object per line with exact fields; the last is `done` with the receipt', async () => {
  const service = await startTalk({ isInline: false })
  const talker = await Talker.create(service)
  const message = say(
    { do: 'reasoning', delta: 'Hm. ' },
    { do: 'call', id: 'call-1', name: 'search', arguments: { of: ['Grüße', 1, null], __proto: 2 } },
    { do: 'result', id: 'call-1', output: { found: true } },
    { do: 'text', delta: 'Grüße 👋\n"quoted"\u2028' },
    { do: 'usage', promptTokens: 11, completionTokens: 7, reasoningTokens: 3 },
  )
  const reader = await talker.open(message)
  const events = await reader.all()
  expect(reader.status).toBe(200)
  expect(reader.headers).toMatchObject({
    'content-type': 'application/x-ndjson',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(/^req_/),
    'transfer-encoding': 'chunked',
  })
  // 11 × 0.150005 + 4 × 0.6 + 3 × 0.900001 per thousand, and 0.001255 for the call.
  expect(events).toEqual([
    { type: 'reasoning_delta', timestamp, seq: 1, delta: 'Hm. ' },
    {
      type: 'tool_call',
      timestamp,
      seq: 2,
      toolCall: { id: 'call-1', name: 'search', arguments: { of: ['Grüße', 1, null], __proto: 2 } },
    },
    { type: 'tool_result', timestamp, seq: 3, toolResult: { id: 'call-1', output: { found: true } } },
    { type: 'assistant_delta', timestamp, seq: 4, delta: 'Grüße 👋\n"quoted"\u2028' },
    {
      type: 'done',
      timestamp,
      seq: 5,
      usage: { promptTokens: 11, completionTokens: 7, totalTokens: 18, reasoningTokens: 3, toolCalls: 1 },
      costUsd: '0.0080',
      finishReason: 'stop',
    },
  ])
  expect(reader.text.endsWith('}\n')).toBe(true)
  expect(reader.text.split('\n').filter((line) => line === '')).toHaveLength(1)
  expect(events.map((event) => event.timestamp)).toEqual(events.map((event) => event.timestamp).toSorted())

  const { amountUsd, breakdown, ...charge } = (await talker.charges())[0]
  expect(charge).toMatchObject({ type: 'chat_charge', sessionId: talker.sessionId, balanceAfterUsd: '9.9920' })
  expect(amountUsd).toBe('-0.0080')
  expect(breakdown).toEqual({
    promptTokens: 11,
    cachedPromptTokens: 0,
    completionTokens: 7,
    reasoningTokens: 3,
    toolCalls: 1,
    rates: {
      inputPerMillionUsd: '150.005',
      cacheReadPerMillionUsd: '50',
      cacheWritePerMillionUsd: '150.005',
      cacheWrite1hPerMillionUsd: '150.005',
      outputPerMillionUsd: '600',
      reasoningPerMillionUsd: '900.001',
      ...talkPricing,
    },
    isEstimated: false,
    exactUsd: '0.008005058',
    carriedBeforeUsd: '0.000000000',
    carriedAfterUsd: '0.000005058',
  })
  const stored = await talker.messages()
  expect(stored).toEqual([
    { id: expect.any(String), role: 'user', content: message, turnId: charge.turnId, createdAt: timestamp },
    {
      id: expect.any(String),
      role: 'assistant',
      content: 'Grüße 👋\n"quoted"\u2028',
      toolCalls: [
        {
          id: 'call-1',
          name: 'search',
          arguments: { of: ['Grüße', 1, null], __proto: 2 },
          output: { found: true },
        },
      ],
      turnId: charge.turnId,
      createdAt: timestamp,
    },
  ])
  expect(await talker.session()).toMatchObject({ messageCount: 2, status: 'active' })
  expect(await talker.account()).toEqual({ balanceUsd: '9.9920', heldUsd: '0.0000' })
  await expectSound(talker)
  await service.stop()
})

test.for([
  { usage: { promptTokens: 1, completionTokens: 0 }, costUsd: '0.0001', of: '0.000150005' },
  { usage: { promptTokens: 0, completionTokens: 1 }, costUsd: '0.0006', of: '0.0006' },
  { usage: { promptTokens: 2, completionTokens: 0 }, costUsd: '0.0003', of: '0.00030001' },
  { usage: { promptTokens: 0, completionTokens: 0 }, costUsd: '0.0000', of: 'nothing' },
  { usage: { promptTokens: 0, completionTokens: 3, reasoningTokens: 3 }, costUsd: '0.0027', of: '0.002700003' },
])('a cost of $of is charged as $costUsd', async ({ costUsd, usage }) => {
  const service = await startTalk({ isInline: true })
  const talker = await Talker.create(service)
  const events = await talker.chat(say({ do: 'text', delta: 'Hi' }, { do: 'usage', ...usage }))
  expect(expectOneEnd(events, 'done').costUsd).toBe(costUsd)
  const charges = await talker.charges()
  expect(charges).toHaveLength(1)
  expect(charges[0]).toMatchObject({ amountUsd: costUsd === '0.0000' ? costUsd : `-${costUsd}` })
  await expectSound(talker)
  await service.stop()
})

test.each([
  ['length', 'length'],
  ['content_filter', 'content_filter'],
  ['stop', 'stop'],
  [undefined, 'stop'],
])("maps the agent's finishReason %s to the finishReason of the reply", async (finishReason, told) => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const part = { type: 'usage', promptTokens: 1, completionTokens: 1, finishReason }
  const events = await talker.chat(say({ do: 'text', delta: 'Half' }, { do: 'raw', part }))
  expect(expectOneEnd(events, 'done').finishReason).toBe(told)
  await service.stop()
})

test('an unknown finishReason fails the reply', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const part = { type: 'usage', promptTokens: 1, completionTokens: 1, finishReason: 'tired' }
  const events = await talker.chat(say({ do: 'raw', part }))
  expect(expectOneEnd(events, 'error').error).toMatchObject({
    code: 'AGENT_ERROR',
    message: expect.stringContaining('Use one of stop, length, content_filter'),
  })
  await service.stop()
})

test('adds up several usage reports, and rounds their sum once', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const events = await talker.chat(
    say(
      { do: 'usage', promptTokens: 3, completionTokens: 1 },
      { do: 'text', delta: 'One. ' },
      { do: 'usage', promptTokens: 5, completionTokens: 4, reasoningTokens: 1 },
      { do: 'text', delta: 'Two.' },
      { do: 'usage', promptTokens: 1, completionTokens: 2, reasoningTokens: 2 },
    ),
  )
  const done = expectOneEnd(events, 'done')
  expect(done.usage).toEqual({
    promptTokens: 9,
    completionTokens: 7,
    totalTokens: 16,
    reasoningTokens: 3,
    toolCalls: 0,
  })
  const [charge] = await talker.charges()
  expect(charge.amountUsd).toBe(`-${done.costUsd}`)
  expect(unitsOf(done.costUsd)).toBe(priceOf(charge.breakdown))
  await service.stop()
})

test('cached prompt tokens are summed, appear in the receipt and have a separate rate', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const message = say(
    { do: 'text', delta: 'Hi' },
    { do: 'usage', promptTokens: 1000, cachedPromptTokens: 600, completionTokens: 0 },
    { do: 'usage', promptTokens: 1000, cachedPromptTokens: 400, completionTokens: 0 },
  )
  const done = expectOneEnd(await talker.chat(message), 'done')
  expect(done).toMatchObject({
    usage: { promptTokens: 2000, cachedPromptTokens: 1000, totalTokens: 2000 },
    costUsd: '0.2000',
  })
  const [charge] = await talker.charges()
  expect(charge).toMatchObject({ amountUsd: '-0.2000', breakdown: { promptTokens: 2000, cachedPromptTokens: 1000 } })
  expect(priceOf(charge.breakdown)).toBe(2000)
  await service.stop()
})

test('without a usage report, counts tokens with o200k and says so in the receipt', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const delta = 'Der schnelle braune Fuchs springt über den faulen Hund. 迅速な茶色の狐 👩‍👩‍👧 <|endoftext|> '
  const message = say({ do: 'text', delta, times: 40 })
  const done = expectOneEnd(await talker.chat(message), 'done')
  const count = (text: string) => countTokens(text, { disallowedSpecial: new Set() })
  expect(done.usage).toEqual({
    promptTokens: count(message),
    completionTokens: count(delta.repeat(40)),
    totalTokens: count(message) + count(delta.repeat(40)),
    reasoningTokens: 0,
    toolCalls: 0,
  })
  const [charge] = await talker.charges()
  expect(charge.breakdown).toMatchObject({ isEstimated: true, promptTokens: done.usage.promptTokens })
  expect(unitsOf(done.costUsd)).toBe(priceOf(charge.breakdown))
  expect(charge.amountUsd).toBe(`-${done.costUsd}`)
  await service.stop()
})

test('counts estimated reasoning tokens as reasoning, not as plain output', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const thought = 'I should think about this for a while before I answer. '
  const message = say({ do: 'reasoning', delta: thought, times: 10 }, { do: 'text', delta: 'Yes.' })
  const done = expectOneEnd(await talker.chat(message), 'done')
  expect(done.usage.reasoningTokens).toBe(countTokens(thought.repeat(10)))
  expect(done.usage.completionTokens).toBe(countTokens(thought.repeat(10)) + countTokens('Yes.'))
  await service.stop()
})

test('reasoning is neither sent nor stored, but is charged, if the agent does not enable it', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { agentId: 'quiet' })
  const events = await talker.chat(
    say({ do: 'reasoning', delta: 'Secret. ', times: 50 }, { do: 'text', delta: 'Yes.' }),
  )
  const done = expectOneEnd(events, 'done')
  expect(events.map(({ type }) => type)).toEqual(['assistant_delta', 'done'])
  const reasoningTokens = countTokens('Secret. '.repeat(50))
  const completionTokens = countTokens('Yes.') + reasoningTokens
  expect(done.usage).toMatchObject({ completionTokens, reasoningTokens })
  expect((await talker.messages())[1]).toMatchObject({ content: 'Yes.' })
  await service.stop()
})

test('enabled reasoning is sent but is not part of the stored reply', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const events = await talker.chat(say({ do: 'reasoning', delta: 'Secret. ' }, { do: 'text', delta: 'Yes.' }))
  expect(textOf(events, 'reasoning_delta')).toBe('Secret. ')
  expect((await talker.messages())[1]).toMatchObject({ content: 'Yes.' })
  await service.stop()
})

test('sends events as they are produced, without waiting for the reply to end', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const reader = await talker.do({ do: 'text', delta: 'First' }, { do: 'await-abort' })
  expect((await reader.until('assistant_delta')).delta).toBe('First')
  reader.leave()
  await expectSound(talker)
  await service.stop()
})

test('wraps tool outputs that are not objects, and omits empty deltas', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const events = await talker.chat(
    say(
      { do: 'text', delta: '' },
      { do: 'call', id: 'a' },
      { do: 'call', id: 'b' },
      { do: 'call', id: 'c' },
      { do: 'result', id: 'b', output: [1, 2] },
      { do: 'result', id: 'a', output: 'text' },
      { do: 'result', id: 'c' },
    ),
  )
  expect(events.flatMap(({ toolResult }) => toolResult ?? [])).toEqual([
    { id: 'b', output: { result: [1, 2] } },
    { id: 'a', output: { result: 'text' } },
    { id: 'c', output: { result: null } },
  ])
  expect(expectOneEnd(events, 'done').usage.toolCalls).toBe(3)
  expect(events).toHaveLength(7)
  await service.stop()
})

test('a free agent replies to a user without balance and charges nothing', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { agentId: 'free', balanceUsd: '0' })
  expect(expectOneEnd(await talker.chat('Hello'), 'done').costUsd).toBe('0.0000')
  expect(await talker.account()).toEqual({ balanceUsd: '0.0000', heldUsd: '0.0000' })
  await expectSound(talker)
  await service.stop()
})

test('passes temperature and maxTokens to the agent, but no other params', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const told = async (params?: unknown) =>
    JSON.parse(textOf(await talker.chat(say({ do: 'tell', what: 'params' }), params)))
  expect(await told({ temperature: 0.5, maxTokens: 1000 })).toEqual({ temperature: 0.5, maxTokens: 1000 })
  expect(await told({ temperature: 0, other: 1 })).toEqual({ temperature: 0 })
  expect(await told({ temperature: 2, maxTokens: 1 })).toEqual({ temperature: 2, maxTokens: 1 })
  expect(await told()).toEqual({})
  await service.stop()
})
