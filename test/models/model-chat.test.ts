import { expect, test } from 'vitest'
import { expectOneEnd, priceOf, Talker, textOf, unitsOf } from '../chat/chat-checks.ts'
import { endless, refuse, reply, sendBytes } from '../support/model-provider.ts'
import { instructions, maxOutputTokens, maxSteps, secretKey } from './model-agents.ts'
import { expectSound, onlyCharge, startModels } from './model-checks.ts'

const weatherCall = { id: 'call_a', name: 'weather', args: ['{"ci', 'ty":"Par', 'is"}'] }

test('passes instructions, message and key to the provider, and streams its text and usage', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(reply({ text: ['Good ', 'morning', '.'] }))
  const events = await talker.chat('Say good morning.')
  expect(events.map(({ type, delta }) => delta ?? type)).toEqual(['Good ', 'morning', '.', 'done'])
  const { usage, costUsd } = expectOneEnd(events, 'done')
  expect(usage).toEqual({ promptTokens: 100, completionTokens: 20, totalTokens: 120, reasoningTokens: 0, toolCalls: 0 })
  const charge = await onlyCharge(talker)
  expect(charge).toMatchObject({ amountUsd: `-${costUsd}`, breakdown: { isEstimated: false } })
  const [{ body, headers, path }] = world.provider.requests as [any]
  expect(path).toBe('/v1/chat/completions')
  expect(headers.authorization).toBe(`Bearer ${secretKey}`)
  expect(body).toMatchObject({ model: 'stub-1', stream: true, stream_options: { include_usage: true } })
  expect(body.messages).toEqual([
    { role: 'system', content: instructions },
    { role: 'user', content: 'Say good morning.' },
  ])
  expect(body.tools.map((tool: any) => tool.function.name)).toEqual(['weather', 'plain', 'broken', 'slow'])
  await expectSound(world, talker)
  await world.stop()
})

test('sends earlier messages oldest first, and omits a blank reply', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(reply({ text: ['One.'] }), reply({ text: [' \n'] }), reply({ text: ['Three.'] }))
  for (const message of ['First', 'Second', 'Third']) expectOneEnd(await talker.chat(message), 'done')
  const [, , third] = world.provider.bodies
  expect(third.messages.slice(1)).toEqual([
    { role: 'user', content: 'First' },
    { role: 'assistant', content: 'One.' },
    { role: 'user', content: 'Second' },
    { role: 'user', content: 'Third' },
  ])
  await world.stop()
})

test('passes temperature and maxTokens on, defaults to maxOutputTokens, and rejects invalid values', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(reply({ text: ['Yes.'] }))
  await talker.chat('Hello', { temperature: 0.25, maxTokens: 40 })
  await talker.chat('Hello', { temperature: 0 })
  await talker.chat('Hello', { maxTokens: maxOutputTokens })
  const sent = world.provider.bodies.map(({ max_tokens, temperature }) => ({ max_tokens, temperature }))
  expect(sent).toEqual([
    { max_tokens: 40, temperature: 0.25 },
    { max_tokens: maxOutputTokens, temperature: 0 },
    { max_tokens: maxOutputTokens, temperature: undefined },
  ])
  world.provider.play(reply({ text: ['Yes.'] }))
  for (const params of [{ maxTokens: maxOutputTokens + 1 }, { temperature: 2.1 }, { maxTokens: 0 }]) {
    expect((await talker.open('Hello', { params })).status, JSON.stringify(params)).toBe(400)
  }
  expect(world.provider.requests).toEqual([])
  await world.stop()
})

test('calls tools with complete arguments, and adds up the usage of every step', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  const detailed = (prompt: number, cached: number, completion: number, thought: number) => ({
    prompt_tokens: prompt,
    completion_tokens: completion,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: thought },
  })
  world.provider.play(
    reply({ text: ['I look. '], calls: [weatherCall], usage: detailed(211, 0, 31, 12) }),
    reply({ calls: [{ id: 'call_b', name: 'plain', args: '{}' }], usage: detailed(263, 192, 17, 5) }),
    reply({ text: ['It is 21 °C.'], usage: detailed(307, 256, 9, 0) }),
  )
  const events = await talker.chat('How is the weather in Paris?')
  expect(events.map(({ seq: _seq, timestamp: _, ...event }) => event).slice(0, -1)).toEqual([
    { type: 'assistant_delta', delta: 'I look. ' },
    { type: 'tool_call', toolCall: { id: 'call_a', name: 'weather', arguments: { city: 'Paris' } } },
    { type: 'tool_result', toolResult: { id: 'call_a', output: { city: 'Paris', celsius: 21 } } },
    { type: 'tool_call', toolCall: { id: 'call_b', name: 'plain', arguments: {} } },
    { type: 'tool_result', toolResult: { id: 'call_b', output: { result: 'no object' } } },
    { type: 'assistant_delta', delta: 'It is 21 °C.' },
  ])
  const { costUsd, usage } = expectOneEnd(events, 'done')
  expect(usage).toEqual({
    promptTokens: 211 + 263 + 307,
    cachedPromptTokens: 192 + 256,
    completionTokens: 31 + 17 + 9,
    totalTokens: 781 + 57,
    reasoningTokens: 17,
    toolCalls: 2,
  })
  const { breakdown } = await onlyCharge(talker)
  const { totalTokens: _, ...counts } = usage
  expect(breakdown).toMatchObject({ ...counts, isEstimated: false })
  expect(unitsOf(costUsd)).toBe(priceOf(breakdown))
  expect(unitsOf(costUsd)).not.toBe(priceOf({ ...breakdown, cachedPromptTokens: 0 }))
  const [, second] = world.provider.bodies
  expect(second.messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'call_a' })
  expect(JSON.parse(second.messages.at(-1).content)).toEqual({ city: 'Paris', celsius: 21 })
  const [, stored] = await talker.messages()
  expect(stored).toMatchObject({ content: 'I look. It is 21 °C.' })
  await expectSound(world, talker)
  await world.stop()
})

test('a tool that reports progress sends only its last result', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(reply({ calls: [{ id: 'call_s', name: 'slow', args: '{}' }] }), reply({ text: ['Done.'] }))
  const events = await talker.chat('Be slow.')
  expectOneEnd(events, 'done')
  expect(events.filter(({ type }) => type === 'tool_result').map(({ toolResult }) => toolResult)).toEqual([
    { id: 'call_s', output: { percent: 100, value: 'ready' } },
  ])
  await world.stop()
})

test('tool calls stay distinct if the provider reuses their ids in the next step', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(
    reply({ calls: [{ id: 'call_0', name: 'weather', args: '{"city":"Rome"}' }] }),
    reply({ calls: [{ id: 'call_0', name: 'weather', args: '{"city":"Oslo"}' }] }),
    reply({ text: ['Both are fine.'] }),
  )
  const events = await talker.chat('Rome and Oslo?')
  expect(expectOneEnd(events, 'done').usage.toolCalls).toBe(2)
  const calls = events.filter(({ type }) => type === 'tool_call').map(({ toolCall }) => toolCall)
  const results = events.filter(({ type }) => type === 'tool_result').map(({ toolResult }) => toolResult)
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  expect(calls.map(({ arguments: { city }, id }) => [id, city])).toEqual(
    results.map(({ id, output: { city } }) => [id, city]),
  )
  await world.stop()
})

test.for([
  {
    what: 'bad JSON arguments',
    call: { id: 'x', name: 'weather', args: '{"city": "Par' },
    names: 'weather',
    error: /JSON/,
  },
  {
    what: 'arguments that do not match the schema',
    call: { id: 'x', name: 'weather', args: '{"town":1}' },
    names: 'weather',
    error: /city|input/i,
  },
  { what: 'an unknown tool', call: { id: 'x', name: 'teleport', args: '{}' }, names: 'teleport', error: /teleport/ },
  {
    what: 'a tool that throws',
    call: { id: 'x', name: 'broken', args: '{}' },
    names: 'broken',
    error: /^The tool is broken\.$/,
  },
])('$what: the result is the error, the model sees it, and the reply continues', async ({ call, error, names }) => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(reply({ calls: [call] }), reply({ text: ['I could not look.'] }))
  const events = await talker.chat('Try it.')
  expect(events.map(({ type }) => type)).toEqual(['tool_call', 'tool_result', 'assistant_delta', 'done'])
  expect(events[0].toolCall).toMatchObject({ id: 'x', name: names, arguments: expect.any(Object) })
  expect(events[1].toolResult).toEqual({ id: 'x', output: { error: expect.stringMatching(error) } })
  expect(world.provider.bodies[1].messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'x' })
  await expectSound(world, talker)
  await world.stop()
})

test('a tool call loop ends after maxSteps model calls, all of them charged', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(
    ...['a', 'b', 'c', 'd', 'e'].map((id) => reply({ calls: [{ id, name: 'weather', args: '{"city":"Bern"}' }] })),
  )
  const events = await talker.chat('Again and again.')
  expect(world.provider.requests).toHaveLength(maxSteps)
  expect(expectOneEnd(events, 'done').usage).toMatchObject({ promptTokens: 300, completionTokens: 60, toolCalls: 3 })
  await onlyCharge(talker)
  await world.stop()
})

test('streams reasoning only if the agent enables it, and always charges the reasoning rate', async () => {
  const world = await startModels()
  const usage = { prompt_tokens: 50, completion_tokens: 40, completion_tokens_details: { reasoning_tokens: 25 } }
  for (const agentId of ['thinker', 'model']) {
    const talker = await Talker.create(world.service, { agentId })
    world.provider.play(reply({ reasoning: ['Let me ', 'think.'], text: ['42.'], usage }))
    const events = await talker.chat('What is it?')
    expect(textOf(events, 'reasoning_delta')).toBe(agentId === 'thinker' ? 'Let me think.' : '')
    expect(textOf(events)).toBe('42.')
    expect(expectOneEnd(events, 'done').usage).toMatchObject({ completionTokens: 40, reasoningTokens: 25 })
    await onlyCharge(talker)
    expect((await talker.messages())[1].content).toBe('42.')
  }
  await world.stop()
})

test('characters split across network chunks arrive intact', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  const text = 'Grüße 😀 日本語'
  const event = (choice: object) => `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, ...choice }] })}\n\n`
  const bytes = Buffer.from(
    `${event({ delta: { content: text } })}${event({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`,
  )
  world.provider.play(sendBytes(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))))
  const events = await talker.chat('Hello')
  expectOneEnd(events, 'done')
  expect(textOf(events)).toBe(text)
  await world.stop()
})

test.for([
  { usage: null, what: 'no usage' },
  { usage: { prompt_tokens: 0, completion_tokens: 0 }, what: 'zeros' },
])(
  'if a provider reports $what, tokens are counted from the text and marked as estimated',
  async ({ usage: reported }) => {
    const world = await startModels()
    const talker = await Talker.create(world.service, { agentId: 'model' })
    world.provider.play(
      reply({ calls: [weatherCall], usage: reported }),
      reply({ text: ['The weather is fine. '.repeat(20)], usage: reported }),
    )
    const { usage } = expectOneEnd(await talker.chat('How is the weather in Paris, in twenty sentences?'), 'done')
    expect(usage.promptTokens).toBeGreaterThan(10)
    expect(usage.completionTokens).toBeGreaterThan(80)
    expect(usage.completionTokens).toBeLessThan(200)
    const { breakdown } = await onlyCharge(talker)
    expect(breakdown).toMatchObject({ toolCalls: 1, isEstimated: true })
    await world.stop()
  },
)

test.for(['length', 'content_filter'])(
  'a reply that ends with %s is sent as received, and is charged',
  async (finish) => {
    const world = await startModels()
    const talker = await Talker.create(world.service, { agentId: 'model' })
    world.provider.play(reply({ text: ['Half a '], finish }))
    const events = await talker.chat('Tell me all.')
    expect(textOf(events)).toBe('Half a ')
    expect(expectOneEnd(events, 'done').usage.completionTokens).toBe(20)
    await onlyCharge(talker)
    await world.stop()
  },
)

test('retries a 429 with Retry-After, and the reply arrives once', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(refuse(429, 'Slow down.', { headers: { 'Retry-After': '1' } }), reply({ text: ['Here.'] }))
  const events = await talker.chat('Hello')
  expect(textOf(events)).toBe('Here.')
  expectOneEnd(events, 'done')
  const [first, second] = world.provider.requests
  expect(second!.at - first!.at).toBeGreaterThanOrEqual(950)
  await onlyCharge(talker)
  await world.stop()
})

test('endless output is aborted when the balance runs out, and the excess is not charged', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model', balanceUsd: '0.5000' })
  world.provider.play(endless('many words '.repeat(20), 1))
  const events = await talker.chat('Never stop.')
  expect(expectOneEnd(events, 'error').error.code).toBe('INSUFFICIENT_BALANCE')
  await expect.poll(() => world.provider.requests[0]!.abortedAt).not.toBeNull()
  const [{ amountUsd, breakdown }] = await talker.charges()
  expect(-unitsOf(amountUsd)).toBeLessThanOrEqual(5000)
  expect(unitsOf((await talker.account()).balanceUsd)).toBe(5000 + unitsOf(amountUsd))
  // If a model ignores its output limit, the operator bears the loss.
  expect(priceOf(breakdown)).toBe(-unitsOf(amountUsd))
  await world.stop()
})
